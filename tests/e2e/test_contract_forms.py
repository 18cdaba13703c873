"""Every option of contracts/grammar.md, key of ctx.md, code and key of a schema is there.

Options are looked for in the files of run_files/form_keywords.py, whose words are tried there.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contract_pages import CONTRACTS, missing, page, rows

sys.path.append(str(Path(__file__).parents[1] / "run_files"))
from code_cases import found, whole
from e2e_program import SCHEMAS, validator
from form_keywords import LOADER, LOSS, MODEL, OBJECTIVE, OPTIONS, PASS, RUN, TEXT, VALUES

from sexpgpu_core.diagnostics import catalogue
from sexpgpu_core.diagnostics.example import Example
from sexpgpu_core.staging.context import COUNTER_PLACES, PLACES, STEP_SCALARS

pytestmark = missing
STATE = "(defstate m (64) :init 0 :combine {})\n  (setf m (mean x :axis 0)) (nn:linear (- x m) 10)"
MORE = (
    *(MODEL.format(STATE.format(kind)) for kind in (":delta", ":sum", ":max", ":min")),
    MODEL.format(
        "(defstate m (8 64) :init 0 :combine :concat)\n  (setf m x) (nn:linear (- x m) 10)"
    ),
    *(OBJECTIVE.format(f'(metric "x" image :reduce {r})\n  {LOSS}') for r in (":sum", ":max")),
    OBJECTIVE.format(f'(metric "x" image :reduce :min)\n  {LOSS}'),
    *(
        OBJECTIVE.format(f'(diagnostic "x" image :reduce {r})\n  {LOSS}')
        for r in (":mean", ":min", ":sum", ":last", ":norm", ":quantiles")
    ),
    '(defdiagnostic size (&key loss) (:for :step) loss)',
    *(RUN.format(f":finite-guard {kind}") for kind in (":off", "(:skip 3)")),
    *(OBJECTIVE.format(f"(progn (stage-stat (data :train) {of})\n  {LOSS})")
      for of in ("image :std", "image :min", "image :max", "label :count-by 10")),
    *(TEXT.format(f"(windows 9 :documents 10 :short {s} :pad 0) (stage :train) (stage :val)")
      for s in (":pad", ":keep-if 4")),
    LOADER.format("(split-by (:group label)) (stage :train) (stage :val)"),
    TEXT.format("(windows 9) (stage :train :order :streams) (stage :val)"),
    PASS + RUN.format(':checkpoint (:best ("val/loss" :max))'),
    '(defknob fold 0 "F.")\n(defsweep s :seeds 3 :over (fold) :grid ((fold (1 2)))\n'
    '  :rank ("val/loss" :max :at :best))',
    '(defeval val :loader (data :val) :every 50 :weights :ema)\n'
    "(defun optimizer ()\n  (groups :ema 0.9 (group :rest (optim:sgd :lr 0.1))))",
    '(require "sexpgpu/nn" :as nn :import :all)',
    '(defknob depth 2 "D.")\n(defvariant a "A." :depth 3)\n'
    '(defvariant b "B." :from a :depth 4)',
    LOADER.format("(split-by :hash :seed 1) (stage :train :split (0 0.5)) (stage :val)"),
)  # fmt: skip
"""Words that the other tables have no file for."""

OF_DEFRUN = ("seed", "checkpoint", "diagnostics", "log-every", "finite-guard")
EXAMPLES = {"defvariant": {"width"}}
"""Words of a row that are its examples' alone."""

TABLES = [text for text, _ in (*OPTIONS, *VALUES)] + list(MORE)


def words() -> list[tuple[str, str]]:
    """Forms of the grammar, each with a keyword of its row."""
    made = []
    for cells in rows(page("grammar.md")):
        heads = re.findall(r"`\(([a-z-]+)", cells[0])
        keys = re.findall(r'(?<![\w"]):[a-z][a-z0-9-]*', cells[0])
        head = heads[0] if heads else "defrun"
        made += [(head, key[1:]) for key in keys if key[1:] not in EXAMPLES.get(head, ())]
    return sorted(set(made))


@pytest.mark.parametrize(("form", "word"), words())
def test_a_word_of_the_grammar_has_a_file_that_is_tried(form: str, word: str) -> None:
    of = re.compile(rf"\({form}(?![\w-])[^\0]*:{word}(?![\w-])")
    assert any(of.search(text) for text in TABLES), f"({form} ... :{word}) is in no file"


@pytest.mark.parametrize("forms", MORE, ids=lambda text: text[-60:])
def test_what_the_other_tables_lack_is_taken(forms: str, tmp_path: Path) -> None:
    text = whole(Example("", "file", forms, forms, {}), forms + "\n")
    fields = {"E-FIELD"} if "python-stdlib" in forms else set()  # the rest is of pictures
    said = [d for d in found(text, tmp_path) if d.is_error and d.code not in fields]
    assert [(d.code, d.message) for d in said] == []


