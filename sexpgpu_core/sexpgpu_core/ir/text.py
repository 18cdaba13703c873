"""Graphs to s-expressions and back: parse(write(graph)) has the same structure.

A line a node: (%id type (operation operands :attribute value)), several types in a list; policy and
copy after it where they are not "" and 0; then results. Origins follow as comments and are lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from ..diagnostics import problem
from .graph import Graph, Node, Origin, Value
from .types import Type

Piece = tuple[tuple[Origin, ...], str]
"""Lines of a text, after the origins of the nodes that they are of."""


def write(graph: Graph, origins: bool = True) -> str:
    """The whole graph, dead nodes too, ending in a newline."""
    return "\n".join(text for _, text in lines(graph, origins)) + "\n"


def lines(graph: Graph, origins: bool = True) -> Iterator[Piece]:
    """The lines that `write` makes."""
    yield (), "(graph"
    for key, body in sorted(graph.bodies.items()):
        yield (), f"  (body {attribute_text(key)}"
        *inner, (_, last) = lines(body, origins)
        yield from ((found, f"  {text}") for found, text in inner)
        yield (), f"  {last})"
    for node in graph.nodes:
        found = graph.origins.get(node.id, ())
        yield found, f"  {node_text(node)}{_comment(found) if origins else ''}"
    *names, last = ["  (results", *_results(graph)]
    yield from (((), name) for name in names)
    yield (), f"{last}))"


def _results(graph: Graph) -> Iterator[str]:
    for name, value in graph.results.items():
        yield f"    ({attribute_text(name)} {_reference(value)})"


def node_text(node: Node) -> str:
    """One node as a form."""
    types = " ".join(map(_type, node.types))
    if len(node.types) != 1:
        types = f"({types})"
    words = [node.operation, *map(_reference, node.operands)]
    words += [f":{k} {attribute_text(v)}" for k, v in node.attributes]
    tail = f" :policy {attribute_text(node.policy)}" if node.policy else ""
    tail += f" :copy {node.copy}" if node.copy else ""
    return f"(%{node.id} {types} ({' '.join(words)}){tail})"


def attribute_text(value: Any) -> str:
    """An attribute so that it reads back as the same value of the same class."""
    kind = value.__class__
    if kind is str:
        return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if kind is bool:
        return "#t" if value else "#f"
    if kind is int or value is None:
        return "nil" if value is None else str(value)
    if kind is float:
        return repr(value) if value - value == 0 else f"#{value!r}"
    if kind is Fraction:
        return f"{value.numerator}/{value.denominator}"
    return "(" + " ".join(map(attribute_text, value)) + ")"


def _type(t: Type) -> str:
    return "(" + " ".join((t.dtype, *map(str, t.shape))) + ")"


def _reference(value: Value) -> str:
    return f"%{value.node.id}" + (f".{value.result}" if value.result else "")


def _comment(found: tuple[Origin, ...]) -> str:
    return "" if not found else "  ; " + ", ".join(map(_origin, found))


def _origin(origin: Origin) -> str:
    words = [origin.scope] if origin.scope else []
    if origin.span is not None:
        words.append(str(origin.span))
    return " ".join([*words, "grad"] if origin.grad else words).replace("\n", " ")


_TOKEN = re.compile(r'\s+|;[^\n]*|(?P<token>[()]|"(?:[^"\\]|\\.)*"|[^\s()";]+)')
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class _Word(str):
    """A token that is no string."""

    __slots__ = ()


def parse(text: str) -> Graph:
    """The graph of a text that `write` made; E-READ-SYNTAX for another."""
    try:
        form = _form(text)
        return _graph(form)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
        raise problem("E-READ-SYNTAX", f"no graph: {error}") from error


def _form(text: str) -> Any:
    """Nested lists of words, texts and numbers."""
    stack: list[list[Any]] = [[]]
    for token in _tokens(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(_atom(token))
    (form,) = stack[0]
    return form


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"unknown text {text[at : at + 20]!r}")
        at = found.end()
        if found["token"] is not None:
            yield found["token"]


_CONSTANTS = {
    "#t": True,
    "#f": False,
    "nil": None,
    "#inf": float("inf"),
    "#-inf": float("-inf"),
    "#nan": float("nan"),
}


def _atom(token: str) -> Any:
    if token[0] == '"':
        return _ESCAPE.sub(lambda m: "\n" if m[1] == "n" else m[1], token[1:-1])
    if token in _CONSTANTS:
        return _CONSTANTS[token]
    if token[0].isdigit() or (token[0] == "-" and token[1:2].isdigit()):
        return _number(token)
    return _Word(token)


def _number(token: str) -> Any:
    if "/" in token:
        above, below = token.split("/")
        return _ratio(int(above), int(below))
    return int(token) if token.lstrip("-").isdigit() else float(token)


def _ratio(above: int, below: int) -> Fraction:
    return Fraction(above, below)


def _graph(form: Any) -> Graph:
    graph = Graph()
    if form[0] != "graph":
        raise ValueError(f"starts with {form[0]}")
    for part in form[1:]:
        if part[0] == "body":
            graph.bodies[str(part[1])] = _graph(part[2])
        elif part[0] == "results":
            graph.results = {str(name): _value(graph, at) for name, at in part[1:]}
        else:
            graph.nodes.append(_node(graph, part))
    return graph


def _node(graph: Graph, form: Any) -> Node:
    name, types, call, *rest = form
    if name != f"%{len(graph.nodes)}":
        raise ValueError(f"{name} is out of order")
    several = not types or isinstance(types[0], list)
    found = tuple(Type(str(t[0]), tuple(t[1:])) for t in (types if several else [types]))
    split = next((i for i, w in enumerate(call) if _is_key(w)), len(call))
    operands = tuple(_value(graph, w) for w in call[1:split])
    more = _pairs(rest)
    return Node(
        str(call[0]),
        operands,
        tuple(_pairs(call[split:]).items()),
        found,
        more.get("policy", ""),
        more.get("copy", 0),
        len(graph.nodes),
    )


def _is_key(word: Any) -> bool:
    return isinstance(word, _Word) and word.startswith(":")


def _pairs(words: list[Any]) -> dict[str, Any]:
    keys, values = words[::2], words[1::2]
    if len(keys) != len(values) or not all(map(_is_key, keys)):
        raise ValueError("attributes come in pairs")
    return {str(k[1:]): _attribute(v) for k, v in zip(keys, values)}


def _attribute(value: Any) -> Any:
    return tuple(map(_attribute, value)) if isinstance(value, list) else value


def _value(graph: Graph, word: str) -> Value:
    node, _, result = word[1:].partition(".")
    return Value(graph.nodes[int(node)], int(result or 0))


def same(a: Graph, b: Graph) -> bool:
    """Whether two graphs have the same nodes, results and bodies; origins do not count."""
    return write(a, origins=False) == write(b, origins=False)
