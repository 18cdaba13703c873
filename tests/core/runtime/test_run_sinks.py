"""Sinks get every event of a run, and can neither stop nor change it; what those of core write."""

from __future__ import annotations

import csv
import json
import math
import struct
import threading

import fake_device as fake
import pytest

from sexpgpu_core.runtime import begin, events, run, sinks, written


class Kept:
    """Keeps what it is given; does `then` for each."""

    def __init__(self, then=lambda event: None):
        self.events, self.then, self.closed = [], then, False

    def event(self, event):
        self.events.append(event)
        self.then(event)

    def close(self):
        self.closed = True


def ran(folder, **opened):
    job, loaders = fake.a_job(folder), fake.loaders_in(folder)
    made = begin.begin(job, root=folder / "runs", machine=fake.machine_of(), loaders=loaders)
    made.sinks = sinks.Sinks({name: (lambda s=sink: s) for name, sink in opened.items()})
    made.sinks.begin(made.events)
    return run.run(job, fake.FakeSession(pause=0.001), made, loaders=loaders)


def warned(summary):
    found = events.read(summary.folder / "events.jsonl")
    return [e["diagnostic"] for e in found if e["event"] == "warning"]


def test_a_sink_gets_every_event_in_order_from_open_to_close(tmp_path):
    kept = Kept()
    summary = ran(tmp_path, kept=kept)
    assert kept.events == events.read(summary.folder / "events.jsonl")
    assert (kept.events[0]["event"], kept.events[-1]["event"]) == ("open", "close")
    assert kept.closed


def test_a_sink_that_raises_is_told_once_and_the_others_go_on(tmp_path):
    def fail(event):
        raise RuntimeError("no route")

    kept, failing = Kept(), Kept(fail)
    summary = ran(tmp_path, good=kept, bad=failing)
    assert (summary.state, summary.exit) == ("finished", 0)
    (found,) = warned(summary)
    assert found["code"] == "W-SINK-FAILED"
    assert "sink bad: RuntimeError: no route" in found["message"]
    assert len(failing.events) == 1
    assert kept.events[-1]["event"] == "close"


def test_a_sink_that_hangs_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(sinks, "LINGER", 0.05)
    monkeypatch.setattr(sinks, "BEHIND", 4)
    release = threading.Event()
    try:
        summary = ran(tmp_path, slow=Kept(lambda event: release.wait(30)))
        assert summary.state == "finished"
        (found,) = warned(summary)
        assert "4 events wait for it" in found["message"]
    finally:
        release.set()


def test_a_sink_that_hangs_at_the_end_is_told_in_the_log(tmp_path, monkeypatch):
    monkeypatch.setattr(sinks, "LINGER", 0.05)
    release = threading.Event()
    try:
        last = Kept(lambda event: event["event"] == "close" and release.wait(30))
        summary = ran(tmp_path, last=last)
        assert summary.state == "finished"
        assert "has not taken its events" in (summary.folder / "log.txt").read_text()
    finally:
        release.set()


STEP = {
    "v": 1, "event": "step", "run": "one", "attempt": 1, "seq": 3, "step": 300,
    "time": "2026-12-01T18:20:03.412Z", "elapsed": 1.5,
    "metrics": {"train/loss": 0.5, "train/worst": "nan", "train/big": 1e300},
}  # fmt: skip
ROOM = {**STEP, "event": "diagnostic", "seq": 4, "values": {"act": [1, 2], "grad/norm": 2.0}}
NOTE = {**STEP, "event": "annotation", "seq": 5, "text": "ä"}


def given(kind, path):
    sink = kind({"path": str(path)})
    for event in (STEP, ROOM, NOTE):
        sink.event(event)
    sink.close()


def test_lines_of_json_are_the_events(tmp_path):
    given(written.JsonLines, tmp_path / "deep" / "x.jsonl")
    lines = (tmp_path / "deep" / "x.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [STEP, ROOM, NOTE]


def test_a_table_has_a_row_a_number_and_one_head(tmp_path):
    given(written.Table, tmp_path / "x.csv")
    given(written.Table, tmp_path / "x.csv")
    rows = list(csv.DictReader((tmp_path / "x.csv").open()))
    assert len(rows) == 8
    assert [(r["step"], r["series"], r["value"]) for r in rows[:4]] == [
        ("300", "train/loss", "0.5"),
        ("300", "train/worst", "nan"),
        ("300", "train/big", "1e+300"),
        ("300", "grad/norm", "2.0"),
    ]


def records(data):
    """Messages of a file of TensorBoard's, each held against its checksums."""
    while data:
        (length,), crc = struct.unpack("<Q", data[:8]), data[8:12]
        body, tail = data[12 : 12 + length], data[12 + length : 16 + length]
        assert (crc, tail) == (written._masked(data[:8]), written._masked(body))
        yield body
        data = data[16 + length :]


def fields(data):
    """(number, value) of a message of protocol buffers."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        number, kind = divmod(varint(), 8)
        size = {0: None, 1: 8, 5: 4, 2: -1}[kind]
        if size is None:
            yield number, varint()
            continue
        size = varint() if size == -1 else size
        yield number, data[at : at + size]
        at += size


def test_tensorboard_reads_scalars_by_step(tmp_path):
    given(written.TensorBoard, tmp_path)
    (file,) = (tmp_path / "one").iterdir()
    first, *rest = (dict(fields(body)) for body in records(file.read_bytes()))
    assert first[3] == b"brain.Event:2"
    found = []
    for event in rest:
        assert struct.unpack("<d", event[1]) == (1796149203.412,)
        for _, value in fields(event[5]):
            scalar = dict(fields(value))
            found.append((event[2], scalar[1].decode(), struct.unpack("<f", scalar[2])[0]))
    assert found[0] == (300, "train/loss", 0.5)
    assert math.isnan(found[1][2])
    assert found[2:] == [(300, "train/big", math.inf), (300, "grad/norm", 2.0)]


@pytest.mark.parametrize(
    ("data", "crc"), [(b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"", 0)]
)
def test_the_checksum_is_castagnolis(data, crc):
    assert written.crc32c(data) == crc
