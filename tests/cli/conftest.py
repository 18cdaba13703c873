"""Fixtures of the program's tests."""

from cli_program import api, program

__all__ = ["api", "program"]
