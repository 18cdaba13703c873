"""Directives around others: ~* ~? ~( ~[ ~{ ~< ~^, and running a control string."""

from __future__ import annotations

from typing import Any

from .builtins.listing import proper
from .faults import wrong_type
from .format_directives import DIRECTIVES, Directed
from .format_output import Arguments, Escape, Output, State
from .format_parser import Directive, Node, parse_control
from .printer import brief
from .symbol_text import capitalize
from .values import NIL, Cons, String, Value

DEEPEST = 200


def format_text(control: Value, items: list[Value], column: int = 0) -> str:
    """The text of a control string (or formatter function) and its arguments."""
    output = Output(column)
    run_level(State(Arguments(items), output, 0, outermost=True), control_nodes(control))
    return output.text()


def control_nodes(control: Value) -> tuple[Node, ...]:
    if not isinstance(control, String):
        raise wrong_type("format", control, "a control string")
    return parse_control(control.text())


def run_level(s: State, nodes: tuple[Node, ...]) -> None:
    """Run directives; ~^ ends them."""
    try:
        run(s, nodes)
    except Escape:
        return


def run(s: State, nodes: tuple[Node, ...]) -> None:
    write = s.output.write
    for node in nodes:
        if node.__class__ is str:
            write(node)
        else:
            DIRECTIVES[node.char](s, node)


def _deeper(s: State, d: Directive, arguments: Arguments, more: bool = True) -> State:
    if s.depth >= DEEPEST:
        raise s.fault("control strings are nested too deep", d)
    return State(arguments, s.output, s.depth + 1, more)


def _goto(s: State, d: Directive) -> None:
    a = s.arguments
    count = s.number(s.params(d), 0, d, 0 if d.at else 1)
    target = count if d.at else a.at - count if d.colon else a.at + count
    if not 0 <= target <= len(a.items):
        raise s.fault("~* goes beyond the arguments", d)
    a.at = target


def _recursive(s: State, d: Directive) -> None:
    control = s.next(d)
    if d.at:
        run_level(_deeper(s, d, s.arguments), control_nodes(control))
    else:
        arguments = Arguments(proper("format", s.next(d)))
        run_level(_deeper(s, d, arguments), control_nodes(control))


def _inner(s: State, d: Directive, nodes: tuple[Node, ...]) -> tuple[str, Escape | None]:
    """The text of nodes apart, and the ~^ that ended them."""
    output = Output(s.output.column)
    escape = None
    try:
        run(s._replace(output=output, depth=s.depth + 1), nodes)
    except Escape as found:
        escape = found
    return output.text(), escape


def _case(s: State, d: Directive) -> None:
    text, escape = _inner(s, d, d.clauses[0])
    s.output.write(_recase(text, d.colon, d.at))
    if escape is not None:
        raise escape


def _recase(text: str, colon: bool, at: bool) -> str:
    if colon and at:
        return text.upper()
    if colon:
        return capitalize(text)
    if not at:
        return text.lower()
    lower = text.lower()
    for i, c in enumerate(lower):
        if c.isalnum():
            return lower[:i] + c.upper() + lower[i + 1 :]
    return lower


def _conditional(s: State, d: Directive) -> None:
    p = s.params(d)
    if d.colon:
        if len(d.clauses) != 2:
            raise s.fault("~:[ wants two clauses", d)
        run(s, d.clauses[s.next(d) is not NIL])
    elif d.at:
        if len(d.clauses) != 1:
            raise s.fault("~@[ wants one clause", d)
        if s.next(d) is not NIL:
            s.arguments.at -= 1
            run(s, d.clauses[0])
    else:
        _choose(s, d, s.number(p, 0, d))


def _choose(s: State, d: Directive, chosen: Any) -> None:
    if chosen is None:
        chosen = s.next(d)
    if chosen.__class__ is not int:
        raise wrong_type("format ~[", chosen, "an integer")
    has_default = bool(d.separators) and d.separators[-1].colon
    if 0 <= chosen < len(d.clauses) - has_default:
        run(s, d.clauses[chosen])
    elif has_default:
        run(s, d.clauses[-1])


def _iterate(s: State, d: Directive) -> None:
    most = s.number(s.params(d), 0, d)
    body = d.clauses[0]
    if not body:
        body = control_nodes(s.next(d))
    arguments = s.arguments if d.at else Arguments(proper("format", s.next(d)))
    rounds = 0
    while most is None or rounds < most:
        if arguments.left == 0 and not (rounds == 0 and d.close.colon):
            return
        before = arguments.at
        if not _round(s, d, body, arguments):
            return
        rounds += 1
        if arguments.at == before and most is None and rounds > 10_000:
            raise s.fault("the iteration uses no arguments", d)


