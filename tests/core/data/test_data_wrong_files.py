"""A loader or a file that is wrong is told with a code, a place and a reason before a batch is."""

from __future__ import annotations

import numpy as np
import pytest
from loader_text import loader_of
from wrong_files import TEXT, WRONG, npy, npz

from sexpgpu_core.diagnostics import Problem, Problems


def written(folder, files):
    for name, body in files.items():
        (folder / name).write_bytes(body)
    return folder


def told(work):
    with pytest.raises((Problem, Problems)) as raised:
        work()
    found = raised.value
    return found.diagnostic if isinstance(found, Problem) else found.diagnostics[0]


def facts_of(clauses, folder):
    """All that `check` asks a loader."""
    loader = loader_of(clauses, folder)
    for stage in loader.declaration.stages:
        loader.fields(stage), loader.rows(stage)
    found = loader.check(["train"])
    loader.header()
    return found


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_by_check(name, tmp_path):
    wrong = WRONG[name]
    found = told(lambda: facts_of(wrong.loader, written(tmp_path, wrong.files)))
    assert found.code == wrong.code
    assert found.span.text.startswith(wrong.marked)
    assert wrong.told in f"{found.message} {found.hint}"
    assert "Use the nearest" not in (found.hint or "Use the nearest")


LATER = {
    "a float after integers": ("(map x (lambda (x) (if (> x 1) 0.5 x)))", "gives a float"),
    "a text after integers": ('(map x (lambda (x) (if (> x 1) "s" x)))', "no number"),
    "a list after integers": ("(map x (lambda (x) (if (> x 1) (list x) x)))", "[1] for example"),
    "beyond an i32": ("(map x (lambda (x) (if (> x 1) (expt 2 40) x)))", "beyond an i32"),
    "many digits": ("(map x (lambda (x) (if (> x 1) (expt 10 400) x)))", "beyond an i32"),
    "a dtype too small": ('(fields (x "z" :u8))', "300, which u8 has not"),
    "no whole number": ('(fields (x "f" :i32))', "1.5, which i32 has not"),
    "below 0": ('(fields (x "n" :u32))', "-1, which u32 has not"),
}
CSV = b"x,z,f,n\n1,2,1,1\n3,300,1.5,-1\n5,6,2,1\n"


@pytest.mark.parametrize("name", LATER)
def test_what_only_an_example_shows_is_told_when_it_is_read(name, tmp_path):
    more, words = LATER[name]
    (tmp_path / "a.csv").write_bytes(CSV)
    loader = loader_of(f'(source (csv "a.csv")) {more} (stage :train :order :sequential)', tmp_path)
    found = told(lambda: loader.batch("train", 0))
    assert found.code == "E-DATA-TYPE"
    assert found.span.text == ("x" if more.startswith("(map") else more[len("(fields ") : -1])
    assert words in found.message


@pytest.mark.parametrize("more", ["(windows 5)", "(windows 5 :documents 3)"])
def test_a_token_of_shards_beyond_their_vocabulary_is_told_when_it_is_read(more, tmp_path):
    tokens = np.array([1, 2, 3, 99, 4, 3] * 10, np.uint16)
    (tmp_path / "a.bin").write_bytes(tokens.tobytes())
    end = "(stage :train :order :sequential)"
    source = '(source (token-shards "a.bin" :vocab {}))'
    loader_of(f"{source.format(100)} {more} {end}", tmp_path).batch("train", 0)
    loader = loader_of(f"{source.format(99)} {more} {end}", tmp_path)
    found = told(lambda: loader.batch("train", 0))
    assert found.code == "E-DATA-TOKEN"
    assert "the token 99, and the vocabulary has 0 to 98" in found.message


def test_a_damaged_archive_is_told(tmp_path):
    body = bytearray(npz(x=np.arange(1000.0)))
    body[500] ^= 255
    written(tmp_path, {"a.npz": bytes(body)})
    loader = loader_of('(source (npz "a.npz"))', tmp_path)
    assert told(lambda: loader.batch("train", 0)).code == "E-DATA-FORMAT"


SOUND = {
    "a byte order mark": (b"\xef\xbb\xbfx,y\n1,2\n3,4\n", [1, 3]),
    "lines of DOS": (b"x,y\r\n1,2\r\n3,4\r\n", [1, 3]),
    "a line in quotes": (b'x,s\n1,"a\nb"\n3,"c"\n', [1, 3]),
    "no last line's end": (b"x,y\n1,2\n3,4", [1, 3]),
}


@pytest.mark.parametrize("name", SOUND)
def test_what_only_looks_wrong_is_read(name, tmp_path):
    body, values = SOUND[name]
    (tmp_path / "a.csv").write_bytes(body)
    loader = loader_of('(source (csv "a.csv")) (stage :train :order :sequential)', tmp_path)
    assert loader.batch("train", 0, ["x"])["x"].tolist() == values


def test_a_pad_within_the_vocabulary_and_ranges_apart_are_no_mistakes(tmp_path):
    written(tmp_path, TEXT)
    source = '(source (text-files "t.txt" :tokenizer :chars))'
    stage = "(stage :train :split ((0 0.4) (0.4 1)))"
    assert facts_of(f"{source} (windows 9 :documents t :pad 3) {stage}", tmp_path) == []


@pytest.mark.parametrize("kind", ["npz", "npy"])
def test_integers_beyond_an_i32_want_a_wider_dtype_and_get_it(kind, tmp_path):
    numbers = np.array([2**40, 1])
    written(tmp_path, {"a": npz(x=numbers) if kind == "npz" else npy(numbers)})
    source = f'(source ({kind} "a"))'
    found = told(lambda: loader_of(source, tmp_path).batch("train", 0))
    assert (found.code, found.hint) == (
        "E-DATA-TYPE",
        'declare it wider: (fields (x "x" :i64))',
    )
    stage = '(fields (x "x" :i64)) (stage :train :order :sequential)'
    read = loader_of(f"{source} {stage}", tmp_path).batch("train", 0)["x"]
    assert read.tolist() == numbers.tolist()


def test_a_word_that_is_nearly_one_has_its_edit(tmp_path):
    wrong = WRONG["field-dtype"]
    found = told(lambda: facts_of(wrong.loader, written(tmp_path, wrong.files)))
    assert [change.new for change in found.edit.changes] == [":f32"]
