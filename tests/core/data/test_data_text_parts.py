"""Characters of files are read a part at a time: no number depends on where a part ends."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sexpgpu_core.data import text
from sexpgpu_core.data.rows import rows_of

MB = 1 << 20


def tokens_of(paths, folder):
    options = {"arguments": tuple(map(str, paths)), "base": str(folder), "tokenizer": ":chars"}
    return text.FileText(options), text.files_header(options)


@pytest.mark.parametrize("kept", [text._KEPT, 0])
@given(files=st.lists(st.binary(max_size=40) | st.text(max_size=20).map(str.encode), min_size=1,
                      max_size=3), part=st.integers(1, 9))  # fmt: skip
def test_parts_of_any_size_have_the_characters_of_the_whole(tmp_path_factory, kept, files, part):
    folder = tmp_path_factory.mktemp("parts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_PART", part)
        patch.setattr(text, "_KEPT", kept)
        paths = [folder / f"{n}.txt" for n in range(len(files))]
        for path, data in zip(paths, files):
            path.write_bytes(data)
        found, header = tokens_of(paths, folder)
    whole = [data.decode("utf-8", errors="replace") for data in files]
    joined = "".join(whole)
    assert found.characters == "".join(sorted(set(joined)))
    assert (header["tokens"], header["vocab"]) == (len(joined), len(set(joined)))
    if joined:
        assert found.decode(rows_of(found.tokens(), slice(0, len(joined)))) == joined
    begins = {sum(map(len, whole[:n])) for n in range(len(whole))}
    assert set(found.borders()) == {*begins, len(joined)}


def test_a_text_above_what_is_kept_takes_the_memory_of_its_parts(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_bytes(b"0123456789abcdef" * MB)  # 16 MB
    monkeypatch.setattr(text, "_KEPT", MB)
    tracemalloc.start()
    try:
        found, _ = tokens_of(["a.txt"], tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(found), found.characters) == (16 * MB, "0123456789abcdef")
    assert peak < 13 * MB
