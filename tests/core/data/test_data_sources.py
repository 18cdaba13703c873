"""Each kind of source: what it says at check is what it reads; mistakes have a place."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from loader_text import loader_of
from safetensors.numpy import save_file

from sexpgpu_core.diagnostics import Problem, Problems
from sexpgpu_core.ir.types import Type


def code(work):
    with pytest.raises((Problem, Problems)) as raised:
        work()
    found = raised.value
    return found.diagnostic if isinstance(found, Problem) else found.diagnostics[0]


def everything(loader, stage="train"):
    """All examples of a stage, field by field."""
    batches = list(loader.evaluation(stage))
    return {name: np.concatenate([b[name] for b in batches]) for name in batches[0]}


CSV = "id,x,y,city\n1,0.5,2,rome\n2,,3,oslo\n3,1.5,4,rome\n"


def test_csv_columns_are_typed_grouped_filled_and_hashed(tmp_path):
    (tmp_path / "a.csv").write_text(CSV)
    loader = loader_of(
        '(source (csv "a.csv")) (fields (pair (1 3) :f32 :missing 9) (city "city" :hash 0)'
        " (label 0 :i32))",
        tmp_path,
    )
    assert loader.fields("train") == {
        "pair": Type("f32", (2,)), "city": Type("u32"), "label": Type("i32"),
    }  # fmt: skip
    found = everything(loader)
    assert found["pair"].tolist() == [[0.5, 2], [9, 3], [1.5, 4]]
    assert found["label"].tolist() == [1, 2, 3]
    assert found["city"][0] == found["city"][2] != found["city"][1]


def test_csv_without_a_first_line_of_names_has_numbers_for_columns(tmp_path):
    (tmp_path / "a.csv").write_text("1;2\n3;4\n")
    loader = loader_of('(source (csv "a.csv" :header nil :separator ";"))', tmp_path)
    assert everything(loader)["1"].tolist() == [2, 4]


@pytest.mark.parametrize(
    ("text", "clauses", "wanted", "told"),
    [
        (CSV, "", "E-DATA-TYPE", "column x has no value at a.csv:3"),
        (CSV, '(fields (c "city" :f32))', "E-DATA-TYPE", "holds text"),
        (CSV, '(fields (c "town"))', "E-FIELD", "has no town"),
        (CSV, "(fields (c (2 9) :f32))", "E-FIELD", "columns (2 9)"),
        ("a,b\n1\n", "", "E-DATA-FORMAT", "a.csv:2 has 1 cells, not 2"),
        ("a,b\n", "", "E-DATA-SMALL", "no rows"),
        ("a\n1\n2\n", "(split-by (:group b))", "E-FIELD", "(split-by (:group b))"),
        ("a\n1\n2\n", "(map b (lambda (x) x))", "E-FIELD", "(map b ...)"),
        ("a\n1\n2\n", "(map a (lambda (x) :no))", "E-DATA-TYPE", "no number"),
        ("a\n1\n2\n", "(windows 4)", "E-OPTION", "is a table"),
    ],
)
def test_what_is_wrong_with_a_table_is_told(tmp_path, text, clauses, wanted, told):
    (tmp_path / "a.csv").write_text(text)
    found = code(lambda: loader_of(f'(source (csv "a.csv")) {clauses}', tmp_path).fields("train"))
    assert (found.code, told in found.message) == (wanted, True), found.message


def test_jsonl_has_lists_and_texts_that_map_takes(tmp_path):
    (tmp_path / "a.jsonl").write_text(
        '{"name": "mia", "p": [1, 2.5]}\n{"name": "olivia", "p": [3, 4]}\n'
    )
    loader = loader_of(
        '(source (jsonl "a.jsonl")) (map name (lambda (s) (loop for i below 4 collect'
        " (if (< i (length s)) (char-code (char s i)) 0))))",
        tmp_path,
    )
    assert loader.fields("train") == {"name": Type("i32", (4,)), "p": Type("f32", (2,))}
    found = everything(loader)
    assert found["p"].tolist() == [[1, 2.5], [3, 4]]
    assert ["".join(map(chr, row)) for row in found["name"]] == ["mia\0", "oliv"]


@pytest.mark.parametrize(
    ("text", "wanted", "told"),
    [
        ('{"p": [1, 2]}\n{"p": [1]}\n', "E-DATA-TYPE", "row 2"),
        ('{"p": 1}\n{"p"\n', "E-DATA-FORMAT", "a.jsonl:2"),
        ("[1]\n", "E-DATA-FORMAT", "no object"),
    ],
)
def test_a_line_that_does_not_fit_is_told(tmp_path, text, wanted, told):
    (tmp_path / "a.jsonl").write_text(text)
    found = code(lambda: loader_of('(source (jsonl "a.jsonl"))', tmp_path).fields("train"))
    assert (found.code, told in found.message) == (wanted, True), found.message


def test_a_map_of_another_shape_names_its_example(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n2\n3\n")
    loader = loader_of(
        '(source (csv "a.csv")) (map a (lambda (x) (make-list x :initial-element 0)))', tmp_path
    )
    found = code(lambda: everything(loader))
    assert (found.code, "example 1" in found.message) == ("E-DATA-TYPE", True)


def test_random_in_map_is_of_the_epoch_and_the_example(tmp_path):
    (tmp_path / "a.csv").write_text("a\n" + "".join(f"{i}\n" for i in range(8)))
    clauses = '(source (csv "a.csv")) (map a (lambda (x) (list x (random 1000000))))'
    one, two = (loader_of(clauses, tmp_path) for _ in range(2))
    backwards = {n: two.batch("train", n)["a"] for n in (7, 5, 2, 0)}
    assert all((one.batch("train", n)["a"] == a).all() for n, a in backwards.items())
    epochs = [
        dict(np.concatenate([one.batch("train", 4 * e + n)["a"] for n in range(4)]).tolist())
        for e in range(2)
    ]
    assert set(epochs[0]) == set(epochs[1]) == set(range(8))
    assert epochs[0] != epochs[1]


def test_random_in_map_is_of_the_seed_and_the_call_too(tmp_path):
    (tmp_path / "a.csv").write_text("a\n" + "".join(f"{i}\n" for i in range(8)))
    calls = "(lambda (x) (list (random 1000000) (random 1000000)))"
    clauses = f'(source (csv "a.csv")) (map a {calls})'
    found = [everything(loader_of(clauses, tmp_path, seed))["a"] for seed in (1, 1, 2)]
    assert (found[0] == found[1]).all()
    assert (found[0] != found[2]).any()
    assert (found[0][:, 0] != found[0][:, 1]).any()


def test_rows_of_safetensors_and_npy_stay_in_their_files(tmp_path):
    x, y = np.arange(20, dtype=np.float32).reshape(5, 4), np.arange(5)
    save_file({"x": x, "y": y}, tmp_path / "a.safetensors")
    np.save(tmp_path / "x.npy", np.asfortranarray(x))
    np.save(tmp_path / "y.npy", y)
    for source in ('(safetensors "a.safetensors")', '(npy :x "x.npy" :y "y.npy")'):
        loader = loader_of(f"(source {source})", tmp_path)
        assert loader.fields("train") == {"x": Type("f32", (4,)), "y": Type("i32")}
        found = everything(loader)
        assert (found["x"] == x).all()
        assert found["y"].tolist() == y.tolist()
    (tmp_path / "b.safetensors").write_bytes((tmp_path / "a.safetensors").read_bytes()[:-1])
    damaged = loader_of('(source (safetensors "b.safetensors"))', tmp_path)
    assert "ends before its last" in code(lambda: damaged.fields("train")).message


def test_token_shards_are_one_stream_raw_or_with_a_header(tmp_path):
    tokens = np.arange(100, dtype=np.uint16)
    head = struct.pack("<3i", 20240520, 1, 60) + bytes(256 * 4 - 12)
    (tmp_path / "t_0.bin").write_bytes(head + tokens[:60].tobytes())
    (tmp_path / "t_1.bin").write_bytes(tokens[60:].tobytes())
    loader = loader_of('(source (token-shards "t_*.bin" :vocab 100)) (windows 7)', tmp_path)
    assert (loader.header()["tokens"], loader.vocab) == (100, 100)
    assert everything(loader)["tokens"].ravel().tolist() == list(range(98))
    (tmp_path / "t_1.bin").write_bytes(b"abc")
    odd = loader_of('(source (token-shards "t_*.bin")) (windows 7)', tmp_path)
    assert "no whole number" in code(lambda: odd.fields("train")).message


def test_documents_of_shards_end_at_their_token(tmp_path):
    tokens = np.array([1, 2, 9, 3, 9, 4, 5, 6, 9], np.uint16)
    (tmp_path / "t.bin").write_bytes(tokens.tobytes())
    loader = loader_of('(source (token-shards "t.bin")) (windows 4 :documents 9)', tmp_path)
    assert everything(loader)["tokens"].tolist() == [[1, 2, 9, 0], [3, 9, 0, 0], [4, 5, 6, 9]]


def test_a_synthetic_example_is_what_the_function_gives(tmp_path):
    loader = loader_of(
        "(source (synthetic (lambda (i) (list :x (list i (* 0.5 i)) :label (mod i 3)))"
        " :examples 7))",
        tmp_path,
    )
    assert loader.fields("train") == {"x": Type("f32", (2,)), "label": Type("i32")}
    found = everything(loader)
    assert found["x"].tolist() == [[i, 0.5 * i] for i in range(7)]
    assert found["label"].tolist() == [i % 3 for i in range(7)]
    wrong = loader_of("(source (synthetic 5 :examples 7))", tmp_path)
    assert code(lambda: wrong.fields("train")).code == "E-OPTION-VALUE"


@pytest.fixture
def pictures(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="pictures want Pillow")
    for name, level in (("cats", 10), ("birds", 200)):
        (tmp_path / "p" / name).mkdir(parents=True)
        for i in range(4):
            pixels = np.full((6, 5, 3), level + i, np.uint8)
            image.fromarray(pixels).save(tmp_path / "p" / name / f"{i}.png")
    return tmp_path


def test_pictures_are_read_and_split_so_that_classes_are_alike(pictures):
    loader = loader_of(
        '(source (images "p")) (stage :train :split (0 0.5)) (stage :val :split (0.5 1))', pictures
    )
    assert loader.fields("train") == {"image": Type("u8", (6, 5, 3)), "label": Type("i32")}
    assert loader.header()["classes"] == 2
    for stage in ("train", "val"):
        found = everything(loader, stage)
        assert sorted(found["label"].tolist()) == [0, 0, 1, 1]
        assert ((found["image"][:, 0, 0, 0] >= 200) == (found["label"] == 0)).all()


def test_pictures_are_scaled_or_one_that_differs_is_told(pictures):
    image = pytest.importorskip("PIL.Image")
    image.fromarray(np.zeros((3, 3, 3), np.uint8)).save(pictures / "p" / "cats" / "z.jpg")
    found = code(lambda: everything(loader_of('(source (images "p"))', pictures)))
    assert (found.code, "cats/z.jpg is 3 by 3" in found.message) == ("E-DATA-TYPE", True)
    scaled = loader_of('(source (images "p" :size (4 8) :channels 1))', pictures)
    assert everything(scaled)["image"].shape == (9, 4, 8, 1)
    (pictures / "p" / "cats" / "z.jpg").write_bytes(b"no picture")
    broken = code(lambda: everything(loader_of('(source (images "p"))', pictures)))
    assert (broken.code, "cats/z.jpg" in broken.message) == ("E-DATA-FORMAT", True)


def test_a_group_is_in_one_stage(tmp_path):
    rng = np.random.default_rng(1)
    patients = rng.integers(0, 12, 100)
    (tmp_path / "a.csv").write_text("p,i\n" + "".join(f"{p},{i}\n" for i, p in enumerate(patients)))
    loader = loader_of(
        '(source (csv "a.csv")) (split-by (:group p))'
        " (stage :train :split (0 0.7)) (stage :val :split (0.7 1))",
        tmp_path,
    )
    train, val = everything(loader), everything(loader, "val")
    assert not set(train["p"]) & set(val["p"])
    assert sorted([*train["i"], *val["i"]]) == list(range(100))
    assert 55 <= len(train["i"]) <= 95


def test_a_stage_has_its_own_map_and_split(tmp_path):
    (tmp_path / "a.csv").write_text("a\n" + "".join(f"{i}\n" for i in range(10)))
    loader = loader_of(
        '(source (csv "a.csv")) (stage :train :split-by :hash :split (0 0.5))'
        " (stage :val :split (0 0.5) :map ((a (lambda (x) (- x)))))",
        tmp_path,
    )
    assert everything(loader, "val")["a"].tolist() == [0, -1, -2, -3, -4]
    assert sorted(everything(loader)["a"].tolist()) != [0, 1, 2, 3, 4]
