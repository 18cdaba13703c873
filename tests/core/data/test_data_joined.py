"""jsonl with :tokens: texts joined to documents, a weight a token; token-id is of its tokenizer."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loader_text import REST, loader_of
from test_data_sources import code, everything

from sexpgpu_core import api, inspection
from sexpgpu_core.data import joined, pieces
from sexpgpu_core.spans import Source

TALK = [
    {"prompt": "say é", "answer": "é"},
    {"prompt": "", "answer": "nothing"},
    {"prompt": "colour of grass", "answer": "green"},
]
KEYS = ":tokens ((prompt :weight 0) (answer :weight 0.5))"


def talk(folder, rows=TALK):
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


texts = st.text(max_size=9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=7), st.booleans(), st.integers(1, 3))
def test_tokens_are_those_of_the_texts_and_weigh_what_their_key_does(
    tmp_path_factory, rows, chars, piece
):
    folder = tmp_path_factory.mktemp("joined")
    talk(folder, [{"prompt": a, "answer": b} for a, b in rows])
    options = {
        "arguments": ("a.jsonl",), "base": str(folder),
        "tokens": (("prompt", 0.0), ("answer", 2.0)), "tokenizer": ":chars" if chars else ":bytes",
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "PIECE", piece)
        patch.setattr(joined, "_CONVERTED", piece)
        patch.setenv("SEXPGPU_CACHE", str(folder / "cache"))
        made, said = joined.JoinedTexts(options), joined.header(options)

    def length(text):
        return len(text) if chars else len(text.encode())

    everywhere = "".join(a + b for a, b in rows)
    assert said["tokens"] == len(made) == length(everywhere)
    assert said["documents"] == len(rows)
    assert made.tokens().rows(slice(None)).tolist() == made.encode(everywhere)
    wanted = [w for a, b in rows for w in [0.0] * length(a) + [2.0] * length(b)]
    if wanted:
        assert made.weights().rows(slice(None)).tolist() == wanted
    assert np.diff(made.borders()).tolist() == [length(a + b) for a, b in rows]


def test_a_document_a_window_has_the_weights_of_its_texts(tmp_path):
    talk(tmp_path)
    loader = loader_of(
        f'(source (jsonl "a.jsonl" {KEYS} :tokenizer :chars)) (windows 20 :documents t)', tmp_path
    )
    found = everything(loader)
    assert found["weights"].tolist() == [
        [0.0] * 5 + [0.5] + [0.0] * 14,
        [0.5] * 7 + [0.0] * 13,
        [0.0] * 15 + [0.5] * 5,
    ]
    reader = loader.reader()
    assert [reader.decode(t[: len(a["prompt"] + a["answer"])]) for t, a in
            zip(found["tokens"], TALK)] == [a["prompt"] + a["answer"] for a in TALK]  # fmt: skip


def test_windows_over_the_ends_of_documents_have_weights_too(tmp_path):
    talk(tmp_path)
    found = everything(loader_of(f'(source (jsonl "a.jsonl" {KEYS})) (windows 5)', tmp_path))
    assert set(found) == {"tokens", "weights"}
    assert found["weights"].shape == found["tokens"].shape == (7, 5)
    assert found["weights"][:3].tolist() == [[0.0] * 5, [0.0, 0.5, 0.5, 0.5, 0.5], [0.5] * 5]


def test_what_documents_were_found_is_not_taken_for_those_of_other_options(tmp_path):
    """A file of bytes and of characters has its documents in other places."""
    (tmp_path / "a.txt").write_text("ééé\nab\nc\n", encoding="utf-8")
    for tokenizer, lengths in ((":bytes", [7, 3, 2]), (":chars", [4, 3, 2])):
        loader = loader_of(
            f'(source (text-files "a.txt" :tokenizer {tokenizer})) '
            "(windows 8 :documents (string #\\Newline))",
            tmp_path,
        )
        assert everything(loader)["weights"].sum(1).tolist() == lengths


@pytest.mark.parametrize(
    ("source", "wanted", "told"),
    [
        (":tokens ((promt))", "E-DATA-TYPE", "a.jsonl:1: promt is not there"),
        (":tokens ((n))", "E-DATA-TYPE", "a.jsonl:1: n is 5, and no text"),
        (":tokens ((answer :weight -1))", "E-OPTION-VALUE", "is -1"),
        (':tokens ((answer :weight "a"))', "E-OPTION-VALUE", "wants a number"),
        (":tokens ((answer :wieght 1))", "E-OPTION", "no option :wieght"),
        (":tokens (answer)", "E-FORM-SHAPE", "is a list, (name :weight 1)"),
        (":tokens answer", "E-FORM-SHAPE", "is a list of keys"),
        (":tokens ()", "E-FORM-SHAPE", "is a list of keys"),
        (":tokens '((answer))", "E-OPTION-VALUE", "neither quoted"),
        (":tokenizer :chars", "E-OPTION-VALUE", ":tokenizer without :tokens"),
    ],
)
def test_mistakes_in_keys_are_told(tmp_path, source, wanted, told):
    talk(tmp_path, [{"prompt": "a", "answer": "b", "n": 5}])
    found = code(
        lambda: loader_of(f'(source (jsonl "a.jsonl" {source})) (windows 2)', tmp_path).fields(
            "train"
        )
    )
    assert (found.code, found.span is not None) == (wanted, True)
    assert told in found.message + str(found.hint)


def loaded(folder, loaders, form):
    text = f"{loaders} (defparameter *id* {form}){REST}"
    return api.load(Source(str(folder / "run.lisp"), text))


CHARS = '(defloader d (source (text-files "a.txt" :tokenizer :chars)) (windows 2) (stage :train))'
BYTES = '(defloader e (source (text-files "a.txt")) (windows 2) (stage :train) (batch 1))'


@pytest.mark.parametrize(
    ("loaders", "form", "told"),
    [
        (CHARS, '(token-id "z")', "has no character 'z'"),
        (CHARS, '(token-id "ab")', "2 tokens"),
        (CHARS, "(token-id 5)", "takes a text"),
        (CHARS, '(token-id "a" :tokenizer :bpe)', "is :bpe"),
        (CHARS + BYTES, '(token-id "a")', "[0] in d and [97] in e"),
        ("(defloader e (source (none)) (stage :train) (batch 1))", '(token-id "a")', "no loader"),
    ],
)
def test_a_text_that_is_no_token_is_told(tmp_path, loaders, form, told):
    (tmp_path / "a.txt").write_text("abc")
    found = code(lambda: loaded(tmp_path, loaders, form))
    assert found.code == "E-OPTION-VALUE"
    assert told in found.message
    assert found.span is not None


def test_token_id_is_of_the_loaders_tokenizer(tmp_path):
    (tmp_path / "a.txt").write_text("abc")
    talk(tmp_path)
    asked = [
        (CHARS, '(token-id "b")', 1),
        (BYTES, '(token-id "b")', 98),
        (CHARS + BYTES, '(token-id "b" :tokenizer :chars)', 1),
        ("", '(token-id "b" :tokenizer :bytes)', 98),
        (f'(defloader d (source (jsonl "a.jsonl" {KEYS} :tokenizer :chars)) (windows 2))',
         '(token-id "é")', len({c for row in TALK for text in row.values() for c in text}) - 1),
    ]  # fmt: skip
    none = "(defloader n (source (none)) (stage :train) (batch 1))"
    for loaders, form, wanted in asked:
        text = Source(str(tmp_path / "r.lisp"), f"{loaders} {none} {REST}")
        assert inspection.evaluate(text, form)[0][0] == str(wanted)


@pytest.mark.parametrize(
    ("clauses", "told"),
    [
        ("(stage :train :split (0.9 1))", "stage :train has no document: none begins in its"),
        ("(stage :train)", None),
        ("(stage :train :windows (21 :documents t :short :drop))", "3 documents, all shorter"),
    ],
)
def test_a_stage_without_documents_is_told_why(tmp_path, clauses, told):
    talk(tmp_path)
    text = f'(source (jsonl "a.jsonl" {KEYS})) (windows 50 :documents t) {clauses}'
    if told is None:
        assert loader_of(text, tmp_path).examples("train") == 3
        return
    found = code(lambda: loader_of(text, tmp_path).fields("train"))
    assert found.code == "E-DATA-SMALL"
    assert told in found.message


@pytest.mark.parametrize(("one", "two"), [(":weight 0", ":weight 0.5"), ("", ":weight 2")])
def test_a_mixture_is_another_where_a_key_of_a_source_weighs_otherwise(tmp_path, one, two):
    """Its header has the fields of its sources, and says what their tokens follow from."""
    talk(tmp_path)
    found = []
    for weight in (one, two):
        of = f'(jsonl "a.jsonl" :tokens ((prompt {weight}) (answer)))'
        loader = loader_of(f"(source (mixture (a 0.5 {of}) (b 0.5 {of}))) (windows 4)", tmp_path)
        assert set(loader.header()["fields"]) == {"tokens", "weights"}
        assert set(loader.batch("train", 0)) == {"tokens", "weights", "source"}
        found.append(loader.fingerprint())
    assert len(set(found)) == 2
