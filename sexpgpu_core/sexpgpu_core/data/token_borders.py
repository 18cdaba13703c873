"""Where a text may be cut so that its parts have the ids of the whole: of a tokenizer.json.

A rule is a pattern that matches between two characters. It is given only where the file's steps are
known to split there whatever stands around. Law: for a text a + b that the rule matches between a
and b, the ids are those of a and then those of b.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

SPACE = r"(?<=\S)(?= )"
"""A character and a space."""

BLANK = r"(?<=\S)(?=[ \n])"
"""A character and a space or a line's end."""

LINE = rf"{SPACE}|(?<=[0-9A-Za-z])(?=\n)|(?<=\n)(?=[^\W_])"
"""As SPACE; and where signs take the line ends after them along, around a line's end that has a
letter or digit beside it."""

PLAIN = r"(?<=[!-~])(?= )"
"""A character of ASCII and a space: what no normal form changes or joins with others."""

_WORDS = frozenset(
    (
        "'s", "'t", "'re", "'ve", "'m", "'ll", "'d",
        r"'(?:[sdmt]|ll|ve|re)", r" ?\p{L}+", r" ?\p{N}+", r" ?[^\s\p{L}\p{N}]+",
        r"\s+(?!\S)", r"\s+",
    )
)  # fmt: skip
"""Alternatives of GPT-2's pattern: none matches a blank after another character."""

_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_FIRST = r"[^\r\n\p{L}\p{N}]?"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_LINES = (r"\s*[\r\n]+", r"\s*[\r\n]")
_SIGNS = frozenset(
    (
        _ENDING, r"'(?i:[sdmt]|ll|ve|re)", rf"{_FIRST}\p{{L}}+", r"[^\r\n\p{L}\p{N}]?+\p{L}+",
        rf"{_FIRST}{_UPPER}*{_LOWER}+{_ENDING}?", rf"{_FIRST}{_UPPER}+{_LOWER}*{_ENDING}?",
        r"\p{N}{1,3}", r"\p{N}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r" ?[^\s\p{L}\p{N}]++[\r\n]*",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*", *_LINES,
    )
)  # fmt: skip
"""Alternatives of the patterns of GPT-4, GPT-4o, Llama 3 and Qwen 2: none matches a space after
another character; signs take line ends along."""

_FORMS = frozenset(
    ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "BertNormalizer")
)  # what they make of a character of ASCII hangs on no other; a space stays one


def rule_of(said: Mapping[str, Any]) -> re.Pattern[str] | None:
    """The rule of a tokenizer.json; None where none is known to hold."""
    steps = list(_steps(said.get("pre_tokenizer"), "pretokenizers"))
    found = _split(steps)
    if found is None:
        return None
    forms = list(_steps(said.get("normalizer"), "normalizers"))
    if forms:
        found = PLAIN if all(form.get("type") in _FORMS for form in forms) else None
    if found is None or not _whole(said.get("added_tokens") or (), found, bool(forms)):
        return None
    return re.compile(found)


def _steps(said: Any, members: str) -> Iterator[Mapping[str, Any]]:
    """The steps of a sequence, which may hold others."""
    if not said:
        return
    if said.get("type") != "Sequence":
        yield said
        return
    for member in said[members]:
        yield from _steps(member, members)


def _split(steps: Sequence[Mapping[str, Any]]) -> str | None:
    """The rule of the first step that has one, if those before go by characters one at a time and
    those after take each of its pieces for itself."""
    for at, step in enumerate(steps):
        if step.get("type") == "Digits" or step == {"type": "Punctuation", "behavior": "Isolated"}:
            continue
        found = _of_step(step)
        if found is not None and any(_prefixes(later) for later in steps[at:]):
            return SPACE
        return found
    return None


def _prefixes(step: Mapping[str, Any]) -> bool:
    """Whether a piece that begins with no space gets one."""
    return step.get("type") == "Metaspace" or bool(step.get("add_prefix_space", False))


def _of_step(step: Mapping[str, Any]) -> str | None:
    kind = step.get("type")
    if kind in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer"):
        return BLANK
    if kind == "ByteLevel":
        return BLANK if step.get("use_regex", True) else None
    if kind == "Metaspace":
        return SPACE if step.get("split", True) else None
    return _of_pattern(step) if kind == "Split" else None


def _of_pattern(step: Mapping[str, Any]) -> str | None:
    """Of a pattern that matches all there is: its matches are the pieces."""
    pattern = step.get("pattern") or {}
    ways = (("Isolated", False), ("Removed", True))
    if "Regex" not in pattern or (step.get("behavior"), step.get("invert", False)) not in ways:
        return None
    written = list(_alternatives(pattern["Regex"]))
    if set(written) <= _WORDS:
        return BLANK
    if not set(written) <= _WORDS | _SIGNS:
        return None
    lines = [at for at, one in enumerate(written) if one in _LINES]
    blanks = [at for at, one in enumerate(written) if one.startswith(r"\s+")]
    return LINE if lines and min(lines) < min(blanks, default=0) else SPACE


def _alternatives(pattern: str) -> Iterator[str]:
    """Parts of a pattern between the bars that stand in no parentheses and no brackets."""
    begin = depth = 0
    for found in re.finditer(r"\\.|\[(?:\\.|[^\]])*\]|[(|)]", pattern):
        sign = found.group()
        depth += (sign == "(") - (sign == ")")
        if sign == "|" and not depth:
            yield pattern[begin : found.start()]
            begin = found.end()
    yield pattern[begin:]


def _whole(added: Sequence[Mapping[str, Any]], rule: str, forms: bool) -> bool:
    """Whether no added token can stand on both sides of a cut."""
    for token in added:
        text = str(token.get("content", ""))
        if token.get("rstrip") or re.search(rule, text):
            return False
        if forms and not re.fullmatch("[!-~]*", text):
            return False
        if rule == LINE and (token.get("lstrip") or token.get("single_word")):
            return False
    return True
