"""Local rules: asked when a node is made, from autodiff on; each gives the same finite values.

A table from operation to function. Rules fold scalars and splats, drop identities and join views;
they count no users and look at operands only, so they cost little and need no sweep. Where an
operand is infinite or NaN a rule may differ from the node (x 0); of finite ones it never does.
None looks through `stop-gradient`, `straight-through`, `gradient-scale` or `barrier` (45.31).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import arithmetic_rules, shape_rules
from .graph import Value
from .splats import LocalRule, Operands

if TYPE_CHECKING:
    from .builder import Builder

RULES: dict[str, LocalRule] = {**arithmetic_rules.RULES, **shape_rules.RULES}


def local_rule(
    b: Builder, operation: str, operands: Operands, attributes: dict[str, Any]
) -> Value | None:
    """A `builder.Rule`: the value to use instead of a node, or None."""
    rule = RULES.get(operation)
    return None if rule is None else rule(b, operands, attributes)
