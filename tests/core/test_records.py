"""records.NamedTuple is typing's, at a third of its price."""

from __future__ import annotations

import pickle

import pytest

from sexpgpu_core.records import NamedTuple


class Row(NamedTuple):
    """A row."""

    name: str
    size: int | None = None
    parts: tuple[int, ...] = ()

    @property
    def wide(self) -> bool:
        return len(self.parts) > 1

    def longer(self, part: int) -> Row:
        return self._replace(parts=(*self.parts, part))


def test_a_record_is_a_tuple_of_its_fields_with_their_defaults() -> None:
    row = Row("a", parts=(1,))
    assert row == ("a", None, (1,))
    assert Row._fields == ("name", "size", "parts")
    assert Row._field_defaults == {"size": None, "parts": ()}
    assert repr(row) == "Row(name='a', size=None, parts=(1,))"


def test_methods_and_properties_of_the_body_are_kept() -> None:
    row = Row("a").longer(1).longer(2)
    assert row.wide
    assert row.parts == (1, 2)
    assert (Row.__doc__, Row.__module__, Row.__qualname__) == ("A row.", __name__, "Row")
    assert Row.__annotations__["size"] == "int | None"


def test_records_pickle() -> None:
    row = Row("a", 1)
    assert pickle.loads(pickle.dumps(row)) == row


def test_a_missing_field_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="name"):
        Row()  # type: ignore[call-arg]
