"""The standard's variables that builtins read, with the values they start with in every file."""

from __future__ import annotations

from .definitions import core_symbol
from .random_state import RandomState
from .values import NIL, Symbol, T, Value, keyword, make_list

STARTING: dict[str, Value] = {
    "*PRINT-CASE*": keyword("DOWNCASE"),
    "*PRINT-BASE*": 10,
    "*PRINT-RADIX*": NIL,
    "*PRINT-ESCAPE*": T,
    "*PRINT-READABLY*": NIL,
    "*PRINT-LENGTH*": NIL,
    "*PRINT-LEVEL*": NIL,
    "*PRINT-CIRCLE*": NIL,
    "*PRINT-ARRAY*": T,
    "*PRINT-GENSYM*": T,
    "*PRINT-PRETTY*": NIL,
    "*PRINT-LINES*": NIL,
    "*PRINT-MISER-WIDTH*": NIL,
    "*PRINT-RIGHT-MARGIN*": NIL,
    "*READ-BASE*": 10,
    "*READ-DEFAULT-FLOAT-FORMAT*": core_symbol("DOUBLE-FLOAT"),
    "*READ-EVAL*": NIL,
    "*READ-SUPPRESS*": NIL,
    "*PRINT-PPRINT-DISPATCH*": NIL,
    "*GENSYM-COUNTER*": 1,
    "*STANDARD-OUTPUT*": T,
    "*ERROR-OUTPUT*": T,
    "*TRACE-OUTPUT*": T,
    "*FEATURES*": make_list([keyword("SEXPGPU"), keyword("COMMON-LISP")]),
}


UNREAD = """
*break-on-signals* *compile-file-pathname* *compile-file-truename* *compile-print*
*compile-verbose* *debugger-hook* *default-pathname-defaults* *load-pathname* *load-print*
*load-truename* *load-verbose* *modules* *readtable*
"""
"""Variables that are nil and that nothing reads, because what they are about is not there."""
STARTING.update(dict.fromkeys(UNREAD.upper().split(), NIL))
STARTING.update(
    {
        **{f"*{name}*": T for name in ("STANDARD-INPUT", "DEBUG-IO", "QUERY-IO", "TERMINAL-IO")},
        "*MACROEXPAND-HOOK*": core_symbol("FUNCALL"),
        "*PACKAGE*": keyword("COMMON-LISP-USER"),
    }
)
TYPED_FORMS = ("*", "**", "***", "+", "++", "+++", "/", "//", "///", "-")
"""Variables of what was last typed and printed: nil, since a file is not typed in."""


def _declare(name: str) -> Symbol:
    symbol = core_symbol(name)
    symbol.special = True
    symbol.value = STARTING[name]
    return symbol


VARIABLES: dict[str, Symbol] = {name: _declare(name) for name in STARTING}
for _name in TYPED_FORMS:
    core_symbol(_name).value = NIL


RANDOM_STATE = core_symbol("*RANDOM-STATE*")
RANDOM_STATE.special = True


def start_variables(seed: int = 0) -> None:
    """Give every variable its starting value: a file never sees what another file set."""
    for name, value in STARTING.items():
        VARIABLES[name].value = value
    RANDOM_STATE.value = RandomState(seed)


start_variables()
