"""defloader: a table or stream, its clauses and stages, as frozen declarations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...diagnostics import Change, Edit, Problem, problem
from ...evaluator.definitions import native_macro
from ...evaluator.values import NIL, Cons, Symbol, Value
from ...experiment.declarations import (
    EMPTY,
    PRECISIONS,
    LoaderDeclaration,
    StageDeclaration,
)  # fmt: skip
from ...reader import element_span
from ...spans import Span
from ..context import PLACES
from ..host import host
from ..syntax import (
    Declaration,
    Slot,
    each,
    elements,
    is_literal_list,
    keyword_pairs,
    lambda_of,
    literal,
    no_more,
    option_name,
    tails,
    take_doc,
)  # fmt: skip
from .loader_values import (
    filled,
    made_dtype,
    made_filling,
    made_maps,
    made_method,
    made_ranges,
    made_windows,
    marked,
)  # fmt: skip
from .sources import made_source, read_source

CLAUSES = (
    "source", "fields", "windows", "whole", "split-by", "stage", "batch", "map", "counter",
)  # fmt: skip
STAGE_OPTIONS = (
    "split", "order", "steps", "mask", "microbatches", "precision", "source", "batch", "windows",
    "map", "split-by",
)  # fmt: skip
WINDOW_OPTIONS = ("stride", "documents", "pack", "pad", "short", "shift")
ORDERS = ("shuffled", "sequential", "streams", "random")


@native_macro("defloader")
def defloader(form: Cons, environment: Value) -> Value:
    """(defloader name [doc] clause...): one table or stream and its stages."""
    d = Declaration(form)
    symbol = d.name(form.cdr, "the name of the loader")
    doc, rest = take_doc(form.cdr.cdr)
    reader = LoaderReader(d, symbol.name.lower(), doc)
    for tail in tails(rest):
        reader.clause(tail)
    d.finish = lambda: reader.finish(symbol)
    return d.expansion()


class LoaderReader:
    """Takes the clauses apart; `finish` makes the declaration of the slots' values."""

    def __init__(self, d: Declaration, name: str, doc: str) -> None:
        self.d = d
        self.name = name
        self.doc = doc
        self.read: dict[str, Any] = {}
        self.stages: dict[str, tuple[dict[str, Any], Span | None]] = {}
        self.maps: list[tuple[str, Slot]] = []
        self.counters: dict[str, Slot] = {}
        self.places: dict[tuple[str, ...], Span] = {}
        self.within = ""  # the stage that is read

    def clause(self, tail: Cons) -> None:
        """One clause, `(batch 12)`."""
        d, form = self.d, tail.car
        if form.__class__ is not Cons or form.car.__class__ is not Symbol:
            raise d.refuse("a clause is a list, as (batch 12)", tail)
        word = form.car.name.lower()
        if word not in CLAUSES:
            raise _unknown_clause(word, form)
        if word in self.read and word not in ("stage", "map", "counter"):
            raise problem("E-TWICE", f"{self.name} has two ({word} ...)").locate(form.span)
        d.option = word
        self._place(form.span, word)
        whole, d.span = d.span, form.span or d.span  # what is wrong in a clause points at it
        getattr(self, "_" + word.replace("-", "_"))(form)
        d.option, d.span = "", whole

    def _place(self, span: Span | None, *clause: str) -> None:
        if span is not None:
            key = (self.within, *clause)
            self.places[key] = span

    def _source(self, form: Cons) -> None:
        self.read["source"] = read_source(self.d, _one(self.d, form))

    def _fields(self, form: Cons) -> None:
        found: dict[str, Any] = {}
        for tail in tails(form.cdr):
            field = self._field(tail)
            if field[0] in found:
                told = f"{self.name} has two fields {field[0]}"
                raise problem("E-TWICE", told, name=field[0]).locate(element_span(tail))
            found[field[0]] = field
            self._place(element_span(tail), "fields", field[0])
        if not found:
            raise self.d.refuse("(fields ...) has no field")
        self.read["fields"] = list(found.values())

    def _field(self, tail: Cons) -> Any:
        """(NAME COLUMN [DTYPE] [:missing FORM] [:hash FORM])"""
        d = self.d
        parts = literal(d, tail, "a field")
        if len(parts) < 2:
            raise d.refuse("a field is (name column [dtype])", tail, hint="(label 0 :i32)")
        name, column, *rest = parts
        if is_literal_list(column.car):
            place: Any = [d.slot(t, "a column") for t in literal(d, column, "columns")]
        else:
            place = d.slot(column, "a column")
        dtype = None
        if (
            rest
            and rest[0].car.__class__ is Symbol
            and rest[0].car.name.lower() not in ("missing", "hash")
        ):
            dtype = d.slot(rest.pop(0), "a dtype")
        options = keyword_pairs(d, rest[0] if rest else NIL, ("missing", "hash"), "a field")
        slots = {k: d.slot(t, f":{k}") for k, t in options.items()}
        called = d.name(name, "a field").name.lower()
        self._place(element_span(column), "fields", called, "column")
        return called, place, dtype, slots

    def _windows(self, form: Cons) -> None:
        self.read["windows"] = self._window_slots(form.cdr)

    def _window_slots(self, rest: Value) -> dict[str, Slot]:
        d = self.d
        if rest.__class__ is not Cons:
            raise d.refuse("windows has a size")
        slots = {"size": d.slot(rest, "the size of windows")}
        options = keyword_pairs(d, self._least(rest.cdr, slots), WINDOW_OPTIONS, "windows")
        slots.update({k: d.slot(t, f":{k} of windows") for k, t in options.items()})
        for key, slot in slots.items():
            self._place(slot.span, "windows", key)
        return slots

    def _least(self, rest: Value, slots: dict[str, Slot]) -> Value:
        """Take `:short :keep-if FORM`, which has a form more than other options, out of a list."""
        parts = tails(rest)
        for at, tail in enumerate(parts[:-2]):
            if _is_word(tail.car, "short") and _is_word(parts[at + 1].car, "keep-if"):
                slots["keep-if"] = self.d.slot(parts[at + 2], ":keep-if of windows")
                return _without(parts, at)
        return rest

    def _whole(self, form: Cons) -> None:
        no_more(self.d, form.cdr, "(whole)")
        self.read["whole"] = True

    def _split_by(self, form: Cons) -> None:
        self.read["split-by"] = self._method(form.cdr)

    def _method(self, rest: Value) -> Any:
        d = self.d
        if rest.__class__ is not Cons:
            raise d.refuse("split-by has a method", hint=":position, :hash, (:stratify label)")
        if is_literal_list(rest.car):
            head, field = elements(d, rest, "a method, (:stratify field),", 2)
            no_more(d, rest.cdr, "a method")
            self._place(element_span(field), "split-by")
            word = option_name(d, head, ("stratify", "group"), "split-by")
            return word, d.name(field, "a field").name.lower()
        word = option_name(d, rest, ("position", "hash"), "split-by")
        known = ("seed",) if word == "hash" else ()
        options = keyword_pairs(d, rest.cdr, known, f"split-by :{word}")
        return word, d.slot(options["seed"], ":seed") if "seed" in options else None

    def _batch(self, form: Cons) -> None:
        self.read["batch"] = self.d.slot(_one(self.d, form), "batch")

    def _map(self, form: Cons) -> None:
        self.maps.append(self._one_map(form.cdr))

    def _one_map(self, rest: Value) -> tuple[str, Slot]:
        d = self.d
        if len(tails(rest)) != 2:
            raise d.refuse("map is a field and a function", hint="(map image (lambda (x) ...))")
        name = d.name(rest, "a field").name.lower()
        self._place(element_span(rest), "map", name)
        return name, d.slot(rest.cdr, "the function of map")

    def _counter(self, form: Cons) -> None:
        d, parts = self.d, tails(form.cdr)
        if len(parts) != 2 or not getattr(parts[0].car, "keyword", False):
            raise d.refuse("counter is a keyword and a form", hint="(counter :tokens form)")
        made = lambda_of(parts[1].car)
        span = element_span(parts[1])
        name = parts[0].car.name.lower()
        if name in PLACES or name in (*self.counters, EMPTY):
            what = "a key of ctx" if name in PLACES else "a counter already"
            raise problem("E-TWICE", f"counter :{name}: :{name} is {what}", name=name).locate(
                element_span(parts[0])
            )
        self.counters[name] = d.made_slot(made, span, "a counter")
        self._place(span, "counter", name)

    def _stage(self, form: Cons) -> None:
        d = self.d
        if form.cdr.__class__ is not Cons or not getattr(form.cdr.car, "keyword", False):
            raise d.refuse("a stage has a keyword as its name")
        name = form.cdr.car.name.lower()
        if name in self.stages:
            raise problem("E-TWICE", f"{self.name} has two stages :{name}").locate(form.span)
        options = keyword_pairs(d, form.cdr.cdr, STAGE_OPTIONS, "stage")
        self.within = name
        self.stages[name] = {k: self._stage_option(k, t) for k, t in each(d, options)}, form.span
        self.within = ""

    def _stage_option(self, key: str, tail: Cons) -> Any:
        d = self.d
        self._place(element_span(tail), key)
        if key == "split":
            return self._ranges(tail)
        if key == "source":
            return read_source(d, tail)
        if key == "windows":
            if is_literal_list(tail.car):
                parts = literal(d, tail, ":windows")
                return self._window_slots(parts[0] if parts else NIL)
            return {"size": d.slot(tail, "the size of windows")}
        if key == "map":
            rows = literal(d, tail, ":map")
            if not rows:
                raise d.refuse(":map has no field", tail)
            return [self._one_map(elements(d, t, "a pair of :map", 2)[0]) for t in rows]
        if key == "split-by":
            alone = _alone(tail)  # what follows are options of the stage
            listed = literal(d, tail, ":split-by") if is_literal_list(tail.car) else [alone]
            of_field = any(_is_word(t.car, w) for t in listed[:1] for w in ("stratify", "group"))
            return self._method(alone if of_field else listed[0] if listed else NIL)
        if key == "mask":
            name, value = elements(d, tail, ":mask (field value)", 2)
            self._place(element_span(name), "mask")
            return d.name(name, "a field").name.lower(), d.slot(value, "the value of :mask")
        return d.slot(tail, f":{key} of a stage")

    def _ranges(self, tail: Cons) -> Any:
        """(0 0.9), ((0 0.2) (0.4 1)), or a form that gives one of these."""
        d = self.d
        if not is_literal_list(tail.car):
            return d.slot(tail, ":split")
        parts = literal(d, tail, ":split")
        nested = [p for p in parts if p.car.__class__ is Cons and _is_pair(p.car)]
        if len(nested) == len(parts) and parts:
            pairs = [literal(d, p, "a range of :split") for p in parts]
        else:
            pairs = [parts]
        if any(len(p) != 2 for p in pairs):
            raise d.refuse("a range of :split is two fractions", tail, hint=":split (0 0.9)")
        return [tuple(d.slot(t, "a bound of :split") for t in p) for p in pairs]

    # Values ------------------------------------------------------------------------------------
    def finish(self, symbol: Symbol) -> Value:
        """The declaration, kept by the collector."""
        collector = host().collector
        collector.claim("loader", self.name, self.d.span)
        if "source" not in self.read:
            raise problem(
                "E-MISSING",
                f"loader {self.name} has no source",
                hint='(source (text-files "data/*.txt"))',
            ).locate(self.d.span)
        if self.read.get("whole"):
            self._check_whole()
        stages = {name: self._made_stage(name, o, s) for name, (o, s) in self.stages.items()}
        fields = tuple(
            (name, filled(place), made_dtype(dtype), made_filling(options))
            for name, place, dtype, options in self.read.get("fields", ())
        )
        batch = self.read.get("batch")
        collector.loaders[self.name] = LoaderDeclaration(
            self.name,
            self.doc,
            made_source(self.read["source"]),
            fields,
            made_windows(self.read["windows"]) if "windows" in self.read else None,
            bool(self.read.get("whole")),
            made_method(self.read.get("split-by")),
            stages,
            batch.integer(1) if batch is not None else None,
            made_maps(self.maps),
            {name: slot.function() for name, slot in self.counters.items()},
            self.d.span,
            self.places,
        )
        collector.loader_symbols[self.name] = symbol
        return symbol

    def _check_whole(self) -> None:
        """E-OPTION-VALUE of what would cut data that is one thing (R24)."""
        said = [f"({k} ...)" for k in ("windows", "split-by", "batch") if k in self.read]
        cuts = ("split", "windows", "batch", "split-by", "order", "microbatches")
        said += [f":{k} of :{n}" for n, (o, _) in self.stages.items() for k in cuts if k in o]
        if said:
            raise problem(
                "E-OPTION-VALUE",
                f"loader {self.name} is (whole), one thing that {said[0]} cannot cut",
                hint=f"leave {said[0]} out; (ctx :stage) or :mask tells the stages apart",
                option=said[0],
            ).locate(self.d.span)

    def _made_stage(
        self, name: str, options: Mapping[str, Any], span: Span | None
    ) -> StageDeclaration:
        def number(key: str) -> int | None:
            return options[key].integer(1) if key in options else None

        mask = options.get("mask")
        if "precision" in options and options["precision"].span is not None:
            self.places[name, "precision"] = options["precision"].span
        return StageDeclaration(
            name,
            made_ranges(options.get("split")),
            options["order"].choice(ORDERS) if "order" in options else None,
            number("batch"),
            made_windows(options["windows"]) if "windows" in options else None,
            made_source(options["source"]) if "source" in options else None,
            number("steps"),
            number("microbatches"),
            options["precision"].choice(PRECISIONS) if "precision" in options else None,
            (mask[0], marked(mask[1])) if mask else None,
            made_maps(options.get("map", ())),
            made_method(options.get("split-by")),
            span,
        )