def _round(s: State, d: Directive, body: tuple[Node, ...], arguments: Arguments) -> bool:
    """One round of an iteration; false when ~^ ends it."""
    if not d.colon:
        try:
            run(_deeper(s, d, arguments), body)
        except Escape:
            return False
        return True
    sub: list[Value] = []
    if arguments.left:
        sub = proper("format", arguments.items[arguments.at])
        arguments.at += 1
    try:
        run(_deeper(s, d, Arguments(sub), arguments.left > 0), body)
    except Escape as escape:
        return not escape.all_rounds
    return True


def _escape(s: State, d: Directive) -> None:
    p = s.params(d)
    while p and p[-1] is None:
        p.pop()
    if d.colon and s.outermost:
        raise s.fault("~:^ stands outside ~:{", d)
    if not p:
        done = not s.more if d.colon else s.arguments.left == 0
    elif len(p) == 1:
        done = p[0] == 0
    elif len(p) == 2:
        done = _equal(p[0], p[1])
    else:
        done = all(x.__class__ is int for x in p[:3]) and p[0] <= p[1] <= p[2]
    if done:
        raise Escape(d.colon)


def _equal(a: Any, b: Any) -> bool:
    return a is not None and a.__class__ is b.__class__ and bool(a == b)


def _justify(s: State, d: Directive) -> None:
    if d.close.colon:
        _block(s, d)
        return
    p = s.params(d)
    width, step = s.number(p, 0, d, 0), max(1, s.number(p, 1, d, 1))
    least, pad = s.number(p, 2, d, 0), s.char(p, 3, d)
    parts: list[str] = []
    for clause in d.clauses:
        text, escape = _inner(s, d, clause)
        if escape is not None:
            break
        parts.append(text)
    prefix = None
    if d.separators and d.separators[0].colon and parts:
        prefix = parts.pop(0)
    text = _justified(parts or [""], width, step, least, pad, d)
    if prefix is not None and s.output.column + len(text) > 72:
        s.output.write(prefix)
    s.output.write(text)


def _justified(parts: list[str], width: int, step: int, least: int, pad: str, d: Directive) -> str:
    """Parts spread over a width; : pads before the first, @ after the last."""
    before, after = d.colon or (len(parts) == 1 and not d.at), d.at
    gaps = len(parts) - 1 + before + after
    size = sum(map(len, parts)) + gaps * least
    if size > width:
        width += -(-(size - width) // step) * step
    extra, rest = divmod(width - size, gaps) if gaps else (0, 0)
    fills = [pad * (least + extra + (i >= gaps - rest)) for i in range(gaps)]
    text = fills.pop(0) if before else ""
    for i, part in enumerate(parts):
        text += part
        if i < len(parts) - 1 or after:
            text += fills.pop(0)
    return text


def _block(s: State, d: Directive) -> None:
    """~<prefix~;body~;suffix~:>: a list's elements between brackets; lines are never broken."""
    s.params(d)
    texts = d.clauses
    if len(texts) > 3 or any(sep.colon for sep in d.separators):
        raise s.fault("~<...~:> has a prefix, a body and a suffix", d)
    prefix, suffix = ("(", ")") if d.colon else ("", "")
    if len(texts) > 1:
        prefix = _literal(s, d, texts[0])
        suffix = _literal(s, d, texts[2]) if len(texts) == 3 else suffix if d.colon else ""
    body = texts[1] if len(texts) > 1 else texts[0]
    if d.at:
        arguments = Arguments(s.arguments.items[s.arguments.at :])
        s.arguments.at = len(s.arguments.items)
    else:
        value = s.next(d)
        if value is not NIL and value.__class__ is not Cons:
            s.output.write(brief(value))
            return
        arguments = Arguments(proper("format", value))
    s.output.write(prefix)
    run_level(_deeper(s, d, arguments), body)
    s.output.write(suffix)


def _literal(s: State, d: Directive, nodes: tuple[Node, ...]) -> str:
    if any(node.__class__ is not str for node in nodes):
        raise s.fault("the prefix and suffix of ~<...~:> are plain text", d)
    return "".join(nodes)


_FLOW: dict[str, Directed] = {
    "*": _goto,
    "?": _recursive,
    "(": _case,
    "[": _conditional,
    "{": _iterate,
    "<": _justify,
    "^": _escape,
}
DIRECTIVES.update(_FLOW)
