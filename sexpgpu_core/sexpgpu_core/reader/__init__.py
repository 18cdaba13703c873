"""Text to forms with spans, going on after mistakes; tokens with comments for the formatter."""

from .names import Names
from .reader import Reader, read_all
from .spans import MadeSpan, chain_of, element_span, made_span, place, span_of
from .tokens import Token, tokens

__all__ = [
    "MadeSpan",
    "Names",
    "Reader",
    "Token",
    "chain_of",
    "element_span",
    "made_span",
    "place",
    "read_all",
    "span_of",
    "tokens",
]
