"""Integers to English words and Roman numerals, for ~R."""

from __future__ import annotations

_ONES = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
""".split()  # noqa: SIM905
_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
_THOUSANDS = [
    "",
    *"""
    thousand million billion trillion quadrillion quintillion sextillion septillion octillion
    nonillion decillion undecillion duodecillion tredecillion quattuordecillion quindecillion
    sexdecillion septendecillion octodecillion novemdecillion vigintillion
    """.split(),  # noqa: SIM905
]
_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
_ROMAN = (
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
)
LARGEST_WORD = 1000 ** len(_THOUSANDS)


def cardinal(n: int) -> str:
    """`two hundred thirty-four`; |n| is below 10**66."""
    if n < 0:
        return "negative " + cardinal(-n)
    if n == 0:
        return "zero"
    groups = []
    for name in _THOUSANDS:
        n, low = divmod(n, 1000)
        if low:
            groups.append(_hundreds(low) + (" " + name if name else ""))
    return " ".join(reversed(groups))


def _hundreds(n: int) -> str:
    words = []
    if n >= 100:
        words.append(_ONES[n // 100] + " hundred")
        n %= 100
    if n >= 20:
        words.append(_TENS[n // 10] + ("-" + _ONES[n % 10] if n % 10 else ""))
    elif n:
        words.append(_ONES[n])
    return " ".join(words)


def ordinal(n: int) -> str:
    """`two hundred thirty-fourth`."""
    text = cardinal(n)
    cut = max(text.rfind(" "), text.rfind("-")) + 1
    return text[:cut] + _ordinal_word(text[cut:])


def _ordinal_word(word: str) -> str:
    if word in _ORDINALS:
        return _ORDINALS[word]
    return word[:-1] + "ieth" if word.endswith("y") else word + "th"


def roman(n: int, old: bool) -> str:
    """1 to 3999 (4999 in the old way, which never subtracts)."""
    text = ""
    for value, letters in _ROMAN:
        if old and len(letters) == 2:
            continue
        count, n = divmod(n, value)
        text += letters * count
    return text
