"""Nodes come from places of the file, also those that an installed module makes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from staging_case import optimized, traced, whole

from sexpgpu_core.compile.averages import check_reads
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir import Graph
from sexpgpu_core.spans import Span

MODELS = (
    "(defmodel net (x) (nn:mlp x :hidden 16 :out 10))\n",
    "(defmodel net (x) (nn:linear (dropout (nn:layer-norm x) 0.1) 10))\n",
    "(defun narrow (x) (nn:linear x 10))\n(defmodel net (x) (narrow (nn:batch-norm x)))\n",
    "(defmodel net (x) (checkpoint (nn:mlp x :hidden 16 :out 10)))\n",
)


def spans(graph: Graph) -> Iterator[Span]:
    for origins in graph.origins.values():
        yield from (o.span for o in origins if o.span is not None)
    for body in graph.bodies.values():
        yield from spans(body)


@pytest.mark.parametrize("model", MODELS)
def test_nodes_of_modules_come_from_the_files_calls_of_them(model: str) -> None:
    found = traced(whole(model=model))
    places = list(spans(found.graph))
    assert places
    assert {place.source.name for place in places} == {"test.lisp"}
    named = [v.span for v in (*found.parameters.values(), *found.states.values())]
    assert {place.source.name for place in named if place} == {"test.lisp"}


@pytest.mark.parametrize("call", ["(optim:adamw :lr 1e-3)", "(optim:sgd :lr 0.1 :momentum 0.9)"])
def test_nodes_of_an_update_come_from_the_call_that_makes_the_optimizer(call: str) -> None:
    text = whole(optimizer=f"(defun optimizer () (groups (group :rest {call})))\n")
    _, found = optimized(text)
    places = {p.text for update in found.updates.values() for p in spans(update.body)}
    assert call in places
    assert all(call in place for place in places)  # the groups hold it


def test_weights_without_an_average_are_told_at_the_files_call() -> None:
    objective = (
        "(defun objective (&key image)"
        " (mean (square (- (net image) (with-weights :ema (net image))))))\n"
    )
    text = whole(objective=objective)
    found, optimization = optimized(text)
    with pytest.raises(Problem) as told:
        check_reads(found, optimization)
    span = told.value.diagnostic.span
    assert span is not None
    assert (told.value.diagnostic.code, span.text) == (
        "E-EMA-MISSING",
        "(with-weights :ema (net image))",
    )


def test_a_loss_that_blocks_would_change_is_told_at_the_files_call() -> None:
    loss = "(exp (nn:cross-entropy (net image) label))"
    text = whole(objective=f"(defun objective (&key image label) {loss})\n")
    with pytest.raises(Problem) as told:
        traced(text, microbatches=2)
    span = told.value.diagnostic.span
    assert span is not None
    assert (told.value.diagnostic.code, span.text) == ("E-OBJECTIVE-NONLINEAR", loss)
