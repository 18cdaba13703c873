"""Lets tests of passes import the small run files of the tests of staging."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "staging"))
