"""Cases of Common Lisp run by this evaluator: passed and total a chapter, and what failed.

python -P -m tests.conformance --cases FILE [--json] [--chapter C] [--name N] [--failures N]
[--least P] [--least-chapter P]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sexpgpu_core.diagnostics import Problem, Problems
from sexpgpu_core.evaluator.equality import eql, equalp, vector_items
from sexpgpu_core.evaluator.evaluator import Evaluator, Limits
from sexpgpu_core.evaluator.modules import Module
from sexpgpu_core.evaluator.printer import brief, print_text
from sexpgpu_core.evaluator.standard_variables import VARIABLES
from sexpgpu_core.evaluator.values import (
    Array,
    Cons,
    MultipleValues,
    String,
    Value,
    Vector,
    keyword,
)
from sexpgpu_core.reader import Reader
from sexpgpu_core.spans import Source

SKIPPED = ("defpackage", "in-package", "defvar *out*", "defun run1")


class Outcome(NamedTuple):
    """One case: `got` is None when it passed."""

    chapter: str
    name: str
    form: str
    wanted: str
    got: str | None


def same(a: Value, b: Value) -> bool:
    """The harness's equality: equalp that keeps case."""
    stack = [(a, b)]
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        if a.__class__ is Cons and b.__class__ is Cons:
            stack += [(a.cdr, b.cdr), (a.car, b.car)]
        elif isinstance(a, String):
            if not isinstance(b, String) or a.text() != b.text():
                return False
        elif isinstance(a, Vector):
            if not isinstance(b, Vector) or len(vector_items(a)) != len(vector_items(b)):
                return False
            stack += zip(vector_items(a), vector_items(b))
        elif isinstance(a, Array):
            if not equalp(a, b):
                return False
        elif not (eql(a, b) or (a.__class__ is b.__class__ is float and a == b == 0)):
            return False
    return True


class Runner:
    """The evaluator of the cases of one file, with the harness's definitions."""

    def __init__(self, harness: str) -> None:
        self.evaluator = Evaluator(limits=Limits(steps=100_000_000))
        self.evaluator.may_redefine = True
        self.evaluator.module = Module("cl-test")
        self.problems: list[str] = []
        for form in toplevel(harness):
            if not form.startswith(tuple(f"({word}" for word in SKIPPED)):
                self.define(form)

    def define_all(self, forms: list[str]) -> None:
        """Definitions in any order: what fails is tried again after the others."""
        for _ in range(4):
            before = len(self.problems)
            forms = [form for form in forms if not self.define(form)]
            if not forms:
                break
            del self.problems[before:]

    def define(self, form: str) -> bool:
        try:
            self.evaluator.evaluate(form)
            return True
        except (Problem, Problems) as error:
            self.problems.append(f"{form[:60]}: {told(error)}")
            return False

    def values(self, text: str) -> list[Value]:
        VARIABLES["*PRINT-CASE*"].value = keyword("UPCASE")
        found = self.evaluator.evaluate(text)
        return list(found) if found.__class__ is MultipleValues else [found]

    def run_line(self, line: str) -> Outcome:
        """A form, a tab and what it prints, or `ERROR class`."""
        form, _, wanted = line.partition("\t")
        got: str | None = None
        try:
            if wanted.startswith("ERROR "):
                kind = wanted.split()[1]
                form = f"(handler-case {form} ({kind} () '|{wanted}|))"
                wanted = f"|{wanted}|"
            printed = " ; ".join(print_text(value) for value in self.values(form))
            printed = printed.replace("\n", " ")  # a row is a line
            got = None if printed == wanted else printed
        except (Problem, Problems) as error:
            got = told(error)
        except Exception as error:
            got = f"PYTHON {type(error).__name__}: {error}"
        return Outcome("lines", form[:30], form, wanted, got)

    def read(self, text: str) -> Value:
        return next(iter(Reader(Source("-", text), self.evaluator.module).forms()))

    def run(self, case: dict[str, Any]) -> Outcome:
        self.define_all(case["preamble"])
        wanted = " ; ".join(case["expected"])
        got: str | None = None
        try:
            expected = [self.read(text) for text in case["expected"]]
            values = self.values(case["form"])
            fits = len(values) == len(expected) and all(map(same, values, expected))
            got = None if fits else " ; ".join(map(brief, values))
        except (Problem, Problems) as error:
            got = told(error)
        except Exception as error:
            got = f"PYTHON {type(error).__name__}: {error}"
        return Outcome(case["chapter"], case["name"], case["form"], wanted, got)


def told(error: Problem | Problems) -> str:
    found = error.diagnostics[0] if isinstance(error, Problems) else error.diagnostic
    return f"{found.code}: {found.message}"


def toplevel(text: str) -> Iterator[str]:
    """The top-level forms of a text, each of which begins in the first column."""
    form: list[str] = []
    for line in text.splitlines():
        if line.startswith("(") and form:
            yield "\n".join(form)
            form = []
        if not line.startswith(";;;"):
            form.append(line)
    yield "\n".join(form)


def outcomes(path: Path, chapter: str | None, name: str | None) -> Iterator[Outcome]:
    """All outcomes; the harness stands beside the cases."""
    harness = (path.parent / "harness.lisp").read_text(encoding="utf-8")
    if path.suffix == ".tsv":
        for line in path.read_text(encoding="utf-8").splitlines():
            yield Runner("").run_line(line)
        return
    runner, file = None, None
    for line in path.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if (chapter and case["chapter"] != chapter) or (name and name != case["name"]):
            continue
        if runner is None or case["file"] != file:
            runner, file = Runner(harness), case["file"]
        yield runner.run(case)


def write(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--chapter")
    parser.add_argument("--name")
    parser.add_argument("--failures", type=int, default=1_000_000)
    parser.add_argument("--least", type=float, default=0.0, help="fail below this many per cent")
    parser.add_argument("--least-chapter", type=float, default=0.0, help="the same of any chapter")
    options = parser.parse_args()
    found = list(outcomes(options.cases, options.chapter, options.name))
    failed = [o for o in found if o.got is not None]
    chapters = {
        c: [sum(o.got is None for o in found if o.chapter == c), sum(o.chapter == c for o in found)]
        for c in sorted({o.chapter for o in found})
    }
    low = [c for c, (passed, of) in chapters.items() if 100 * passed < options.least_chapter * of]
    enough = 100 * (len(found) - len(failed)) >= options.least * len(found) and not low
    if options.json:
        summary = {"passed": len(found) - len(failed), "total": len(found), "chapters": chapters}
        write(json.dumps({**summary, "failures": [o._asdict() for o in failed]}))
        return 0 if enough else 1
    for o in failed[: options.failures]:
        form = " ".join(o.form.split())
        write(f"FAIL {o.chapter} {o.name}\n  {form[:300]}\n  wanted {o.wanted}\n  got    {o.got}")
    for chapter, (passed, total) in chapters.items():
        write(f"{chapter:24} {passed:5} of {total}")
    for chapter in low:
        write(f"below {options.least_chapter:g} %: {chapter}")
    write(f"{'all':24} {len(found) - len(failed):5} of {len(found)}")
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
