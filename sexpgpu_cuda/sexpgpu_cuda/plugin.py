"""What sexpgpu-cuda adds, as rows: nothing yet, for the devices are not there."""

from __future__ import annotations

SEXPGPU_API = 1
