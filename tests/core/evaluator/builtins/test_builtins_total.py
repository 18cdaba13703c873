"""Every builtin on values of every kind: a value or a Problem, never another Python exception."""

from __future__ import annotations

import random
from typing import Any

import pytest

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.evaluator import words
from sexpgpu_core.evaluator.definitions import (
    BUILTINS,
    CHAPTERS,
    load_chapter,
    parse_parameters,
)
from sexpgpu_core.evaluator.evaluator import Evaluator, Limits
from sexpgpu_core.evaluator.hash_tables import HashTable
from sexpgpu_core.evaluator.machine import run_deep
from sexpgpu_core.evaluator.values import (
    NIL,
    Array,
    Cons,
    Function,
    Ratio,
    String,
    Symbol,
    T,
    Vector,
    character,
    keyword,
    make_list,
)
from sexpgpu_core.staging import builtins

assert words
assert builtins
for _chapter in set(CHAPTERS.values()):
    load_chapter(_chapter)
ROUNDS = 60


def sample(rng: random.Random) -> Any:
    filled = Vector([1, 2, 3])
    filled.fill = 2
    return rng.choice(
        [
            NIL,
            T,
            0,
            1,
            2,
            -3,
            10**30,
            Ratio(1, 2),
            0.0,
            -2.5,
            1e300,
            character("a"),
            String("abc"),
            String("~a~{"),
            Symbol("FOO", "user"),
            keyword("TEST"),
            Cons(1, 2),
            make_list([1, 2, 3]),
            make_list([Cons(Symbol("A"), 1)]),
            Vector([1, character("b")]),
            Vector([0, 1], "bit"),
            filled,
            Array((2, 2), [1, 2, 3, 4]),
            Array((), [5]),
            HashTable("EQL"),
            BUILTINS["CAR"],
            BUILTINS["+"],
            BUILTINS["LIST"],
            Function("one", lambda x: x, "(x)", 1, 1),
        ]
    )


def arguments_of(rng: random.Random, name: str) -> list[Any]:
    """As many as the builtin takes, now and then with keywords of its own."""
    function = BUILTINS[name]
    shape = parse_parameters(function.lambda_list)
    count = rng.randint(function.least, function.least + 2)
    if function.most is not None:
        count = min(count, function.most)
    found = [sample(rng) for _ in range(count)]
    if shape.keys and rng.random() < 0.5:
        found = found[: shape.required + shape.optional]
        found += [sample(rng) for _ in range(shape.required + shape.optional - len(found))]
        for key in rng.sample(shape.keys, min(2, len(shape.keys))):
            found += [keyword(key), sample(rng)]
    return found


@pytest.mark.parametrize("name", sorted(n for n in BUILTINS if not n.startswith(("%", "(SETF %"))))
def test_a_builtin_gives_a_value_or_a_problem(name: str) -> None:
    rng = random.Random(name)
    evaluator = Evaluator(limits=Limits(steps=200_000))

    def work() -> None:
        for _ in range(ROUNDS):
            arguments = arguments_of(rng, name)
            try:
                BUILTINS[name].call(*arguments)
            except Problem:
                continue

    run_deep(evaluator, work)
