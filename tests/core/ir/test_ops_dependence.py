"""Axis relations hold: what one element of an operand changes lies where they say."""

from __future__ import annotations

import numpy as np
import pytest
from op_cases import DIFFERENTIABLE, Case, arrays, built

from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS

_ALLOWED = {
    "same": lambda result, place: result == place,
    "le": lambda result, place: place <= result,
    "ge": lambda result, place: place >= result,
}


def _changed(graph, data, name: str, place) -> np.ndarray:
    before = run(graph, data, OPERATIONS)["y"]
    moved = data[name].copy()
    moved[place] = ~moved[place] if moved.dtype == bool else moved[place] + 0.01
    if data[name].dtype == np.int32:
        moved[place] = (data[name][place] + 1) % (data[name].max() + 1)
    after = run(graph, {**data, name: moved}, OPERATIONS)["y"]
    return np.argwhere(before != after)


@pytest.mark.parametrize("given", DIFFERENTIABLE, ids=lambda c: c.id)
def test_a_change_stays_where_the_relations_say(given: Case) -> None:
    b, inputs, results = built(given)
    b.graph.results["y"] = results[0]
    types = tuple(v.type for v in inputs)
    relations = OPERATIONS[given.operation].depends(types, given.attributes).axes
    data = arrays(given)
    random = np.random.default_rng(2)
    for k in {row[1] for row in relations}:
        if 0 in types[k].shape:
            continue
        place = tuple(int(random.integers(n)) for n in types[k].shape)
        for spot in _changed(b.graph, data, str(k), place):
            for axis, operand, of, relation in relations:
                stretched = types[k].shape[of] == 1 if operand == k else True
                if operand == k and relation in _ALLOWED and not stretched:
                    assert _ALLOWED[relation](spot[axis], place[of]), (axis, operand, of, relation)
