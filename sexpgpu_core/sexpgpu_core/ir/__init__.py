"""The typed graph: what a file means, and what every phase after tracing works on."""

from .builder import Builder
from .graph import Graph, Node, Origin, Value
from .operation import Cost, Dependence, Fusion, Operation, Operations, Precision
from .types import Attribute, Type

__all__ = [
    "Attribute",
    "Builder",
    "Cost",
    "Dependence",
    "Fusion",
    "Graph",
    "Node",
    "Operation",
    "Operations",
    "Origin",
    "Precision",
    "Type",
    "Value",
]
