"""What each word of the language is, with examples that the tests run: `sexpgpu docs NAME`.

Functions speak by their docstrings; `chapters/` holds the examples, and what forms are.
"""

from .chapter import CHAPTERS, Chapter, Entry, entries
from .lookup import find, names
from .word import Word

__all__ = ["CHAPTERS", "Chapter", "Entry", "Word", "entries", "find", "names"]
