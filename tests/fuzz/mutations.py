"""Files with mistakes made at random: each ends in a diagnostic or a value, none in a traceback.

python -P tests/fuzz/mutations.py [--count N] [--seed S] [--cases FILE]

The cases are those of ../shared, where it is.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sexpgpu_core.api import check
from sexpgpu_core.diagnostics import Diagnostic, Problem, Problems
from sexpgpu_core.evaluator.evaluator import Evaluator, Limits
from sexpgpu_core.spans import Source
from sexpgpu_core.staging import declare

ROOT = Path(__file__).parents[2]
CASES = ROOT.parent / "shared" / "lisp" / "ansi-cases.jsonl"
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|#\||;[^\n]*|[^\s()"\']+|[()\']|\s+')
BYTES = "()'`,@#|\\\";:.+-0123456789eE/ \n\tabcnx&*é\0[]{}"
STRAYS = (
    "(", ")", "'", "`", ",", ",@", "#'", "#(", "#1=", "#1#", "#+x", "#.", "nil", "t", "0", "-1",
    "1/0", "1e999", '"', "&rest", "&key", ":x", "(x . y)", "(loop)", "99999999999999999999", "|",
    "(let ((x 1)) x)", "(defun f (x) (f x))", "#\\", ".", "lambda", "setf", "quote", "defmacro",
)  # fmt: skip
"""What is put in: tokens that change what stands around them."""
LIMITS = {"steps": 200_000, "depth": 2_000}


class Broken(NamedTuple):
    """A text that did not end as it should."""

    seed: int
    text: str
    why: str


def sources(cases: Path | None) -> list[str]:
    """Texts to change: the examples, the modules, and the forms of cases where there are any."""
    found = [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("examples/*.lisp"))]
    found += [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("sexpgpu_*/**/*.lisp"))]
    if cases is not None and cases.exists():
        rows = map(json.loads, cases.read_text(encoding="utf-8").splitlines())
        found += ["\n".join([*row["preamble"], row["form"]]) for row in rows]
    return found


def of_bytes(text: str, chance: random.Random) -> str:
    """A few characters deleted, doubled, replaced or put in."""
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(text) + 1)
        width = chance.choice((0, 1, 1, chance.randint(0, 40)))
        new = "".join(chance.choice(BYTES) for _ in range(chance.choice((0, 1, 1, 2))))
        text = text[:at] + new + text[at + width :]
    return text


def of_tokens(text: str, chance: random.Random) -> str:
    """A few tokens deleted, doubled, exchanged, replaced."""
    tokens = TOKEN.findall(text) or [text]
    for _ in range(chance.randint(1, 3)):
        a, b = chance.randrange(len(tokens)), chance.randrange(len(tokens))
        change = chance.randrange(5)
        if change == 0:
            tokens[a] = ""
        elif change == 1:
            tokens[a] += " " + tokens[a]
        elif change == 2:
            tokens[a], tokens[b] = tokens[b], tokens[a]
        else:
            tokens[a] = " " + (chance.choice(STRAYS) if change == 3 else tokens[b]) + " "
    return "".join(tokens)


def mutated(texts: list[str], seed: int) -> str:
    """The text of a seed."""
    chance = random.Random(seed)
    change = of_bytes if chance.random() < 0.5 else of_tokens
    return change(chance.choice(texts), chance)


def outcome(text: str, whole: bool) -> str | None:
    """What is wrong with how a text ends; None of a diagnostic or a value.

    `whole`: check it with all phases; otherwise read, evaluate and print it.
    """
    source = Source("mutated.lisp", text)
    try:
        if whole:
            found = check(source, device="reference").diagnostics
        else:
            found = evaluated(source)
        rendered = [(str(d.message), str(d.hint), d.span and d.span.line) for d in found]
    except RecursionError:
        return "RecursionError"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    bad = [text for (text, _, _), d in zip(rendered, found) if d.code == "E-INTERNAL"]
    return bad[0] if bad else None


def evaluated(source: Source) -> list[Diagnostic]:
    """The diagnostics of a file without a run."""
    evaluator = Evaluator(limits=Limits(**LIMITS))
    try:
        evaluator.load(source)
    except Problem as error:
        return [error.diagnostic, *evaluator.diagnostics]
    except Problems as error:
        return [*error.diagnostics, *evaluator.diagnostics]
    return evaluator.diagnostics


def broken(count: int, seed: int, cases: Path | None = None) -> Iterator[Broken]:
    """Texts among `count` mutated ones that end otherwise, shrunk by lines and tokens.

    One in ten is an example, checked whole; the others are forms of the cases, if there are any.
    """
    examples, forms = sources(None), sources(cases)
    before = declare.Limits
    declare.Limits = lambda: Limits(**LIMITS)  # type: ignore
    try:
        for number in range(seed, seed + count):
            whole = number % 10 == 0
            text = mutated(examples if whole else forms, number)
            why = outcome(text, whole)
            if why is not None:
                yield Broken(number, shrunk(text, whole, why), why)
    finally:
        declare.Limits = before  # type: ignore


def shrunk(text: str, whole: bool, why: str) -> str:
    """A smaller text that breaks in the same way: lines, then tokens, are left out."""
    for split in (lambda t: t.splitlines(keepends=True), TOKEN.findall):
        parts, width = split(text), max(1, len(split(text)) // 2)
        while width:
            at = 0
            while at < len(parts):
                fewer = parts[:at] + parts[at + width :]
                if outcome("".join(fewer), whole) == why:
                    parts = fewer
                else:
                    at += width
            width //= 2
        text = "".join(parts)
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=Path, default=CASES)
    options = parser.parse_args()
    failures = 0
    for found in broken(options.count, options.seed, options.cases):
        failures += 1
        sys.stdout.write(f"seed {found.seed}: {found.why}\n{found.text}\n\n")
        sys.stdout.flush()
    sys.stdout.write(f"{options.count - failures} of {options.count} end as they should\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
