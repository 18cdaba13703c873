"""The node tests call builtins as the tests of builtins do: `builtin_calls`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "builtins"))
