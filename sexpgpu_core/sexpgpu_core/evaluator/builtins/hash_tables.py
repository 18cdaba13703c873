"""Hash tables (chapter 18)."""

from __future__ import annotations

from typing import Any

from ..definitions import BUILTINS, builtin, core_symbol
from ..faults import bad_argument, wrong_type
from ..hash_tables import KEYS, HashTable
from ..values import NIL, Function, MultipleValues, Symbol, T, Value
from .bounds import natural
from .calling import callable_of
from .defining import predicate

predicate(
    "hash-table-p", "(object)", "Whether it is a hash table.", lambda x: isinstance(x, HashTable)
)


def _table(name: str, x: Any) -> HashTable:
    if not isinstance(x, HashTable):
        raise wrong_type(name, x, "a hash table")
    return x


@builtin("make-hash-table", "(&key test size rehash-size rehash-threshold)")
def make_hash_table(
    *, test: Any = None, size: Any = 16, rehash_size: Any = None, rehash_threshold: Any = None
) -> Value:
    """An empty table; its test is eq, eql, equal or equalp, eql by default."""
    return HashTable("EQL" if test is None else _test_name(test), natural("make-hash-table", size))


def _test_name(test: Any) -> str:
    name = test.name.upper() if isinstance(test, (Symbol, Function)) else ""
    known = name in KEYS and (test.__class__ is Symbol or BUILTINS.get(name) is test)
    if not known:
        raise bad_argument("make-hash-table", "the test is eq, eql, equal or equalp")
    return name


@builtin("gethash", "(key hash-table &optional default)")
def gethash(key: Any, table: Any, default: Any = NIL) -> Value:
    """The value of a key, and whether it was there."""
    found = _table("gethash", table)
    entry = found.entries.get(found.key(key))
    return MultipleValues((default, NIL) if entry is None else (entry[1], T))


@builtin("(setf gethash)", "(new key hash-table &optional default)")
def set_gethash(new: Any, key: Any, table: Any, default: Any = NIL) -> Value:
    """Set the value of a key."""
    found = _table("setf gethash", table)
    at = found.key(key)
    before = found.entries.get(at)
    found.entries[at] = (key if before is None else before[0], new)
    return new


@builtin("remhash", "(key hash-table)")
def remhash(key: Any, table: Any) -> Value:
    """Take a key out; whether it was there."""
    found = _table("remhash", table)
    return NIL if found.entries.pop(found.key(key), None) is None else T


@builtin("clrhash", "(hash-table)")
def clrhash(table: Any) -> Value:
    """Take everything out; the table."""
    _table("clrhash", table).entries.clear()
    return table


@builtin("maphash", "(function hash-table)")
def maphash(function: Any, table: Any) -> Value:
    """Call a function on every key and value, in order of insertion."""
    call = callable_of(function, 2)
    for key, value in list(_table("maphash", table).entries.values()):
        call(key, value)
    return NIL


@builtin("hash-table-count", "(hash-table)")
def hash_table_count(table: Any) -> Value:
    """The number of entries."""
    return len(_table("hash-table-count", table).entries)


@builtin("hash-table-size", "(hash-table)")
def hash_table_size(table: Any) -> Value:
    """The size it was made with, or its count if that is more."""
    found = _table("hash-table-size", table)
    return max(found.size, len(found.entries))


@builtin("hash-table-test", "(hash-table)")
def hash_table_test(table: Any) -> Value:
    """The name of its test."""
    return core_symbol(_table("hash-table-test", table).test)


@builtin("hash-table-rehash-size", "(hash-table)")
def hash_table_rehash_size(table: Any) -> Value:
    """How it grows: it doubles."""
    _table("hash-table-rehash-size", table)
    return 2.0


@builtin("hash-table-rehash-threshold", "(hash-table)")
def hash_table_rehash_threshold(table: Any) -> Value:
    """How full it gets."""
    _table("hash-table-rehash-threshold", table)
    return 1.0


@builtin("sxhash", "(object)")
def sxhash(value: Any) -> Value:
    """A number that equal objects share, the same in every process."""
    import zlib

    from ..printer import Settings, print_text

    return zlib.crc32(print_text(value, Settings(length=20, level=4)).encode())


@builtin("%hash-table-pairs", "(hash-table)")
def hash_table_pairs(table: Any) -> Value:
    """The keys and values as a list of pairs: what loop and with-hash-table-iterator walk."""
    from ..values import Cons
    from .listing import list_from

    return list_from([Cons(k, v) for k, v in _table("loop", table).entries.values()])
