"""Searching lists: `member assoc rassoc`, property lists, trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..definitions import builtin
from ..equality import eq
from ..faults import wrong_type
from ..spending import FIRST_LOOK, look, spend
from ..values import NIL, Cons, MultipleValues, T, Value
from .calling import element_test, key_of, predicate_test, relation_of
from .defining import define
from .listing import conses, proper

KEYS = "&key key test test-not"


def _find_member(name: str, items: Any, matches: Callable[[Any], bool]) -> Value:
    for cell in conses(name, items):
        if matches(cell.car):
            return cell
    return NIL


def _find_pair(name: str, alist: Any, part: str, matches: Callable[[Any], bool]) -> Value:
    for cell in conses(name, alist):
        pair = cell.car
        if pair is NIL:
            continue
        if pair.__class__ is not Cons:
            raise wrong_type(name, pair, "a pair")
        if matches(getattr(pair, part)):
            return pair
    return NIL


@builtin("member", f"(item list {KEYS})")
def member(
    item: Any, items: Any, *, key: Any = None, test: Any = None, test_not: Any = None
) -> Value:
    """The tail of the list that begins with the item."""
    return _find_member("member", items, element_test("member", item, test, test_not, key))


@builtin("assoc", f"(item alist {KEYS})")
def assoc(
    item: Any, alist: Any, *, key: Any = None, test: Any = None, test_not: Any = None
) -> Value:
    """The first pair whose car is the item."""
    return _find_pair("assoc", alist, "car", element_test("assoc", item, test, test_not, key))


@builtin("rassoc", f"(item alist {KEYS})")
def rassoc(
    item: Any, alist: Any, *, key: Any = None, test: Any = None, test_not: Any = None
) -> Value:
    """The first pair whose cdr is the item."""
    return _find_pair("rassoc", alist, "cdr", element_test("rassoc", item, test, test_not, key))


def _by_predicate(name: str, wanted: bool) -> Callable[..., Value]:
    def find(predicate: Any, items: Any, *, key: Any = None) -> Value:
        matches = predicate_test(predicate, key, wanted)
        if name.startswith("member"):
            return _find_member(name, items, matches)
        return _find_pair(name, items, "car" if name.startswith("assoc") else "cdr", matches)

    return find


for _name in ("member", "assoc", "rassoc"):
    define(
        f"{_name}-if",
        "(predicate list &key key)",
        f"As {_name}, where the predicate holds.",
        _by_predicate(f"{_name}-if", True),
    )
    define(
        f"{_name}-if-not",
        "(predicate list &key key)",
        f"As {_name}, where the predicate fails.",
        _by_predicate(f"{_name}-if-not", False),
    )


@builtin("acons", "(key datum alist)")
def acons(key: Any, datum: Any, alist: Any) -> Value:
    """The alist with a pair before it."""
    return Cons(Cons(key, datum), alist)


@builtin("pairlis", "(keys data &optional alist)")
def pairlis(keys: Any, data: Any, alist: Any = NIL) -> Value:
    """Pairs of keys and data before an alist."""
    from ..faults import bad_argument

    left, right = proper("pairlis", keys), proper("pairlis", data)
    if len(left) != len(right):
        raise bad_argument("pairlis", f"{len(left)} keys but {len(right)} data")
    for key, datum in zip(reversed(left), reversed(right)):
        alist = acons(key, datum, alist)
    return alist


def _plist_cell(name: str, plist: Any, indicator: Any) -> Value:
    """The cons of an indicator in a plist, nil if there is none."""
    for at, cell in enumerate(conses(name, plist)):
        if at % 2:
            continue
        if cell.cdr.__class__ is not Cons:
            raise wrong_type(name, plist, "a property list")
        if eq(cell.car, indicator):
            return cell
    return NIL


@builtin("getf", "(plist indicator &optional default)")
def getf(plist: Any, indicator: Any, default: Any = NIL) -> Value:
    """The value after an indicator."""
    cell = _plist_cell("getf", plist, indicator)
    return default if cell is NIL else cell.cdr.car


@builtin("%putf", "(plist indicator value)")
def putf(plist: Any, indicator: Any, value: Any) -> Value:
    """The plist with the value set: what (setf getf) stores back."""
    cell = _plist_cell("setf getf", plist, indicator)
    if cell is NIL:
        return Cons(indicator, Cons(value, plist))
    cell.cdr.car = value
    return plist


@builtin("%remf", "(plist indicator)")
def removef(plist: Any, indicator: Any) -> Value:
    """The plist without an indicator, and whether it was there: what remf stores back."""
    cell = _plist_cell("remf", plist, indicator)
    if cell is NIL:
        return MultipleValues((plist, NIL))
    if cell is plist:
        return MultipleValues((plist.cdr.cdr, T))
    before = plist
    while before.cdr.cdr is not cell:
        before = before.cdr.cdr
    before.cdr.cdr = cell.cdr.cdr
    return MultipleValues((plist, T))


@builtin("get-properties", "(plist indicators)")
def get_properties(plist: Any, indicators: Any) -> Value:
    """The first indicator of the list that is there, its value, and the plist from it."""
    wanted = proper("get-properties", indicators)
    for at, cell in enumerate(conses("get-properties", plist)):
        if at % 2:
            continue
        if cell.cdr.__class__ is not Cons:
            raise wrong_type("get-properties", plist, "a property list")
        if any(eq(cell.car, w) for w in wanted):
            return MultipleValues((cell.car, cell.cdr.car, cell))
    return MultipleValues((NIL, NIL, NIL))


def rebuild(tree: Any, replace: Callable[[Any], Any]) -> Value:
    """A tree with parts replaced: `replace` gives the new part, or None to look into it.

    What does not change is shared. Explicit stack: any depth.
    """
    done: list[Value] = []
    todo: list[tuple[str, Any]] = [("visit", tree)]
    visited, asks = 0, FIRST_LOOK
    while todo:
        what, node = todo.pop()
        visited += 1
        if visited > asks:
            asks = look("a substitution", visited)
        if what == "join":
            right, left = done.pop(), done.pop()
            same = left is node.car and right is node.cdr
            done.append(node if same else Cons(left, right))
            continue
        new = replace(node)
        if new is not None or node.__class__ is not Cons:
            done.append(node if new is None else new)
        else:
            todo += [("join", node), ("visit", node.cdr), ("visit", node.car)]
    return done[0]


@builtin("copy-tree", "(tree)")
def copy_tree(tree: Any) -> Value:
    """Fresh conses throughout."""
    if tree.__class__ is not Cons:
        return tree
    top = Cons(tree.car, tree.cdr)
    stack = [top]
    count, asks = 0, FIRST_LOOK
    while stack:
        cell = stack.pop()
        count += 1
        if count > asks:
            asks = look("copy-tree", count)
        if cell.car.__class__ is Cons:
            cell.car = Cons(cell.car.car, cell.car.cdr)
            stack.append(cell.car)
        if cell.cdr.__class__ is Cons:
            cell.cdr = Cons(cell.cdr.car, cell.cdr.cdr)
            stack.append(cell.cdr)
    spend("copy-tree", count)
    return top


def _substitution(new: Any, matches: Callable[[Any], bool], tree: Any) -> Value:
    return rebuild(tree, lambda node: new if matches(node) else None)


def _subst(name: str) -> Callable[..., Value]:
    def call(
        new: Any, old: Any, tree: Any, *, key: Any = None, test: Any = None, test_not: Any = None
    ) -> Value:
        return _substitution(new, element_test(name, old, test, test_not, key), tree)

    return call


def _subst_if(wanted: bool) -> Callable[..., Value]:
    def call(new: Any, predicate: Any, tree: Any, *, key: Any = None) -> Value:
        return _substitution(new, predicate_test(predicate, key, wanted), tree)

    return call


def _sublis(name: str) -> Callable[..., Value]:
    def call(
        alist: Any, tree: Any, *, key: Any = None, test: Any = None, test_not: Any = None
    ) -> Value:
        holds, keyed = relation_of(name, test, test_not), key_of(key)
        pairs = [p for p in proper(name, alist) if p is not NIL]
        for pair in pairs:
            if pair.__class__ is not Cons:
                raise wrong_type(name, pair, "a pair")

        def replacement(node: Any) -> Any:
            spend(name, len(pairs))
            item = keyed(node) if keyed else node
            for pair in pairs:
                if holds(item, pair.car):
                    return pair.cdr
            return None

        return rebuild(tree, replacement)

    return call


for _prefix in ("", "n"):
    define(
        f"{_prefix}subst", f"(new old tree {KEYS})", "The tree with old replaced.", _subst("subst")
    )
    define(
        f"{_prefix}subst-if",
        "(new predicate tree &key key)",
        "The tree with new where the predicate holds.",
        _subst_if(True),
    )
    define(
        f"{_prefix}subst-if-not",
        "(new predicate tree &key key)",
        "The tree with new where the predicate fails.",
        _subst_if(False),
    )
    define(
        f"{_prefix}sublis",
        f"(alist tree {KEYS})",
        "The tree with every key of the alist replaced by its datum.",
        _sublis(f"{_prefix}sublis"),
    )


@builtin("tree-equal", "(tree1 tree2 &key test test-not)")
def tree_equal(tree1: Any, tree2: Any, *, test: Any = None, test_not: Any = None) -> Value:
    """Whether they have one shape and matching leaves."""
    holds = relation_of("tree-equal", test, test_not)
    stack = [(tree1, tree2)]
    count, asks = 0, FIRST_LOOK
    while stack:
        a, b = stack.pop()
        count += 1
        if count > asks:
            asks = look("tree-equal", count)
        if a.__class__ is Cons or b.__class__ is Cons:
            if a.__class__ is not b.__class__:
                return NIL
            stack += [(a.cdr, b.cdr), (a.car, b.car)]
        elif not holds(a, b):
            return NIL
    spend("tree-equal", count)
    return T
