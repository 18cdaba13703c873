"""Reading from strings: whole forms, and streams that give a string's characters one by one."""

from __future__ import annotations

from typing import Any

from ...diagnostics import Problem, problem
from ...reader import Reader
from ...spans import Source
from ..definitions import builtin, core_symbol, native_macro
from ..faults import wrong_type
from ..machine import current
from ..standard_variables import VARIABLES
from ..streams import StringInputStream
from ..values import (
    NIL,
    Cons,
    MultipleValues,
    String,
    Symbol,
    T,
    Value,
    character,
    keyword,
    make_list,
)
from .bounds import bounds
from .characters import char_of
from .defining import predicate

MOST_FEATURES = 1000

predicate(
    "input-stream-p",
    "(stream)",
    "Whether it gives input.",
    lambda x: isinstance(x, StringInputStream),
)


def read_form(text: str) -> tuple[Value, int] | None:
    """The first form of a text and where it ends; None if there is none."""
    ending = "\n;" if text[-1:].isspace() else ""  # keeps a last space that is a character
    source, base = Source("-", text + ending), _base()
    reader = Reader(source, current().module, features=_features(), data=True, base=base)
    for form in reader.forms():
        if reader.diagnostics:
            break
        return form, reader.end
    if reader.diagnostics:
        raise Problem(reader.diagnostics[0]._replace(span=None))
    return None


def _base() -> int:
    """What `*read-base*` is; E-TYPE if it is no base."""
    base: Any = VARIABLES["*READ-BASE*"].value
    if base.__class__ is not int or not 2 <= base <= 36:
        raise wrong_type("*read-base*", base, "an integer from 2 to 36")
    return int(base)


def _features() -> frozenset[Symbol]:
    """The symbols in `*features*`."""
    names, cell = set(), VARIABLES["*FEATURES*"].value
    while cell.__class__ is Cons:
        if cell.car.__class__ is Symbol:
            names.add(cell.car)
        cell = cell.cdr
        if len(names) > MOST_FEATURES:
            break
    return frozenset(names)


@builtin(
    "read-from-string",
    "(string &optional eof-error-p eof-value &key (start 0) end preserve-whitespace)",
)
def read_from_string(
    string: Any,
    eof_error_p: Any = T,
    eof_value: Any = NIL,
    *,
    start: Any = 0,
    end: Any = NIL,
    preserve_whitespace: Any = NIL,
) -> Value:
    """The first form that a string spells, and the index after it."""
    if not isinstance(string, String):
        raise wrong_type("read-from-string", string, "a string")
    text = string.text()
    first, last = bounds("read-from-string", start, end, len(text))
    found = read_form(text[first:last])
    if found is None:
        return MultipleValues(
            (_at_end("read-from-string", eof_error_p, eof_value, StringInputStream(text)), last)
        )
    after = first + found[1]
    if preserve_whitespace is NIL and after < last and text[after].isspace():
        after += 1
    return MultipleValues((found[0], after))


def _at_end(name: str, eof_error_p: Any, eof_value: Any, stream: Value) -> Value:
    if eof_error_p is NIL:
        return eof_value
    found = problem("E-READ-EOF", f"{name}: the string is at its end")
    found.stream = stream  # type: ignore[attr-defined]
    raise found


@builtin("make-string-input-stream", "(string &optional (start 0) end)")
def make_string_input_stream(string: Any, start: Any = 0, end: Any = NIL) -> Value:
    """A stream that gives the characters of a string."""
    if not isinstance(string, String):
        raise wrong_type("make-string-input-stream", string, "a string")
    text = string.text()
    first, last = bounds("make-string-input-stream", start, end, len(text))
    return StringInputStream(text[first:last])


def _stream(name: str, stream: Any) -> StringInputStream:
    if not isinstance(stream, StringInputStream):
        raise wrong_type(name, stream, "a string input stream")
    return stream


@builtin("read-char", "(stream &optional eof-error-p eof-value recursive-p)")
def read_char(
    stream: Any, eof_error_p: Any = T, eof_value: Any = NIL, recursive_p: Any = NIL
) -> Value:
    """The next character of a stream."""
    s = _stream("read-char", stream)
    if s.at >= len(s.text):
        return _at_end("read-char", eof_error_p, eof_value, s)
    s.at += 1
    return character(s.text[s.at - 1])