def _is_word(form: Value, name: str) -> bool:
    return form.__class__ is Symbol and form.keyword and form.name.lower() == name


def _without(parts: list[Cons], at: int) -> Value:
    """A list without the three elements from `at` on; the rest keep their places."""
    kept: Value = parts[at + 2].cdr
    for tail in reversed(parts[:at]):
        kept = _alone(tail, kept)
    return kept


def _alone(tail: Cons, rest: Value = NIL) -> Cons:
    """The element of a tail before another rest, at its place."""
    copy = Cons(tail.car, rest)
    copy.span = tail.span
    return copy


def _is_pair(form: Cons) -> bool:
    """Whether a list inside :split is a range, and no call: (0 0.2) against (- 1 fold)."""
    return form.car.__class__ is not Symbol


def _one(d: Declaration, form: Cons) -> Cons:
    if form.cdr.__class__ is not Cons or form.cdr.cdr is not NIL:
        raise d.refuse(
            f"({form.car.name.lower()} ...) takes one thing",
            form.cdr.cdr if form.cdr.__class__ is Cons else None,
        )
    return form.cdr  # type: ignore[no-any-return]


def _unknown_clause(word: str, form: Cons) -> Problem:
    from ..option_habits import meant

    near, elsewhere = meant(word, CLAUSES)
    hint = f"did you mean ({near} ...)?" if near else elsewhere
    hint = hint or "clauses: " + " ".join(CLAUSES)
    span = element_span(form)
    edit = Edit(f"write {near}", (Change(span, near),)) if near and span is not None else None
    return problem(
        "E-OPTION", f"a loader has no clause {word}", hint=hint, edit=edit, option=word
    ).locate(span)
