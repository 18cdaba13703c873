"""Options of every kind of source are held against their types; what is wrong has a place."""

from __future__ import annotations

import pytest
from loader_text import loader_of

from sexpgpu_core.data.kinds import _SIZE, SOURCES, TOKENIZERS, by_name, tokenizer_table
from sexpgpu_core.diagnostics import Problem, Problems
from sexpgpu_core.evaluator.values import Function
from sexpgpu_core.staging.source_options import TOKENIZER, complete

LIST = Function("list", list)
KINDS = by_name(SOURCES)
TOKENIZER_ROWS = tokenizer_table(TOKENIZERS)
WRONG = {
    TOKENIZER: [3, 1.5, "bytes", (1,)],
    "(member :u16 :u32)": [16, ":u8", "u16", None, True],
    "(member 1 3 4)": [2, 3.0, "3", None, True],
    f"(integer 1 {2**62})": [0, -1, 1.5, "s", 10**30, (1,)],
    "(integer 1)": [0, -1, 1.5, "s", ":all", True, (1,), print],
    "(string 1)": [1, ":comma", None, True, (",",), "", ";;"],
    "boolean": [0, 1, ":false", "no", ("t",)],
    _SIZE: [0, 1.5, "28", ":big", True, print, 65537, (3,), (1, 2, 3), (1, 0)],
    "(or string list)": [1, 2.5, ":path", True, print],
    "keys": [1, "text", True, (("text",),), ((1, 1),), (("text", "1"),)],
}
OPTIONS = [(row, option) for row in SOURCES for option in row.options]
CASES = [(row, option, value) for row, option in OPTIONS for value in WRONG[option.type]]


def told(work):
    with pytest.raises((Problem, Problems)) as raised:
        work()
    found = raised.value
    return found.diagnostic if isinstance(found, Problem) else found.diagnostics[0]


def needed(row, count=None):
    """So many arguments of a kind as it needs."""
    one = LIST if row.argument == "function" else "a"
    return (one,) * (row.least if count is None else count)


def required(row):
    return {o.name: 3 for o in row.options if o.default is None}


@pytest.mark.parametrize(
    ("row", "option", "value"), CASES, ids=[f"{r.kind}-{o.name}-{v}" for r, o, v in CASES]
)
def test_a_value_of_another_type_is_told_by_its_option(row, option, value):
    name = "image" if option.name == "*" else option.name
    found = told(lambda: complete(row, (), {**required(row), name: value}, "."))
    assert found.code == "E-OPTION-VALUE"
    assert found.message.startswith(f":{name} of {row.kind} is ")
    assert found.facts["option"] == name


@pytest.mark.parametrize(("row", "option"), OPTIONS, ids=[f"{r.kind}-{o.name}" for r, o in OPTIONS])
def test_a_default_is_of_its_type_and_may_be_written(row, option):
    options = complete(row, needed(row), required(row), ".", None, TOKENIZER_ROWS)
    if option.name in options:
        written = {**required(row), option.name: options[option.name]}
        assert complete(row, needed(row), written, ".", None, TOKENIZER_ROWS) == options
    else:
        assert option.name == "*"


@pytest.mark.parametrize("row", SOURCES, ids=lambda row: row.kind)
def test_more_arguments_than_a_kind_takes_are_told(row):
    given = needed(row, (row.most or 0) + 1)
    if row.most is None:
        assert complete(row, given, required(row), ".")["arguments"] == given
        return
    found = told(lambda: complete(row, given, required(row), "."))
    assert (found.code, found.facts["kind"]) == ("E-OPTION", row.kind)
    assert found.message.startswith(f"({row.kind} ...) has {len(given)} arguments")
    assert complete(row, given[1:], required(row), ".")["arguments"] == given[1:]


@pytest.mark.parametrize(
    ("source", "code", "part"),
    [
        ('(python-stdlib :limit "s")', "E-OPTION-VALUE", "wants (integer 1)"),
        ("(python-stdlib :limit 0)", "E-OPTION-VALUE", "wants (integer 1)"),
        ("(python-stdlib 5)", "E-OPTION", "takes none"),
        ("(digits 3)", "E-OPTION", "takes none"),
        ('(csv "a.csv" :separator 3)', "E-OPTION-VALUE", "wants (string 1)"),
        ('(csv "a.csv" :header 0)', "E-OPTION-VALUE", "wants boolean"),
        ('(images "p" :size 1.5)', "E-OPTION-VALUE", "wants (or (integer 1 65536)"),
        ('(images "p" :size t)', "E-OPTION-VALUE", "wants (or (integer 1 65536)"),
        ('(idx :image 3 :label "b")', "E-OPTION-VALUE", "wants (or string list)"),
        ('(npy "a.npy" "b.npy")', "E-OPTION", "takes at most 1"),
        ("(synthetic (lambda (i) (list :x i)))", "E-OPTION", "needs :examples"),
        ("(none :examples :many)", "E-OPTION-VALUE", "wants (integer 1"),
    ],
)
def test_a_mistake_in_a_source_stands_at_the_source(tmp_path, source, code, part):
    found = told(lambda: loader_of(f"(source {source})", tmp_path).fields("train"))
    assert found.code == code
    assert part in found.message
    assert found.span is not None
    assert found.span.text == source


def test_what_a_file_asks_of_a_source_finds_the_same_mistakes(tmp_path):
    clauses = '(source (python-stdlib :limit "s")) (stage :train) (windows 4) (batch 2)) {}'
    asked = clauses.format("(defparameter *n* (loader-info d :tokens)) (progn")
    found = told(lambda: loader_of(asked, tmp_path))
    assert (found.code, found.span.text) == ("E-OPTION-VALUE", '(python-stdlib :limit "s")')


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        ("python-stdlib", "limits", "did you mean :limit?"),
        ("python-stdlib", "batch-size", "that is :batch; it belongs to a loader"),
        ("text-files", "block-size", "that is :windows; it belongs to a loader"),
        ("digits", "size", "it takes no options"),
    ],
)
def test_an_option_that_a_kind_has_not_is_told_by_where_it_stands(kind, name, hint):
    found = told(lambda: complete(KINDS[kind], (), {name: 3}, "."))
    assert found.code == "E-OPTION"
    assert found.hint.startswith(hint)
