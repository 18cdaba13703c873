"""A file with a tokenizer.json of words: trained, sampled, encoded and decoded from outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from e2e_program import Folder, held

from sexpgpu_core.generation import _after

FILE = """
(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader text
  (source (text-files "a.txt" :tokenizer (:hf "words.json")))
  (windows 9)
  (stage :train) (batch 4))
(defun prepare (&key tokens)
  (batch :tokens (slice tokens :axis 1 :end -1) :targets (slice tokens :axis 1 :start 1)))
(defmodel net (x)
  (let ((vocab (loader-info text :vocab))) (nn:linear (nn:embedding x vocab 16) vocab)))
(defun objective (&key tokens targets) (metric "loss" (nn:cross-entropy (net tokens) targets)))
(defun optimizer () (groups (group :rest (optim:adamw :lr 3e-2))))
(defoutput next-token (&key tokens) (:autoregressive t) (net tokens))
(defrun :steps 60 :seed 1)
"""
WORDS = "the quick brown fox jumps over a lazy dog"


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory, kernel_cache: Path) -> Folder:
    library = pytest.importorskip("tokenizers", reason="the extra sexpgpu[tokenizers]")
    folder = Folder(tmp_path_factory.mktemp("words"), kernel_cache)
    known = {word: at for at, word in enumerate(["[UNK]", *WORDS.split()])}
    made = library.Tokenizer(library.models.WordLevel(known, unk_token="[UNK]"))
    made.pre_tokenizer = library.pre_tokenizers.Whitespace()
    made.save(str(folder.path / "words.json"))
    (folder.path / "a.txt").write_text(f"{WORDS} " * 50)
    (folder.path / "x.lisp").write_text(FILE)
    held(folder.quick("run", "x.lisp", "--name", "it", "-q"), 0)
    return folder


def test_a_text_goes_on_with_a_space_between_two_words(words: Folder) -> None:
    asked = ("--prompt", "the quick", "--tokens", "3", "--temperature", "0")
    done = words.quick("sample", "x.lisp", *asked)
    assert done.out.strip() == "the quick brown fox jumps"


def test_without_a_prompt_a_tokenizer_that_has_no_new_line_begins_with_token_0(
    words: Folder,
) -> None:
    done = words.quick("sample", "x.lisp", "--tokens", "3", "--json")
    held(done, 0)
    assert done.document["prompt"] == [0]


def test_a_prompt_of_no_token_is_told(words: Folder) -> None:
    done = words.quick("sample", "x.lisp", "--prompt", "  ", "--json")
    held(done, 2)
    assert "the prompt has no token" in done.diagnostics[0]["message"]


def test_the_manifest_says_which_tokenizer_it_was_and_a_resume_with_another_is_refused(
    words: Folder,
) -> None:
    manifest = json.loads((words.made("it") / "manifest.json").read_text())
    name, of, sha256 = manifest["data"][0]["tokenizer"]
    assert (name, of.split()[0], len(sha256)) == ("hf", "sexpgpu-core", 64)
    path = words.path / "words.json"
    before = path.read_text()
    path.write_text(before + "\n")
    done = words.quick("run", "x.lisp", "--resume", "it", "--json")
    path.write_text(before)
    held(done, 3)
    assert done.diagnostics[0]["code"] == "E-RESUME-CHANGED"
    assert done.diagnostics[0]["facts"]["changes"] == ["the tokenizer of loader text"]


def test_another_file_of_the_tokenizer_makes_another_experiment(
    words: Folder,
) -> None:
    identity = [words.quick("check", "x.lisp", "--json").document]
    path = words.path / "words.json"
    before = path.read_text()
    path.write_text(before + "\n")
    identity.append(words.quick("check", "x.lisp", "--json").document)
    path.write_text(before)
    one, two = (said["files"][0]["summary"]["experiment_id"] for said in identity)
    assert one != two


def test_text_after_a_prompt_that_ends_in_a_character_is_decoded_alone() -> None:
    def decode(ids: list[int]) -> str:
        return bytes(ids).decode("utf-8", errors="replace")

    first, *rest = "éa".encode()
    assert _after(decode, [first], rest) == decode(rest)
    assert _after(decode, [97], [98]) == "b"
