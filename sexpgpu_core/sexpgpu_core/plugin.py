"""What sexpgpu-core adds, as rows. Nothing here imports what does the work."""

from __future__ import annotations

SEXPGPU_API = 1
