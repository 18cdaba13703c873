"""The sinks that come with core: events as lines of JSON, numbers as a table, TensorBoard's files.

`series` is what an event says of series: (name, number) each. TensorBoard's records: a length, its
checksum, a message of protocol buffers, its checksum (CRC-32C, masked).
"""

from __future__ import annotations

import csv
import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .clock import seconds_of
from .events import Event, as_line

NUMBERS = {"step": "metrics", "eval": "metrics", "diagnostic": "values"}
"""Kinds of events with numbers of series, and their key."""
COLUMNS = ("run", "attempt", "seq", "step", "time", "elapsed", "series", "value")


def series(event: Event) -> Iterator[tuple[str, float]]:
    """Numbers of an event that are one number each; "nan" and "inf" as floats."""
    for name, value in event.get(NUMBERS.get(event["event"], ""), {}).items():
        if isinstance(value, (int, float, str)):
            yield name, float(value)


class JsonLines:
    """Every event as it is, a line each, after what is there."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._file = _appended(Path(options["path"]))

    def event(self, event: Event) -> None:
        self._file.write(as_line(event)[0].decode())
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class Table:
    """A row a number: COLUMNS, after what is there."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._file = _appended(Path(options["path"]))
        self._rows = csv.writer(self._file, lineterminator="\n")
        if self._file.tell() == 0:
            self._rows.writerow(COLUMNS)

    def event(self, event: Event) -> None:
        about = [event[key] for key in COLUMNS[:6]]
        self._rows.writerows([*about, name, value] for name, value in series(event))
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class TensorBoard:
    """Scalars into PATH/RUN/, where `tensorboard --logdir PATH` finds them. An attempt a file."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._folder = Path(options["path"])
        self._folder.mkdir(parents=True, exist_ok=True)
        self._file: Any = None
        self._attempt: int | None = None

    def event(self, event: Event) -> None:
        if event["attempt"] != self._attempt:
            self._begin(event)
        seconds = seconds_of(event["time"])
        found = b"".join(_field(1, _scalar(name, value)) for name, value in series(event))
        if found:
            self._file.write(_record(_event(seconds, event["step"]) + _field(5, found)))
            self._file.flush()

    def _begin(self, event: Event) -> None:
        self.close()
        self._attempt = event["attempt"]
        seconds = seconds_of(event["time"])
        folder = self._folder / event["run"]
        folder.mkdir(exist_ok=True)
        name = f"events.out.tfevents.{int(seconds)}.{os.uname().nodename}.{event['attempt']}"
        self._file = open(folder / name, "wb")  # noqa: SIM115 (closed by close)
        self._file.write(_record(_event(seconds, 0) + _field(3, b"brain.Event:2")))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _appended(path: Path) -> Any:
    path.parent.mkdir(parents=True, exist_ok=True)
    return open(path, "a", encoding="utf-8", newline="")


def _event(seconds: float, step: int) -> bytes:
    return b"\x09" + struct.pack("<d", seconds) + b"\x10" + _varint(step)


def _scalar(name: str, value: float) -> bytes:
    try:
        packed = struct.pack("<f", value)
    except OverflowError:  # greater than f32 holds
        packed = struct.pack("<f", float("inf") if value > 0 else float("-inf"))
    return _field(1, name.encode()) + b"\x15" + packed


def _field(number: int, data: bytes) -> bytes:
    """A field of bytes."""
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])


def _record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + _masked(length) + data + _masked(data)


def _masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def crc32c(data: bytes) -> int:
    """Castagnoli's checksum."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _row(crc: int) -> int:
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc


_CRC = tuple(_row(byte) for byte in range(256))
