"""What to write with a tensor where Lisp's word for lists, numbers or strings does not take one."""

from __future__ import annotations

from typing import NamedTuple


class Counterpart(NamedTuple):
    """What to say, and the word to put in place of the one written where that is all."""

    hint: str
    word: str | None = None


UNKNOWN = "its contents are not known now: "
WHERE = Counterpart(
    UNKNOWN + "choose elements with (where test x y); (tensorp x) asks if it is one"
)

_EACH = UNKNOWN + "({} ...) answers for each element"
_PARTS = (
    "a tensor is no list: (tref x i) is a part of it, (multiple-value-list (split x 2)) and "
    "(multiple-value-list (unstack x)) are lists of parts"
)
_WHOLE = (
    "a tensor is no list: functions take it whole, as (relu x); (map-over f x) goes along an axis"
)
_SUMS = (
    "a tensor is no list: (sum x), (product x), (reduce-max x :axis 0) reduce it; +, * and max "
    "add or compare whole tensors"
)
_READ = "read a tensor with (tref x i), (slice x ...) or (gather x index)"
_JOINED = "(concat x y) puts tensors one after another on axis 0"
_SEARCH = UNKNOWN + "(= x y) tells for each element, and any, sum or argmax of that for all"
_WHOLE_NUMBER = "shapes, axes and counts are ordinary integers: (dim x axis) is one"

_ROWS: tuple[tuple[str, Counterpart], ...] = (
    ("and", Counterpart(_EACH.format("logical-and"), "logical-and")),
    ("or", Counterpart(_EACH.format("logical-or"), "logical-or")),
    ("not", Counterpart(_EACH.format("logical-not"), "logical-not")),
    ("length list-length", Counterpart("(dim x axis) is the size of an axis, (shape x) is of all")),
    ("array-dimension", Counterpart("(dim x axis) is the size of an axis", "dim")),
    ("array-dimensions", Counterpart("(shape x) is the list of sizes", "shape")),
    ("array-rank", Counterpart("(rank x) is the number of axes", "rank")),
    ("array-total-size", Counterpart("(size x) is the number of elements", "size")),
    ("first second third fourth fifth rest car cdr cadr cddr last butlast nth nthcdr endp null "
     "consp listp cons", Counterpart(_PARTS)),
    ("elt svref", Counterpart("(tref x i) is the part at an index of axis 0", "tref")),
    ("aref", Counterpart(_READ, "tref")),
    ("subseq", Counterpart("(slice x :start 0 :end 2) is a part of axis 0")),
    ("reverse nreverse", Counterpart("(flip x) is in reverse order along axis 0", "flip")),
    ("append nconc", Counterpart(_JOINED, "concat")),
    ("concatenate", Counterpart(_JOINED)),
    ("mapcar mapc mapcan maplist map map-into every some notany notevery", Counterpart(_WHOLE)),
    ("reduce apply", Counterpart(_SUMS)),
    ("member find find-if position position-if count count-if remove remove-if search assoc "
     "remove-duplicates", Counterpart(_SEARCH)),
    ("random", Counterpart("(random-uniform shape), (random-normal shape) draw in a graph")),
    ("evenp", Counterpart(UNKNOWN + "(= (mod x 2) 0) answers for each element")),
    ("oddp", Counterpart(UNKNOWN + "(= (mod x 2) 1) answers for each element")),
    ("coerce float", Counterpart("(cast x :f32) is x in another dtype")),
    ("string string-upcase string-downcase string= parse-integer princ-to-string",
     Counterpart(UNKNOWN + "a number to look at is (metric name x)")),
)  # fmt: skip

COUNTERPARTS = {word: found for words, found in _ROWS for word in words.split()}


def counterpart(place: str) -> Counterpart:
    """What belongs where a tensor stood: a place is a function's name or words that say it."""
    name = place.removeprefix("an argument of ")
    if name in COUNTERPARTS:
        return COUNTERPARTS[name]
    if "index" in place:
        return COUNTERPARTS["aref"]._replace(word=None)
    if any(word in place for word in ("dotimes", "loop")):
        return Counterpart(UNKNOWN + "count over (dim x axis), or use scan")
    if place.startswith("the ") and " of " in place:
        return Counterpart(_WHOLE_NUMBER)
    return WHERE
