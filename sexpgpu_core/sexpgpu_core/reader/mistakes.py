"""What is wrong in a text, each with its place and, where there is one, its edit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..diagnostics import Change, Edit, Problem, Related, diagnostic, problem
from .frames import LIST, MISSING, Frame
from .missing_close import missing_close

if TYPE_CHECKING:
    from ..evaluator.values import Value
    from .reader import Reader

ESCAPE = re.compile(r"\\(.)", re.DOTALL)
MEANT = {"n": "~%", "t": "~c"}
HEAD = re.compile(r"\(\s*([^\s()]+(?:\s+[^\s()]+)?)")
QUOTED = re.compile(r"'([^'()\"\n]*)'\Z")
HABITS = {
    "t": ("#t is Scheme's", "t"),
    "f": ("#f is Scheme's", "nil"),
    "{": ("there is no set syntax", "(list ...)"),
    "[": ("there is no such vector syntax", "#(...)"),
    ";": ("#; is Scheme's", "#| ... |#"),
    "_": ("#_ is Clojure's", "#| ... |#"),
}


def head_of(reader: Reader, start: int) -> str:
    """`(defun f` of the form that starts there."""
    found = HEAD.match(reader.text, start)
    return f"({found[1]} ...)" if found else "the form"


def insert(reader: Reader, title: str, at: int, text: str, safe: bool = False) -> Edit:
    return Edit(title, (Change(reader.span(at, at), text),), safe)


def delete(reader: Reader, title: str, start: int, end: int, safe: bool = False) -> Edit:
    return Edit(title, (Change(reader.span(start, end), ""),), safe)


def extra_close(reader: Reader, at: int) -> None:
    """A `)` at top level."""
    end = at + 1
    before = reader.text[:at].rstrip()
    line = reader.source.position(at)[0]
    shown = f"it stands after the end of the form on line {reader.source.position(len(before))[0]}"
    error = problem(
        "E-READ-CLOSE",
        f"this ) closes nothing: {shown}" if before else "this ) closes nothing",
        edit=delete(reader, "delete the )", at, end),
        line=line,
    )
    reader.report(error, at, end)


def prefix_alone(reader: Reader, frame: Frame) -> None:
    """A quote, a `#+` with nothing after it."""
    reader.suppress = 0
    end = frame.start + 1
    quoted = QUOTED.search(reader.text, reader.text.rfind("\n", 0, end) + 1, end)
    if quoted is not None and reader.text[frame.start] == "'":
        edit = Edit("write a string", (Change(reader.span(quoted.start(), end), f'"{quoted[1]}"'),))
        error = problem("E-READ-SYNTAX", "a ' stands before one form and closes nothing",
                        hint=f'a string is "{quoted[1]}"', edit=edit)  # fmt: skip
        reader.report(error, quoted.start(), end)
        return
    shown = reader.text[frame.start : frame.start + 2].rstrip(" \n)")
    error = problem("E-READ-SYNTAX", f"nothing stands after {shown} that it could belong to")
    reader.report(error, frame.start, end)


def lone_comma(reader: Reader, start: int, end: int) -> None:
    if reader.text[end : end + 1].isspace():
        hint = "elements of a list are separated by spaces alone"
    else:
        hint = "write ` before the template that this belongs to, or delete the comma"
    shown = reader.text[start:end]
    error = problem(
        "E-READ-COMMA",
        f"{shown} stands outside of a backquote",
        hint=hint,
        edit=delete(reader, f"delete {shown}", start, end),
    )
    reader.report(error, start, end)


def stray_dot(reader: Reader, at: int) -> None:
    reader.report(problem("E-READ-SYNTAX", "a lone dot outside of a list"), at, at + 1)


def dots(text: str) -> Problem:
    return problem("E-READ-SYNTAX", f"{text} is no symbol", hint="a dot stands alone: (a . b)")


def open_string(reader: Reader, start: int) -> tuple[Value, int]:
    """A `"` without another: nothing after it can be read."""
    line_end = reader.text.find("\n", start)
    line_end = len(reader.text) if line_end < 0 else line_end
    line = reader.source.position(start)[0]
    error = problem(
        "E-READ-EOF",
        f"the string that opens on line {line} is never closed",
        edit=insert(reader, 'insert the closing "', line_end, '"'),
        line=line,
    )
    reader.suppress = 0
    reader.report(error, start, line_end)
    del reader.stack[1:]
    return MISSING, len(reader.text)


def open_comment(reader: Reader, start: int) -> None:
    line = reader.source.position(start)[0]
    end = len(reader.text)
    error = problem(
        "E-READ-EOF",
        f"the comment that opens on line {line} is never closed",
        edit=insert(reader, "insert the closing |#", end, " |#"),
        line=line,
    )
    reader.suppress = 0
    reader.report(error, start, start + 2)
    del reader.stack[1:]


def unfinished(reader: Reader) -> int:
    """End of file inside a form: say so, and where to go on reading (-1: nowhere)."""
    stack = reader.stack
    while len(stack) > 1 and stack[-1].kind > LIST + 2:
        prefix_alone(reader, stack.pop())
    if len(stack) == 1:
        return -1
    reader.suppress = 0
    outer = stack[1].start
    found = missing_close(reader.text, outer, [f.start for f in stack[1:] if f.kind <= LIST + 2])
    opener = found.opener
    line = reader.source.position(opener)[0]
    likely = reader.source.position(found.at)[0]
    again = found.next_form
    message = f"the ( of {head_of(reader, opener)} on line {line} is never closed"
    related: tuple[Related, ...] = ()
    if again >= 0:
        place = reader.span(again, again + 1)
        related = (Related("the next form starts here", place),)
    error = problem(
        "E-READ-EOF",
        message,
        hint=f"by the indentation, {')' * found.closes} is missing at the end of line {likely}",
        edit=insert(reader, f"insert {')' * found.closes}", found.at, ")" * found.closes),
        related=related,
        line=line,
        likely_line=likely,
    )
    if again >= 0:
        reader.forget_from(again)
    reader.report(error, opener, opener + 1)
    return again


def inner_definition(reader: Reader, column: tuple[int, int] | None) -> None:
    """A bracket in the first column although another form is open."""
    if column is None or reader.suppress:
        return
    start, outer = column
    line = reader.source.position(outer)[0]
    reader.diagnostics.append(
        diagnostic(
            "W-READ-INDENT",
            f"this form starts in the first column, but stands inside {head_of(reader, outer)} "
            f"of line {line}",
            span=reader.span(start, start + 1),
            related=(Related("the form around it", reader.span(outer, outer + 1)),),
        )
    )


def string_escapes(reader: Reader, text: str, offset: int) -> None:
    """Backslashes before letters: `\\n` is the letter n."""
    if reader.suppress:
        return
    for match in ESCAPE.finditer(text):
        if not match[1].isalnum():
            continue
        directive = MEANT.get(match[1])
        at = offset + match.start()
        hint = f'a new line is (format nil "{directive}")' if directive == "~%" else None
        reader.diagnostics.append(
            diagnostic(
                "W-STRING-ESCAPE",
                f"\\{match[1]} in a string is the letter {match[1]}",
                span=reader.span(at, at + 2),
                hint=hint or f"write {match[1]} without the backslash, or \\\\ for a backslash",
                edit=None if directive else delete(reader, "delete the backslash", at, at + 1),
            )
        )


def unknown_sharp(text: str, char: str) -> Problem:
    """`#.`, `#t`, `#S(` and what else is not read."""
    if char == ".":
        return problem("E-READ-EVAL", "#. asks for evaluation while reading")
    if text[1:2] == "<":
        return problem("E-READ-SYNTAX", f"{text} is how an object prints that cannot be read back")
    if char.isspace() or not char:
        message = "a # alone is no syntax: a comment begins with ;"
        return problem("E-READ-SYNTAX", message, hint="write ;", written="#", nearest=";")
    habit = HABITS.get(char)
    if habit:
        return problem("E-READ-SYNTAX", f"{habit[0]}; write {habit[1]}", hint=f"write {habit[1]}")
    return problem(
        "E-READ-SYNTAX",
        f"{text[:12]} is no # syntax",
        hint="#' #( #\\ #: #+ #- #| #b #o #x #36r #1=",
    )
