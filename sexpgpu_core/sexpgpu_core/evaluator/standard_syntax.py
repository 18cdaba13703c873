"""`with-standard-io-syntax`: the standard's values of the printer and reader variables."""

from __future__ import annotations

from typing import Any

from .definitions import core_symbol, native_macro
from .made_forms import quoted
from .standard_variables import STARTING
from .values import Cons, T, Value, keyword, make_list

_CHANGED: dict[str, Value] = {"*PRINT-CASE*": keyword("UPCASE"), "*PRINT-READABLY*": T}

core_symbol("OTHERWISE")  # a word of the standard that nothing else defines


@native_macro("with-standard-io-syntax")
def expand(whole: Value, env: Any) -> Value:
    """Run forms with printing as the standard has it: upper case, readable, nothing cut."""
    bindings = [
        make_list([core_symbol(name), quoted(_CHANGED.get(name, value))])
        for name, value in STARTING.items()
        if name.startswith(("*PRINT-", "*READ-"))
    ]
    return Cons(core_symbol("LET"), Cons(make_list(bindings), whole.cdr))
