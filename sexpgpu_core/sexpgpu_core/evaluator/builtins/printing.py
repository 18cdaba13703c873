"""Printing: to strings, to streams, and `format`."""

from __future__ import annotations

from typing import Any

from ...diagnostics import Problem
from ..definitions import builtin
from ..faults import wrong_type
from ..printer import Settings, current_settings, print_text
from ..streams import StringInputStream, StringOutputStream, pieces_of, write_text
from ..values import NIL, String, Symbol, T, Value
from .bounds import bounds
from .characters import char_of
from .defining import define, predicate

predicate(
    "streamp",
    "(object)",
    "Whether it is a stream.",
    lambda x: isinstance(x, (StringInputStream, StringOutputStream)),
)
predicate(
    "output-stream-p",
    "(stream)",
    "Whether it takes output.",
    lambda x: isinstance(x, StringOutputStream),
)


@builtin("make-string-output-stream", "(&key element-type)")
def make_string_output_stream(*, element_type: Any = None) -> Value:
    """A stream that collects what is written to it."""
    return StringOutputStream()


@builtin("get-output-stream-string", "(stream)")
def get_output_stream_string(stream: Any) -> Value:
    """What was written to a stream since the last call."""
    if not isinstance(stream, StringOutputStream):
        raise wrong_type("get-output-stream-string", stream, "a string output stream")
    return String(stream.text())


def _shown(value: Any, escape: bool) -> str:
    return print_text(value, current_settings()._replace(escape=escape))


@builtin("prin1-to-string", "(object)")
def prin1_to_string(value: Any) -> Value:
    """The text that reads back."""
    return String(_shown(value, True))


@builtin("princ-to-string", "(object)")
def princ_to_string(value: Any) -> Value:
    """The text for people."""
    return String(_shown(value, False))


@builtin("prin1", "(object &optional stream)")
def prin1(value: Any, stream: Any = NIL) -> Value:
    """Write the text that reads back; the object."""
    write_text("prin1", stream, _shown(value, True))
    return value


@builtin("princ", "(object &optional stream)")
def princ(value: Any, stream: Any = NIL) -> Value:
    """Write the text for people; the object."""
    write_text("princ", stream, _shown(value, False))
    return value


@builtin("print", "(object &optional stream)")
def print_(value: Any, stream: Any = NIL) -> Value:
    """Write a new line, the text that reads back and a space; the object."""
    write_text("print", stream, "\n" + _shown(value, True) + " ")
    return value


@builtin("pprint", "(object &optional stream)")
def pprint(value: Any, stream: Any = NIL) -> Value:
    """Write a new line and the text that reads back."""
    from ..values import MultipleValues

    write_text("pprint", stream, "\n" + _shown(value, True))
    return MultipleValues()


_KEYS = (
    "&key array base case circle escape gensym length level lines miser-width "
    "pprint-dispatch pretty radix readably right-margin"
)
_FLAGS = ("array", "circle", "escape", "gensym", "radix")


def _settings(name: str, keys: dict[str, Any]) -> Settings:
    """The printer variables, changed by the keywords of write."""
    use = current_settings()
    given = {k: v for k, v in keys.items() if v is not None}
    changed: dict[str, Any] = {flag: given[flag] is not NIL for flag in _FLAGS if flag in given}
    for cut in ("length", "level"):
        if cut in given:
            changed[cut] = given[cut] if given[cut].__class__ is int else None
    use = use._replace(**changed)
    if given.get("readably", NIL) is not NIL:
        use = use._replace(escape=True, array=True, length=None, level=None)
    if "base" in given:
        if given["base"].__class__ is not int or not 2 <= given["base"] <= 36:
            raise wrong_type(name, given["base"], "a base from 2 to 36")
        use = use._replace(base=given["base"])
    if "case" in given:
        use = use._replace(case=_case(name, given["case"]))
    return use


def _case(name: str, value: Any) -> str:
    if value.__class__ is not Symbol or value.name not in ("UPCASE", "DOWNCASE", "CAPITALIZE"):
        raise wrong_type(name, value, ":upcase, :downcase or :capitalize")
    return str(value.name)


@builtin("write-to-string", f"(object {_KEYS})")
def write_to_string(value: Any, **keys: Any) -> Value:
    """The text by the printer variables, which the keywords override."""
    return String(print_text(value, _settings("write-to-string", keys)))


@builtin("write", f"(object {_KEYS} stream)")
def write(value: Any, *, stream: Any = NIL, **keys: Any) -> Value:
    """Write by the printer variables, which the keywords override; the object."""
    write_text("write", stream, print_text(value, _settings("write", keys)))
    return value


@builtin("terpri", "(&optional stream)")
def terpri(stream: Any = NIL) -> Value:
    """Write a newline."""
    write_text("terpri", stream, "\n")
    return NIL


@builtin("fresh-line", "(&optional stream)")
def fresh_line(stream: Any = NIL) -> Value:
    """Write a newline unless at the start of a line; whether it did."""
    if pieces_of("fresh-line", stream).column == 0:
        return NIL
    write_text("fresh-line", stream, "\n")
    return T


def _write_part(name: str, ending: str) -> Any:
    def call(text: Any, stream: Any = NIL, *, start: Any = 0, end: Any = NIL) -> Value:
        if not isinstance(text, String):
            raise wrong_type(name, text, "a string")
        whole = text.text()
        first, last = bounds(name, start, end, len(whole))
        write_text(name, stream, whole[first:last] + ending)
        return text

    return call


define(
    "write-string",
    "(string &optional stream &key (start 0) end)",
    "Write the characters of a string.",
    _write_part("write-string", ""),
)
define(
    "write-line",
    "(string &optional stream &key (start 0) end)",
    "Write the characters of a string and a newline.",
    _write_part("write-line", "\n"),
)


@builtin("write-char", "(character &optional stream)")
def write_char(char: Any, stream: Any = NIL) -> Value:
    """Write a character."""
    write_text("write-char", stream, char_of("write-char", char))
    return char


for _name in ("finish-output", "force-output", "clear-output"):
    define(_name, "(&optional stream)", "Nothing: output is never held back.", lambda s=NIL: NIL)


@builtin("format", "(destination control &rest arguments)")
def format_(destination: Any, control: Any, *arguments: Any) -> Value:
    """Text by a control string: nil gives a string, t and streams write it."""
    from ..format_flow import format_text  # six modules, and few files format

    if destination is NIL:
        return String(format_text(control, list(arguments)))
    if isinstance(destination, String) and destination.fill is None:
        hint = "say where the text goes: (format nil ...) gives a string, (format t ...) prints"
        error = wrong_type("format", destination, "a stream, t or nil")
        if isinstance(error, Problem):
            error.diagnostic = error.diagnostic._replace(hint=hint)
        raise error
    target = pieces_of("format", NIL if destination is T else destination)
    target.append(format_text(control, list(arguments), target.column))
    return NIL
