"""(:hf "tokenizer.json"): the library's own ids, whole texts, a vocabulary known without it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from loader_text import loader_of

from sexpgpu_core.data import hugging_face
from sexpgpu_core.diagnostics import Problem

WORDS = "the quick brown fox jumps over the lazy dog; é and 漢字 too. " * 30


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a byte-level BPE of a small text, and the text."""
    library = pytest.importorskip("tokenizers", reason="the extra sexpgpu[tokenizers]")
    monkeypatch.setenv("SEXPGPU_CACHE", str(tmp_path / "cache"))
    bytes_ = library.pre_tokenizers.ByteLevel
    made = library.Tokenizer(library.models.BPE())
    made.pre_tokenizer = bytes_(add_prefix_space=False)
    made.decoder = library.decoders.ByteLevel()
    trainer = library.trainers.BpeTrainer(
        vocab_size=290, special_tokens=["<|end|>"], initial_alphabet=bytes_.alphabet()
    )
    made.train_from_iterator([WORDS], trainer)
    made.enable_truncation(5)
    made.save(str(tmp_path / "tok.json"))
    (tmp_path / "a.txt").write_text(WORDS + "<|end|>" + WORDS, encoding="utf-8")
    return tmp_path


SOURCE = '(source (text-files "a.txt" :tokenizer (:hf "tok.json")))'


def test_tokens_are_the_librarys_and_no_truncation_of_the_file_is_kept(trained: Path) -> None:
    from tokenizers import Tokenizer

    library = Tokenizer.from_file(str(trained / "tok.json"))
    library.no_truncation()
    loader = loader_of(f"{SOURCE} (windows 8)", trained)
    reader, text = loader.reader(), (trained / "a.txt").read_text(encoding="utf-8")
    assert reader.tokens().rows(slice(None)).tolist() == library.encode(text).ids
    assert loader.vocab == library.get_vocab_size()
    assert reader.decode(reader.encode(text)) == text


def test_a_special_token_ends_documents(trained: Path) -> None:
    loader = loader_of(f'{SOURCE} (windows 8 :documents "<|end|>")', trained)
    assert len(loader.reader().encode("<|end|>")) == 1
    weights = sum(b["weights"].sum() for b in loader.evaluation("train"))
    assert weights == loader.header()["tokens"]


def test_token_id_and_vocabulary_are_of_the_file(trained: Path) -> None:
    from sexpgpu_core import api
    from sexpgpu_core.spans import Source

    text = f"""(defloader d {SOURCE} (windows 8) (stage :train) (batch 2))
(defparameter *end* (token-id "<|end|>" :tokenizer :hf))
(defmodel net () (defparam w ((loader-info d :vocab)) :init 0) w)
(defun objective () (metric "loss" (+ *end* (mean (net)))))
(defun optimizer () (groups))
(defrun :steps 1)"""
    loaded = api.load(Source(str(trained / "run.lisp"), text))
    assert loaded.loaders["d"].reader().encode("<|end|>") == [0]


def numbered(folder: Path, form: str, source: str = "(source (none))") -> list[str]:
    """What is told of a file that asks for a token's number, and has one in its loss."""
    from sexpgpu_core import api
    from sexpgpu_core.spans import Source

    windows = "" if "none" in source else "(windows 8)"
    text = f"""(defloader d {source} {windows} (stage :train) (batch 2))
(defparameter *end* {form})
(defparameter *held* (or (eql *end* 0) (error "it is ~s" *end*)))"""
    found = api.check(Source(str(folder / "run.lisp"), text)).diagnostics
    return [f"{d.code} {d.message} {d.hint}" for d in found if d.is_error and d.code != "E-MISSING"]


def test_a_tokenizer_with_its_file_numbers_tokens_without_a_loader(trained: Path) -> None:
    assert numbered(trained, """(token-id "<|end|>" :tokenizer '(:hf "tok.json"))""") == []
    assert numbered(trained, '(- (token-id "a" :tokenizer (list :bytes)) 97)') == []
    wrong = {
        """(token-id "<|end|>" :tokenizer '(:hf))""": "has 0 files, and takes 1",
        """(token-id "<|end|>" :tokenizer '(:fh "tok.json"))""": "did you mean :hf?",
        """(token-id "<|end|>" :tokenizer '(:hf "tik.json"))""": "E-DATA-MISSING",
        """(token-id "<|end|>" :tokenizer '(:hf "a.txt"))""": "E-DATA-FORMAT",
        """(token-id "the<|end|>" :tokenizer '(:hf "tok.json"))""": "and no single one",
        '(token-id "<|end|>")': "no loader before it has a tokenizer",
    }
    for form, told in wrong.items():
        assert told in numbered(trained, form)[0], form


def test_a_token_of_a_large_text_that_nobody_read_is_known(trained: Path) -> None:
    with open(trained / "a.txt", "ab") as file:
        file.truncate(1 << 27)
    assert numbered(trained, '(token-id "<|end|>")', SOURCE) == []
    chars = '(source (text-files "a.txt" :tokenizer :chars))'
    assert "E-DATA-MISSING" in numbered(trained, '(token-id "<")', chars)[0]


def test_a_model_of_a_list_and_added_tokens_has_its_vocabulary_too(tmp_path: Path) -> None:
    said = {"model": {"vocab": [["a", 0.0], ["b", -1.0]]}, "added_tokens": [{"id": 4}]}
    (tmp_path / "t.json").write_text(json.dumps(said))
    assert hugging_face.vocabulary({"paths": (tmp_path / "t.json",)}) == 5


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"model": {"vocab": {}}}', "\x80"])
def test_what_is_no_tokenizer_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.json").write_text(text, encoding="latin1")
    with pytest.raises(Problem, match=r"t.json is no tokenizer.json") as raised:
        hugging_face.vocabulary({"paths": (tmp_path / "t.json",)})
    assert raised.value.diagnostic.code == "E-DATA-FORMAT"


def test_a_file_that_the_library_refuses_is_told(trained: Path) -> None:
    said = json.loads((trained / "tok.json").read_text())
    said["model"]["type"] = "Nonesuch"
    (trained / "tok.json").write_text(json.dumps(said))
    with pytest.raises(Problem, match=r"tok.json is no tokenizer.json") as raised:
        loader_of(f"{SOURCE} (windows 8)", trained).header()
    assert raised.value.diagnostic.span is not None


@pytest.mark.parametrize(
    "source",
    [
        '(text-files "a.txt" :tokenizer (:hf "tok.json"))',
        '(mixture (x 1 (text-files "a.txt" :tokenizer (:hf "tok.json")))'
        ' (y 1 (text-files "a.txt")))',
    ],
)
def test_a_check_that_encodes_nothing_large_knows_the_vocabulary(
    trained: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    from sexpgpu_core import api
    from sexpgpu_core.data import index
    from sexpgpu_core.spans import Source

    def found(asked: str) -> set[str]:
        text = f"""(require "sexpgpu/optim")
(defloader d (source {source}) (windows 8) (stage :train) (batch 2))
(defmodel net () (defparam w ((loader-info d {asked})) :init 0) w)
(defun objective () (metric "loss" (mean (net))))
(defun optimizer () (groups (group :rest (optim:sgd :lr 1e-2))))
(defrun :steps 1)"""
        report = api.check(Source(str(trained / "run.lisp"), text), device="reference")
        return {d.code for d in report.diagnostics}

    monkeypatch.setattr(index, "SCANNED", 1000)
    assert found(":vocab") == {"W-DATA-UNREAD"}
    assert "E-DATA-MISSING" in found(":tokens")