def test_every_key_of_ctx_is_known_in_its_places_and_of_its_kind() -> None:
    told: dict[str, tuple[str, bool]] = {}
    for key, kind, _, places, _ in rows(page("ctx.md")):
        for name in re.findall(r"`:([a-z-]+)", key.partition(", `")[0]):
            told[name] = ("".join(sorted(places.replace(" ", ""))), kind == "step scalar")
    counter = next(cells for cells in rows(page("ctx.md").replace("| a counter's", "| `a`"))
                   if cells[0].startswith("`a`"))  # fmt: skip
    assert sorted(counter[3].replace(" ", "")) == sorted(COUNTER_PLACES)
    assert set(told) == set(PLACES)
    for name, (places, step) in told.items():
        ours = PLACES[name].replace("U", "") if name == "stage" else PLACES[name]
        assert places == "".join(sorted(ours)), name  # (ctx :stage) is nil in an output
        assert step == (name in STEP_SCALARS), name


def test_every_code_of_the_catalogue_is_there_and_is_what_it_was() -> None:
    lines = [line.split("\t") for line in page("codes.tsv").splitlines()[1:]]
    assert len(lines) == 195
    for code, severity, phase, *_ in lines:
        row = catalogue()[code]
        assert (row.severity, row.phase) == (severity, phase), code


LATER = ("bundle",)
NAMES = sorted(path.stem for path in CONTRACTS.glob("schemas/*.json"))


def grown(old: Any, new: Any, at: str) -> None:
    """Keys are added and never removed; what is needed stays; sets of words only grow."""
    if isinstance(old, dict):
        assert isinstance(new, dict), at
        for key, value in old.items():
            if key in (
                "description",
                "examples",
                "title",
                "$comment",
                "pattern",
                "additionalProperties",
            ):
                continue
            assert key in new, f"{at}/{key}"
            grown(value, new[key], f"{at}/{key}")
    elif isinstance(old, list) and all(isinstance(item, str) for item in old):
        assert set(old) <= ({new} if isinstance(new, str) else set(new)), at
    elif isinstance(old, list):
        assert isinstance(new, list), at
        for one, other in zip(old, new, strict=False):
            grown(one, other, at)
    elif isinstance(new, list):
        assert old in new, at
    else:
        assert old == new, at


@pytest.mark.parametrize("name", [n for n in NAMES if n not in LATER])
def test_a_schema_has_all_that_the_contracts_has(name: str) -> None:
    old = json.loads(page(f"schemas/{name}.json"))
    grown(old, json.loads(SCHEMAS.joinpath(f"{name}.json").read_text("utf-8")), name)


def parts(schema: Any, at: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of a schema with its path."""
    if isinstance(schema, list):
        for n, item in enumerate(schema):
            yield from parts(item, f"{at}/{n}")
    elif isinstance(schema, dict):
        yield at, schema
        for key, value in schema.items():
            yield from parts(value, f"{at}/{key}")


CLOSED = re.compile(r"(severity|phase|reached|state|exit|verdict|goal)(/items|/anyOf/\d)*$")
"""Names whose words are a closed set: no word is added within a version."""


@pytest.mark.parametrize("name", [n for n in NAMES if n not in LATER])
def test_closed_sets_are_the_contracts_and_a_reader_may_meet_other_keys(name: str) -> None:
    old = dict(parts(json.loads(page(f"schemas/{name}.json"))))
    new = dict(parts(json.loads(SCHEMAS.joinpath(f"{name}.json").read_text("utf-8"))))
    sets = [at for at, part in old.items() if "enum" in part and CLOSED.search(at)]
    assert sets or name not in ("check", "diagnostic", "diff", "error", "event", "runs", "status")
    for at in sets:
        assert new[at]["enum"] == old[at]["enum"], at
    assert [at for at, part in new.items() if part.get("additionalProperties") is False] == []


def test_every_schema_of_ours_is_of_a_document_that_a_verb_gives() -> None:
    shipped = {path.name.removesuffix(".json") for path in SCHEMAS.iterdir()}
    assert set(NAMES) - set(LATER) <= shipped


def documents() -> list[tuple[str, Any]]:
    made = []
    for path in sorted(CONTRACTS.glob("examples/*.json*")):
        lines = path.read_text("utf-8").splitlines() if path.suffix == ".jsonl" else None
        found = (
            [json.loads(line) for line in lines] if lines else [json.loads(path.read_text("utf-8"))]
        )
        made += [(path.stem, document) for document in found]
    return made


@pytest.mark.parametrize(
    ("name", "document"), documents(), ids=lambda v: v if isinstance(v, str) else ""
)
def test_an_example_of_the_contract_is_what_the_schema_says(name: str, document: Any) -> None:
    kind = "event" if "event" in document else document.get("document", name.partition("-")[0])
    validator(kind).validate(document)


def test_codes_of_stages_are_of_staging_and_those_of_loaders_of_data() -> None:
    phases = {"E-STAGE-": "staging", "E-LOADER-": "data"}
    for code, row in catalogue().items():
        for head, phase in phases.items():
            assert not code.startswith(head) or row.phase == phase, code
    assert all(any(code.startswith(head) for code in catalogue()) for head in phases)
