"""Each operation's doc, its example, cost and dependence."""

from __future__ import annotations

import pytest
from op_cases import DIFFERENTIABLE, built

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir import Builder, Fusion, Type
from sexpgpu_core.ir.interpret import expansion
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.text import _attribute, _form, _is_key


def _example(name: str):
    """Operand types, attributes and result types of the example in a doc."""
    text = OPERATIONS[name].doc.split("Example: ")[1]
    call, result = (_form(f"({part})") for part in text.split(" -> "))
    words = call[0]
    split = next((i for i, w in enumerate(words) if _is_key(w)), len(words))
    operands = [Type(str(t[0]), tuple(t[1:])) for t in words[1:split]]
    keys = [str(k[1:]) for k in words[split::2]]
    attributes = dict(zip(keys, map(_attribute, words[split + 1 :: 2])))
    return str(words[0]), operands, attributes, tuple(Type(str(t[0]), tuple(t[1:])) for t in result)


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_example_has_the_types_it_says(name: str) -> None:
    told, operands, attributes, types = _example(name)
    assert told == name
    assert OPERATIONS[name].infer(tuple(operands), attributes) == types
    cost = OPERATIONS[name].cost(tuple(operands), attributes)
    assert cost.read == sum(t.bytes for t in operands) or OPERATIONS[name].fusion is Fusion.REDUCE
    assert cost.written == sum(t.bytes for t in types)
    assert cost.flops >= 0


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_dependence_of_the_example_names_axes_that_are_there(name: str) -> None:
    _, operands, attributes, types = _example(name)
    for result_axis, k, axis, relation in OPERATIONS[name].depends(tuple(operands), attributes)[0]:
        assert 0 <= result_axis < types[0].rank
        assert 0 <= axis < operands[k].rank
        assert relation in ("same", "le", "ge", "shift", "all")


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_doc_says_what_it_does_and_its_gradient(name: str) -> None:
    doc = OPERATIONS[name].doc
    assert (
        "Gradient: " in doc
        or OPERATIONS[name].fusion is Fusion.LEAF
        or name.startswith(("stop", "straight", "barrier", "gradient"))
    )


def test_examples_and_cases_have_attributes_that_are_taken() -> None:
    given = [(n, _example(n)[2]) for n in OPERATIONS]
    for name, attributes in given + [(c.operation, c.attributes) for c in DIFFERENTIABLE]:
        known = OPERATIONS[name].attributes
        assert set(known.required) <= set(attributes), name
        assert set(attributes) <= set(known.required + known.optional), name


def test_an_attribute_that_is_missing_is_named() -> None:
    with pytest.raises(Problem, match="reduce-sum without attribute 'axes'"):
        OPERATIONS["reduce-sum"].infer((Type("f32", (2,)),), {"axis": 0})


BODIED = {"custom-gradient", "scan", "cond"}
"""Operations of what a file says with functions: their tests are those of the forms."""


def test_every_gradient_is_held_to_differences() -> None:
    tested = {c.operation for c in DIFFERENTIABLE}
    rules = {n for n, o in OPERATIONS.items() if o.differentiable in ("yes", "expand", "body")}
    elsewhere = {"barrier", "gradient-scale", *BODIED}  # test_autodiff_reverse, test_staging_*
    assert rules - tested == elsewhere


@pytest.mark.parametrize("given", DIFFERENTIABLE, ids=lambda c: c.id)
def test_an_expansion_has_the_types_of_what_it_replaces(given) -> None:
    _, _, results = built(given, "f32")
    node = results[0].node
    if OPERATIONS[given.operation]._expand is None:
        return
    graph = expansion(node, OPERATIONS)
    assert tuple(v.type for v in graph.results.values()) == node.types
    assert all(n.operation != given.operation for n in graph.nodes)


@pytest.mark.parametrize("name", OPERATIONS)
def test_scalar_operations_are_elementwise(name: str) -> None:
    op = OPERATIONS[name]
    assert (op.scalar is None) or (op.scalar == name and op.fusion is Fusion.ELEMENT)


def test_builder_refuses_an_operation_that_is_not_there() -> None:
    with pytest.raises(KeyError):
        Builder(OPERATIONS)("no-such")