@builtin("unread-char", "(character stream)")
def unread_char(char: Any, stream: Any) -> Value:
    """Put back the character that was read last."""
    s = _stream("unread-char", stream)
    if s.at == 0 or s.text[s.at - 1] != char_of("unread-char", char):
        raise wrong_type("unread-char", char, "the character that was read last")
    s.at -= 1
    return NIL


@builtin("peek-char", "(peek-type stream &optional eof-error-p eof-value recursive-p)")
def peek_char(
    peek_type: Any,
    stream: Any,
    eof_error_p: Any = T,
    eof_value: Any = NIL,
    recursive_p: Any = NIL,
) -> Value:
    """The next character, left to be read; t skips blanks, a character all up to it."""
    s = _stream("peek-char", stream)
    wanted = None if peek_type in (NIL, T) else char_of("peek-char", peek_type)
    while s.at < len(s.text):
        here = s.text[s.at]
        if peek_type is NIL or here == wanted or (peek_type is T and not here.isspace()):
            return character(here)
        s.at += 1
    return _at_end("peek-char", eof_error_p, eof_value, s)


@builtin("read-line", "(stream &optional eof-error-p eof-value recursive-p)")
def read_line(
    stream: Any, eof_error_p: Any = T, eof_value: Any = NIL, recursive_p: Any = NIL
) -> Value:
    """The rest of the line, and whether the stream ended before a newline."""
    s = _stream("read-line", stream)
    if s.at >= len(s.text):
        return MultipleValues((_at_end("read-line", eof_error_p, eof_value, s), T))
    newline = s.text.find("\n", s.at)
    end = len(s.text) if newline < 0 else newline
    line, s.at = s.text[s.at : end], end + (newline >= 0)
    return MultipleValues((String(line), T if newline < 0 else NIL))


@builtin("read", "(stream &optional eof-error-p eof-value recursive-p)")
def read(stream: Any, eof_error_p: Any = T, eof_value: Any = NIL, recursive_p: Any = NIL) -> Value:
    """The next form of a stream."""
    s = _stream("read", stream)
    found = read_form(s.text[s.at :])
    if found is None:
        s.at = len(s.text)
        return _at_end("read", eof_error_p, eof_value, s)
    s.at += found[1]
    if s.at < len(s.text) and s.text[s.at].isspace():
        s.at += 1
    return found[0]


@builtin("%input-position", "(stream)")
def input_position(stream: Any) -> Value:
    """How many characters were read."""
    return _stream("with-input-from-string", stream).at


@native_macro("with-input-from-string")
def expand_with_input(whole: Value, env: Any) -> Value:
    """`(with-input-from-string (var string &key start end index) form...)`."""
    rest = whole.cdr
    if rest.__class__ is not Cons or rest.car.__class__ is not Cons:
        raise _shape()
    parts, cell = [], rest.car
    while cell.__class__ is Cons:
        parts.append(cell.car)
        cell = cell.cdr
    if len(parts) < 2 or len(parts) % 2:
        raise _shape()
    keys = dict(zip(parts[2::2], parts[3::2]))
    start = keys.get(keyword("START"), 0)
    source = _form("MAKE-STRING-INPUT-STREAM", parts[1], start, keys.get(keyword("END"), NIL))
    declared, body = _declarations(rest.cdr)
    inner = _form("PROGN", *body)
    if keyword("INDEX") in keys:
        position = _form("+", start, _form("%INPUT-POSITION", parts[0]))
        store = _form("SETF", keys[keyword("INDEX")], position)
        inner = _form("MULTIPLE-VALUE-PROG1", inner, store)
    return _form("LET", make_list([make_list([parts[0], source])]), *declared, inner)


def _form(head: str, *parts: Value) -> Value:
    return make_list([core_symbol(head), *parts])


def _declarations(body: Value) -> tuple[list[Value], list[Value]]:
    """The declarations at the head of a body, and the rest."""
    declared: list[Value] = []
    while body.__class__ is Cons and body.car.__class__ is Cons:
        if body.car.car is not core_symbol("DECLARE"):
            break
        declared.append(body.car)
        body = body.cdr
    forms = []
    while body.__class__ is Cons:
        forms.append(body.car)
        body = body.cdr
    return declared, forms


def _shape() -> Problem:
    return problem("E-FORM-SHAPE", "write it as (with-input-from-string (variable string) form...)")
