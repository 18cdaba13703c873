"""Windows of documents: none crosses an end, all is there, and packed ones know segments."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sexpgpu_core.data import documents
from sexpgpu_core.data.loader import Loader
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.experiment.declarations import (
    LoaderDeclaration,
    SourceDeclaration,
    StageDeclaration,
    Windows,
)

NAMES = "emma\nolivia\nava\nisabella\nsophia\nmia\n"


class Stream:
    """Tokens in memory, 1 and up: 0 is padding."""

    def __init__(self, length):
        self._tokens = np.arange(1, length + 1)

    def tokens(self):
        return self._tokens


def windows(size, **given):
    fields = {"size": size, "stride": size, "documents": True, **given}
    return Windows(**fields)


def cut(lengths, chosen):
    edges = np.cumsum([0, *lengths])
    made = documents.Cut(edges[:-1], np.diff(edges), chosen)
    return made, made.read(Stream(int(edges[-1])), np.arange(made.count), np.int32)


lengths = st.lists(st.integers(1, 30), min_size=1, max_size=12)


@settings(deadline=None)
@given(lengths, st.integers(1, 9))
def test_every_token_is_in_one_window_of_its_document_and_the_rest_is_padding(sizes, n):
    _, read = cut(sizes, windows(n))
    assert sorted(read["tokens"][read["weights"] > 0].tolist()) == list(range(1, sum(sizes) + 1))
    assert (read["tokens"][read["weights"] == 0] == 0).all()
    document = np.repeat(np.arange(len(sizes)), sizes)
    for tokens in read["tokens"]:
        assert len(set(document[tokens[tokens > 0] - 1])) == 1


@settings(deadline=None)
@given(lengths, st.integers(2, 9))
def test_windows_that_overlap_by_one_give_every_next_token_once(sizes, n):
    _, read = cut(sizes, windows(n, stride=n - 1))
    pairs = [(a, b) for row in read["tokens"] for a, b in itertools.pairwise(row) if b > 0]
    ends = np.cumsum(sizes)
    wanted = [(t, t + 1) for t in range(1, sum(sizes)) if t not in ends]
    assert sorted(pairs) == wanted


@settings(deadline=None)
@given(lengths, st.integers(1, 9), st.integers(1, 9))
def test_short_windows_are_dropped_or_kept_from_a_length_on(sizes, n, least):
    for short, wanted in (("drop", n), (("keep-if", least), min(least, n))):
        _, read = cut(sizes, windows(n, short=short))
        kept = (read["weights"] > 0).sum(1)
        parts = [min(n, size - at) for size in sizes for at in range(0, size, n)]
        assert sorted(kept.tolist()) == sorted(p for p in parts if p >= wanted)


@settings(deadline=None)
@given(lengths, st.integers(2, 12))
def test_a_packed_row_has_whole_pieces_and_no_weight_where_a_segment_ends(sizes, n):
    made, read = cut(sizes, windows(n, pack=True))
    tokens, segments = read["tokens"], read["segments"]
    assert sorted(tokens[segments > 0].tolist()) == list(range(1, sum(sizes) + 1))
    for row in range(made.count):
        for segment in range(1, segments[row].max() + 1):
            some = segments[row] == segment
            assert read["positions"][row][some].tolist() == list(range(some.sum()))
            assert (np.diff(tokens[row][some]) == 1).all()
            assert read["weights"][row][some].tolist() == [1.0] * (some.sum() - 1) + [0.0]
    assert (read["weights"][segments == 0] == 0).all()
    # no row has room for the piece that begins the next
    used = (segments > 0).sum(1)
    first = (segments == 1).sum(1)
    assert all(used[i] + first[i + 1] > n for i in range(made.count - 1))


def loader(folder, chosen, **given):
    fields = dict.fromkeys(StageDeclaration._fields)
    order = given.pop("order", None)
    by = given.pop("split_by", None)
    stages = {
        name: StageDeclaration(**{**fields, "name": name, "split": (cut,), "order": order})
        for name, cut in (("train", (0, 0.5)), ("val", (0.5, 1)))
    }
    made = {
        **dict.fromkeys(LoaderDeclaration._fields),
        "name": "names",
        "source": SourceDeclaration("text-files", ("n.txt",), {"tokenizer": ":chars"}, None),
        "fields": (),
        "windows": chosen,
        "whole": False,
        "stages": stages,
        "batch": 2,
        "maps": (),
        "counters": {},
        "split_by": by,
    }
    return Loader(LoaderDeclaration(**made), folder)


def texts(found, stage):
    reader = found.reader()
    return [
        reader.decode(tokens[weights > 0])
        for batch in found.evaluation(stage)
        for tokens, weights in zip(batch["tokens"], batch["weights"])
    ]


def test_lines_are_documents_that_a_split_keeps_whole(tmp_path):
    (tmp_path / "n.txt").write_text(NAMES)
    for by in (None, (":hash", 3)):
        found = loader(tmp_path, windows(10, documents="\n"), split_by=by)
        seen = texts(found, "train") + texts(found, "val")
        assert sorted(seen) == sorted(f"{name}\n" for name in NAMES.split())
        assert found.examples("train") + found.examples("val") == 6
    assert found.fields("train")["weights"].shape == (10,)
    assert found.batches("train") == found.examples("train") // 2


def test_the_count_of_windows_is_known_again_without_reading(tmp_path, monkeypatch):
    (tmp_path / "n.txt").write_text(NAMES)
    monkeypatch.setenv("SEXPGPU_CACHE", str(tmp_path / "cache"))
    first = loader(tmp_path, windows(10, documents="\n")).examples("train")
    monkeypatch.setattr(documents, "borders", None)
    assert loader(tmp_path, windows(10, documents="\n")).examples("train") == first


def test_rows_of_streams_know_where_a_document_begins(tmp_path):
    (tmp_path / "n.txt").write_text(NAMES)
    found = loader(tmp_path, windows(3, documents="\n"), order="streams")
    read = found.reader()
    first = [
        read.decode(tokens)
        for batch in found.evaluation("train")
        for tokens, begins in zip(batch["tokens"], batch["begins"])
        if begins
    ]
    assert sorted(first) == sorted(f"{name}\n"[:3] for name in NAMES.split()[: len(first)])


@pytest.mark.parametrize(
    ("chosen", "given", "told"),
    [
        (windows(4, documents="xyz"), {}, "the text of one"),
        (windows(4, documents="\n", shift=True), {}, ":shift"),
        (windows(4, documents="\n"), {"order": "random"}, ":random"),
        (windows(4, documents="\n"), {"split_by": (("stratify", "a"),)}, "by :position or :hash"),
        (Windows(4, 4), {"split_by": (":hash", 1)}, "a stream is cut by position"),
    ],
)
def test_what_does_not_go_with_documents_is_refused(tmp_path, chosen, given, told):
    (tmp_path / "n.txt").write_text(NAMES)
    with pytest.raises(Problem, match=told):
        loader(tmp_path, chosen, **given).examples("train")


@pytest.mark.parametrize("size", [0, 1, 40])
def test_a_token_that_never_occurs_ends_no_document_and_is_told(size):
    with pytest.raises(Problem, match="no document ends") as raised:
        documents.borders(Stream(size), 50256)
    assert raised.value.diagnostic.facts["option"] == "documents"
    assert documents.borders(Stream(7), 7).tolist() == [0, 7]
