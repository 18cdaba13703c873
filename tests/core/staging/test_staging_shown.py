"""A mistake in the shape of a run-file form is told with the shape; nothing is a traceback."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sexpgpu_core import api
from sexpgpu_core.diagnostics import Diagnostic, lookup
from sexpgpu_core.spans import Source
from sexpgpu_core.staging.shown import SHOWN

pytest.importorskip("sexpgpu_nn", reason="the run files here use nn and optim")
pytest.importorskip("sexpgpu_optim", reason="the run files here use nn and optim")

PARTS = {
    "knob": "(defknob width 8)\n(defknob rate 1)\n(defknob depth 1)\n(defknob fold 1)",
    "loader": "(defloader d (source (digits)) (stage :train :split (0 0.8)) (batch 8))",
    "model": "(defmodel net (x) (nn:linear x 10))",
    "objective": '(defun objective (&key image label)\n'
    '  (metric "loss" (nn:cross-entropy (net image) label)))',
    "pass": "",
    "optimizer": "(defun optimizer () (groups (group :rest (optim:sgd :lr 1e-3))))",
    "output": "",
    "run": "(defrun :steps 10)",
}  # fmt: skip
PLACES = {
    "defknob": "knob", "defvariant": "knob", "defsweep": "knob", "defloader": "loader",
    "defmodel": "model", "load-params": "model", "defoptimizer": "optimizer",
    "defschedule": "optimizer", "defeval": "pass", "deftarget": "pass", "defoutput": "output",
    "defdiagnostic": "output", "defrun": "run",
}  # fmt: skip
AROUND = {
    "defknob": "(defknob k :relu {})",
    "defsweep": "(defsweep s {})",
    "defloader": "(defloader d (source (digits)) {} (batch 8))",
    "defeval": "(defeval val :loader (d :val) {})",
    "defrun": "(defrun :steps 10 {})",
}
CODE = re.compile(r'"[^"]*"|[()]|[^\s()"]+')


def whole(name: str) -> str:
    """The form that a row stands in."""
    head, _, option = name.partition(" ")
    row = SHOWN[name]
    if not option:
        return row
    if option.startswith("stage "):
        row = f"(stage :train {row})"
    elif option != "stage" and head == "defloader":
        row += " (stage :train)"
    return AROUND[head].format(row)


def told(name: str, form: str) -> list[Diagnostic]:
    slot = PLACES.get(name.split()[0])
    parts = dict(PARTS)
    if slot is None:
        parts["model"] = f"(defmodel net (x) {form} (nn:linear x 10))"
    elif parts[slot].startswith(f"({name.split()[0]} "):
        parts[slot] = form + (parts[slot] if slot == "knob" else "")
    else:
        parts[slot] = f"{form}\n{parts[slot]}"
    text = '(require "sexpgpu/nn")\n(require "sexpgpu/optim")\n' + "\n".join(parts.values())
    return list(api.check(Source("f.lisp", text)).diagnostics)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEXPGPU_CACHE", str(tmp_path))


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_shown_is_of_its_shape(name: str) -> None:
    found = told(name, whole(name))
    assert not {d.code for d in found} & {"E-FORM-SHAPE", "E-CONTRACT", "E-INTERNAL"}
    assert not [d for d in found if "has no option" in d.message or d.code.startswith("E-READ")]


WRONG = [
    ("defsweep", "(defsweep s :grid (width (64 128)))", ":grid ((width (64 128)) (depth (2 4)))"),
    ("defsweep", "(defsweep s :grid)", ":grid ((width (64 128)) (depth (2 4)))"),
    ("defsweep", "(defsweep s :zip 3)", ":zip ((width (64 128)) (depth (2 4)))"),
    ("defsweep", "(defsweep s :random ((width uniform)))", "(log-uniform 1e-4 1e-2)"),
    ("defsweep", "(defsweep s :rank 3)", ':rank ("val/loss" :min)'),
    ("defsweep", "(defsweep s :over width)", ":over (fold)"),
    ("defsweep", "(defsweep s width 3)", "(defsweep s :grid"),
    ("defsweep", "(defsweep)", "(defsweep s :grid"),
    ("defknob", "(defknob k 1 :choices 3)", "(defknob width 128"),
    ("defloader", "(defloader d (source (digits)) (batch 8) (stage :train :windows ()))",
     ":windows (64 :stride 32)"),
    ("defloader", "(defloader d (source (digits)) (batch 8) (stage :train :map (())))", ":map (("),
    ("defeval", "(defeval val :loader)", ":loader (d :val)"),
    ("defrun", "(defrun :steps 3 :checkpoint 3)", ":checkpoint (:every 100"),
    ("defmodel", "(defmodel net (x &key (y 1 2)) x)", "(x &optional (y 1) &rest more)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "form", "shown"), WRONG, ids=[form for _, form, _ in WRONG])
def test_a_mistake_in_the_shape_shows_the_shape(name: str, form: str, shown: str) -> None:
    found = [d for d in told(name, form) if d.code == "E-FORM-SHAPE"]
    assert [shown in (d.hint or "") for d in found] == [True]


def subform(tokens: list[str], start: int) -> int:
    """Where the form that begins there ends."""
    depth = 0
    for at in range(start, len(tokens)):
        depth += (tokens[at] == "(") - (tokens[at] == ")")
        if depth == 0:
            return at + 1
    raise AssertionError(tokens)


def changed(rng: random.Random, text: str) -> str:
    """With one part deleted, doubled, nested, opened or replaced."""
    tokens = CODE.findall(text)
    start = rng.choice([i for i in range(2, len(tokens)) if tokens[i] != ")"])
    stop = subform(tokens, start)
    part = tokens[start:stop]
    other = rng.choice(("nil", "t", "3", ":foo", "foo", '"s"', "()", "((a))", "(:a)", "'(1)"))
    ways = ([], part * 2, ["(", *part, ")"], part[1:-1], [other], [*part, other])
    tokens[start:stop] = rng.choice(ways)
    return " ".join(tokens)


def cases() -> Iterator[tuple[str, str]]:
    rng = random.Random(5)
    for name in SHOWN:
        for _ in range(3):
            yield name, changed(rng, whole(name))


def test_no_form_of_another_shape_is_a_fault_of_ours() -> None:
    bare = lookup("E-FORM-SHAPE").fix
    for name, form in cases():
        found = told(name, form)
        assert "E-INTERNAL" not in {d.code for d in found}, form
        assert bare not in {d.hint for d in found}, form
