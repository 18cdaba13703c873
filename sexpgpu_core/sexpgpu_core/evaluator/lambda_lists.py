"""Lambda lists as data: of functions, of macros and destructuring (nested, dotted, &whole
&body).
"""

from __future__ import annotations

from typing import Any

from ..diagnostics import Change, Edit, nearest, problem
from ..reader import element_span, span_of
from ..records import NamedTuple
from ..spans import Span
from .values import NIL, Cons, Symbol, Value, keyword

MARKERS = ("&OPTIONAL", "&REST", "&BODY", "&KEY", "&ALLOW-OTHER-KEYS", "&AUX", "&WHOLE",
           "&ENVIRONMENT")  # fmt: skip
ORDER = {"&OPTIONAL": 1, "&REST": 2, "&BODY": 2, "&KEY": 3, "&ALLOW-OTHER-KEYS": 4, "&AUX": 5}


SHOWN = "as in (x &optional (y 1) &rest more), (x &key (y 1) (z 2 z-given))"


class Parameter(NamedTuple):
    """An optional, keyword or aux parameter. `pattern`: a symbol or, nested, a LambdaList."""

    pattern: Any
    default: Value
    at: Value  # cons that holds the default
    supplied: Symbol | None = None
    key: Symbol | None = None


class LambdaList(NamedTuple):
    """Patterns are symbols or, in macros, nested LambdaLists."""

    form: Value
    required: list[Any]
    optional: list[Parameter]
    rest: Any
    keys: list[Parameter] | None
    other_keys: bool
    aux: list[Parameter]
    whole: Any
    environment: Symbol | None

    @property
    def plain(self) -> bool:
        """Only required symbols."""
        return not (self.optional or self.rest or self.keys is not None or self.aux)

    @property
    def least(self) -> int:
        return len(self.required)

    @property
    def most(self) -> int | None:
        if self.rest is not None or self.keys is not None:
            return None
        return len(self.required) + len(self.optional)


