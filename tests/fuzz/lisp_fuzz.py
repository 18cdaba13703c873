"""Random forms of `lisp_forms.txt` evaluated by SBCL and here: what prints differently, made small.

python -P tests/fuzz/lisp_fuzz.py [--count N] [--seed S]
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from sexpgpu_core.diagnostics import Problem, Problems
from sexpgpu_core.evaluator.evaluator import Evaluator, Limits
from sexpgpu_core.evaluator.printer import print_text
from sexpgpu_core.evaluator.values import MultipleValues

HOLE = re.compile(r"\{(\w+)(!?)((?: \w+=\w+!?)*)\}")
DEPTH = 5
ORACLE = Path(__file__).with_name("oracle.lisp")
Scope = Mapping[str, str]


class Row(NamedTuple):
    """A form of a type: text around holes, each a type and the variables that it binds."""

    texts: tuple[str, ...]
    holes: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


class Form(NamedTuple):
    """A form that was made: a row, what fills its holes, the variables in scope."""

    kind: str
    row: Row
    parts: tuple[Form, ...]
    scope: Scope

    @property
    def text(self) -> str:
        filled = [
            text for pair in zip(self.row.texts, (p.text for p in self.parts)) for text in pair
        ]
        return "".join([*filled, self.row.texts[-1]])


def read_rows(path: Path) -> dict[str, list[Row]]:
    """Rows by type, leaves first."""
    rows: dict[str, list[Row]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            kind, _, text = line.partition(" ")
            rows.setdefault(kind, []).append(parse_row(text))
    return rows


def parse_row(text: str) -> Row:
    texts, holes, at = [], [], 0
    for match in HOLE.finditer(text):
        texts.append(text[at : match.start()])
        binds = tuple(tuple(pair.split("=")) for pair in match[3].split())
        holes.append((match[1], binds))
        at = match.end()
    return Row((*texts, text[at:]), tuple(holes))  # type: ignore[arg-type]


ROWS = read_rows(Path(__file__).with_name("lisp_forms.txt"))
LEAVES = {k: [r for r in rows if not r.holes] or rows[:1] for k, rows in ROWS.items()}


def made(kind: str, chance: random.Random, depth: int, scope: Scope) -> Form:
    """A form of a type."""
    names = [name for name, of in scope.items() if of.rstrip("!") == kind]
    if names and chance.random() < 0.4:
        return Form(kind, Row((chance.choice(names),), ()), (), scope)
    rows = LEAVES[kind] if depth <= 0 else ROWS[kind]
    row = chance.choice(rows)
    parts = tuple(made(k, chance, depth - 1, {**scope, **dict(b)}) for k, b in row.holes)
    return Form(kind, row, parts, scope)


def form_of(seed: int) -> Form:
    """The form of a seed."""
    chance = random.Random(seed)
    kind = chance.choice(("int", "any", "list", "string", "bool", "rat", "float", "ilist", "vec"))
    return made(kind, chance, chance.randint(1, DEPTH), {})


def smaller(form: Form) -> Iterator[Form]:
    """Forms of the same type that are smaller: a part in its place, a leaf, a part made smaller."""
    for part in inner(form):
        if part.kind == form.kind and set(part.scope) <= set(form.scope):
            yield part
    if form.row.holes:
        for row in LEAVES[form.kind][:3]:
            if not row.holes:
                yield Form(form.kind, row, (), form.scope)
    for number, part in enumerate(form.parts):
        for less in smaller(part):
            yield form._replace(parts=(*form.parts[:number], less, *form.parts[number + 1 :]))


def inner(form: Form) -> Iterator[Form]:
    """All forms inside of a form."""
    for part in form.parts:
        yield part
        yield from inner(part)


def here(text: str) -> str:
    """What a form prints here: its values."""
    evaluator = Evaluator(limits=Limits(steps=1_000_000))
    try:
        value = evaluator.evaluate(guarded(text))
    except (Problem, Problems) as error:
        found = error.diagnostics[0] if isinstance(error, Problems) else error.diagnostic
        return f"ERROR {found.code} {found.message}"
    except Exception as error:
        return f"PYTHON {type(error).__name__} {error}"
    values = value if isinstance(value, MultipleValues) else (value,)
    return " ; ".join(line(print_text(v)) for v in values)


CLASSES = ("division-by-zero", "floating-point-overflow", "arithmetic-error", "undefined-function",
           "unbound-variable", "type-error", "end-of-file", "parse-error", "control-error",
           "program-error", "error")  # fmt: skip
HANDLERS = " ".join(f"({name} () '({name} signalled))" for name in CLASSES)


def guarded(text: str) -> str:
    """The form with its error's class as its value."""
    return f"(handler-case {text} {HANDLERS})"


def line(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def there(texts: list[str]) -> list[str]:
    """What forms print in SBCL, in one process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "forms.lisp")
        wrapped = [guarded(text) for text in texts]
        path.write_text("\n".join(wrapped) + "\n", encoding="utf-8")
        command = ["sbcl", "--noinform", "--script", str(ORACLE), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.split("\n")[:-1]
    if len(lines) != len(texts):
        raise RuntimeError(f"SBCL answered {len(lines)} of {len(texts)}: {done.stderr[-500:]}")
    return lines


FLOAT = re.compile(r"-?\d+\.\d+(?:[eEdD][-+]?\d+)?")


def alike(ours: str, theirs: str) -> bool:
    """Whether two printed values are equal; of two shortest texts of a float either will do."""
    if ours == theirs:
        return True
    return FLOAT.sub(_read, ours) == FLOAT.sub(_read, theirs)


def _read(found: re.Match[str]) -> str:
    return float(re.sub("[dD]", "e", found[0])).hex()


def shrunk(form: Form, tries: int = 40) -> Form:
    """A smaller form that differs too."""
    for _ in range(tries):
        less = list(smaller(form))[:200]
        if not less:
            break
        texts = [f.text for f in less]
        differ = [
            f for f, t, wanted in zip(less, texts, there(texts)) if not alike(here(t), wanted)
        ]
        if not differ:
            break
        best = min(differ, key=lambda f: len(f.text))
        if len(best.text) >= len(form.text):
            break
        form = best
    return form


class Difference(NamedTuple):
    """A form that two evaluators take to mean something else."""

    seed: int
    text: str
    wanted: str
    got: str


def differences(count: int, seed: int) -> Iterator[Difference]:
    """Forms among `count` whose values differ from SBCL's, made small."""
    forms = {number: form_of(number) for number in range(seed, seed + count)}
    answers = there([form.text for form in forms.values()])
    for (number, form), wanted in zip(forms.items(), answers):
        if not alike(here(form.text), wanted):
            yield smallest(number, form)


def smallest(seed: int, form: Form) -> Difference:
    form = shrunk(form)
    return Difference(seed, form.text, there([form.text])[0], here(form.text))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if shutil.which("sbcl") is None:
        sys.stdout.write("skipped: sbcl is not installed\n")
        return 0
    failures = 0
    for d in differences(options.count, options.seed):
        failures += 1
        sys.stdout.write(f"seed {d.seed}: {d.text}\n  SBCL {d.wanted}\n  here {d.got}\n")
        sys.stdout.flush()
    agreed = options.count - failures
    sys.stdout.write(f"{agreed} of {options.count} forms agree with SBCL\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