class _Parser:
    def __init__(self, form: Value, nested: bool) -> None:
        self.form = form
        self.nested = nested
        self.span: Span | None = span_of(form)
        self.required: list[Any] = []
        self.optional: list[Parameter] = []
        self.rest: Any = None
        self.keys: list[Parameter] | None = None
        self.other_keys = False
        self.aux: list[Parameter] = []
        self.whole: Any = None
        self.environment: Symbol | None = None
        self.mode = ""

    def wrong(self, why: str, hint: str | None = None) -> Exception:
        return problem("E-FORM-SHAPE", f"lambda list: {why}", hint=hint or SHOWN, span=self.span)

    def parse(self) -> LambdaList:
        rest = self.form
        while rest.__class__ is Cons:
            item = rest.car
            if item.__class__ is Symbol and item.name[:1] == "&" and len(item.name) > 1:
                rest = self._marker(item.name, rest)
            else:
                self._item(item, rest)
                rest = rest.cdr
        if rest is not NIL:
            self._dotted(rest)
        return LambdaList(
            self.form,
            self.required,
            self.optional,
            self.rest,
            self.keys,
            self.other_keys,
            self.aux,
            self.whole,
            self.environment,
        )

    def _dotted(self, rest: Value) -> None:
        if not self.nested or rest.__class__ is not Symbol or self.rest is not None:
            raise self.wrong("it is not a proper list")
        self.rest = rest

    def _marker(self, name: str, rest: Cons) -> Value:
        if name not in MARKERS or (not self.nested and name in ("&WHOLE", "&ENVIRONMENT", "&BODY")):
            near = nearest(name, MARKERS)
            raise self.wrong(
                f"{name.lower()} means nothing here",
                f"did you mean {near.lower()}?" if near else None,
            )
        if name in ("&REST", "&BODY", "&WHOLE", "&ENVIRONMENT"):
            return self._named(name, rest.cdr)
        if ORDER[name] <= ORDER.get(self.mode, 0):
            raise self.wrong(f"{name.lower()} stands after {self.mode.lower()}")
        self.mode = name
        if name == "&KEY":
            self.keys = []
        if name == "&ALLOW-OTHER-KEYS":
            if self.keys is None:
                raise self.wrong("&allow-other-keys stands without &key")
            self.other_keys = True
        return rest.cdr

    def _named(self, name: str, rest: Value) -> Value:
        if rest.__class__ is not Cons:
            raise self.wrong(f"{name.lower()} has no variable after it")
        pattern = self._pattern(rest.car)
        if name == "&WHOLE":
            self.whole = pattern
        elif name == "&ENVIRONMENT":
            self.environment = rest.car
        elif self.rest is not None or ORDER[name] <= ORDER.get(self.mode, 0):
            raise self._late(name, rest)
        else:
            self.rest, self.mode = pattern, name
        return rest.cdr

    def _late(self, name: str, rest: Cons) -> Exception:
        """&rest behind &key, moved before it; what it was meant to take is let in."""
        if name != "&REST" or self.rest is not None or self.keys is None:
            return self.wrong(f"{name.lower()} is out of place")
        before, key = self.form, None
        while before.cdr.cdr is not rest:
            key = before if getattr(before.car, "name", "") == "&KEY" else key
            before = before.cdr
        key = before if getattr(before.car, "name", "") == "&KEY" else key
        front, last, end = element_span(key), element_span(before), element_span(rest)
        edit = None
        if front.__class__ is last.__class__ is end.__class__ is Span:
            cut = last._replace(start=last.end, end=end.end)
            put = Change(front._replace(end=front.start), f"&rest {end.text} ")
            said = getattr(getattr(rest.cdr, "car", None), "name", "") == "&ALLOW-OTHER-KEYS"
            others = Change(cut, "" if said else " &allow-other-keys")
            edit = Edit(f"put &rest {end.text} before &key", (put, others))
        return problem(
            "E-FORM-SHAPE",
            "lambda list: &rest stands after &key",
            hint="&rest comes first, of all keywords; &allow-other-keys lets in unnamed ones",
            span=self.span,
            edit=edit,
        )

    def _pattern(self, item: Value) -> Any:
        if item.__class__ is Symbol and item is not NIL:
            if item.constant:
                raise self.wrong(f"{item!r} is a constant, no variable")
            return item
        if self.nested and (item.__class__ is Cons or item is NIL):
            return parse_lambda_list(item, nested=True)
        raise self.wrong("a parameter is a symbol", hint="as (a b &optional (c 1) &key d)")

    def _item(self, item: Value, at: Cons) -> None:
        if self.mode == "":
            self.required.append(self._pattern(item))
        elif self.mode == "&OPTIONAL":
            self.optional.append(self._parameter(item, at, False))
        elif self.mode == "&KEY" and self.keys is not None:
            self.keys.append(self._parameter(item, at, True))
        elif self.mode == "&AUX":
            self.aux.append(self._parameter(item, at, False))
        else:
            raise self.wrong(
                f"nothing may follow the variable of {self.mode.lower()} but &key or &aux"
            )

    def _parameter(self, item: Value, at: Cons, keyed: bool) -> Parameter:
        if item.__class__ is not Cons:
            pattern = self._pattern(item)
            return Parameter(pattern, NIL, at, None, keyword(item.name) if keyed else None)
        parts = _items(item)
        if parts is None or len(parts) > 3:
            raise self.wrong("a parameter with a default is (name default supplied-p)")
        name, key = parts[0], None
        if keyed and name.__class__ is Cons:
            pair = _items(name)
            if pair is None or len(pair) != 2 or pair[0].__class__ is not Symbol:
                raise self.wrong(
                    "a keyword parameter is name, (name default) or ((:key name) default)"
                )
            key, name = pair
        elif keyed and name.__class__ is Symbol:
            key = keyword(name.name)
        default = parts[1] if len(parts) > 1 else NIL
        supplied = self._supplied(parts[2]) if len(parts) > 2 else None
        holder = item.cdr if len(parts) > 1 else item
        return Parameter(self._pattern(name), default, holder, supplied, key)

    def _supplied(self, name: Value) -> Symbol:
        if name.__class__ is not Symbol or name is NIL or name.constant:
            raise self.wrong("a supplied-p parameter is a symbol")
        found: Symbol = name
        return found


def _items(form: Value) -> list[Value] | None:
    items = []
    while form.__class__ is Cons:
        items.append(form.car)
        form = form.cdr
    return items if form is NIL else None


def parse_lambda_list(form: Value, nested: bool = False) -> LambdaList:
    """The parts of a lambda list; `nested`: as macros and destructuring-bind have it."""
    if form.__class__ is not Cons and form is not NIL:
        if nested and form.__class__ is Symbol:
            return LambdaList(form, [], [], form, None, False, [], None, None)
        raise problem("E-FORM-SHAPE", "a lambda list is a list of parameters")
    return _Parser(form, nested).parse()
