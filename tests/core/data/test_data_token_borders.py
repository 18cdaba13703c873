"""A text that is cut where the rule of its tokenizer.json says has the ids of the whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sexpgpu_core.data import hugging_face, token_borders
from sexpgpu_core.data.token_borders import BLANK, LINE, PLAIN, SPACE, rule_of

library = pytest.importorskip("tokenizers", reason="the extra sexpgpu[tokenizers]")

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace("{1,3}", "")
GPT4 = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|"
    r"\s*[\r\n]|\s+(?!\S)|\s+"
)
_UP, _LOW = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_END = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
GPT4O = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UP}*{_LOW}+{_END}|[^\r\n\p{{L}}\p{{N}}]?{_UP}+{_LOW}*{_END}|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
WORDS = (
    "the quick  Brown fox's 12 345\n\njumps.\n over: the/ lazy dog\t; é and 漢字。\n too ΑΣ. " * 20
)


def bytes_(**more: Any) -> Any:
    return library.pre_tokenizers.ByteLevel(**{"add_prefix_space": False, **more})


def split(pattern: str, behavior: str = "isolated", invert: bool = False) -> Any:
    way = library.pre_tokenizers.Split(library.Regex(pattern), behavior, invert)
    return library.pre_tokenizers.Sequence([way, bytes_(use_regex=False)])


def both(*steps: Any) -> Any:
    return library.pre_tokenizers.Sequence(list(steps))


PRE, NORM = library.pre_tokenizers, library.normalizers
KNOWN = {
    "gpt2": (bytes_(), None, BLANK),
    "roberta": (bytes_(add_prefix_space=True), None, SPACE),
    "gpt2-split": (split(GPT2), None, BLANK),
    "llama3": (split(LLAMA3), None, LINE),
    "qwen2": (split(QWEN2), NORM.NFC(), PLAIN),
    "gpt4": (split(GPT4, "removed", True), None, LINE),
    "gpt4o": (split(GPT4O), None, LINE),
    "starcoder": (both(PRE.Digits(True), bytes_()), None, BLANK),
    "signs": (both(PRE.Punctuation("isolated"), split(GPT2)), None, BLANK),
    "bert": (PRE.BertPreTokenizer(), NORM.BertNormalizer(), PLAIN),
    "bert-nfd": (PRE.BertPreTokenizer(),
                 NORM.Sequence([NORM.NFKD(), NORM.StripAccents(), NORM.Lowercase()]), PLAIN),
    "words": (PRE.Whitespace(), None, BLANK),
    "blanks": (PRE.WhitespaceSplit(), None, BLANK),
    "metaspace": (PRE.Metaspace(), None, SPACE),
    "metaspace-first": (PRE.Metaspace(prepend_scheme="first"), None, SPACE),
    "t5": (both(PRE.WhitespaceSplit(), PRE.Metaspace(prepend_scheme="first")), None, SPACE),
    "split-and-prefix": (both(PRE.Split(library.Regex(LLAMA3), "isolated"),
                              bytes_(add_prefix_space=True, use_regex=False)), None, SPACE),
}  # fmt: skip


def made(pre: Any, norm: Any) -> Any:
    """A small tokenizer whose merges would cross what is not split."""
    found = library.Tokenizer(library.models.BPE(unk_token="?", fuse_unk=True))
    if pre is not None:
        found.pre_tokenizer = pre
    if norm is not None:
        found.normalizer = norm
    marks = [library.AddedToken("<|end|>"), library.AddedToken("<m>", lstrip=False)]
    trainer = library.trainers.BpeTrainer(
        vocab_size=700, special_tokens=["?"], initial_alphabet=PRE.ByteLevel.alphabet(),
        show_progress=False,
    )  # fmt: skip
    found.train_from_iterator([WORDS], trainer)
    found.add_special_tokens(marks)
    return found


TOKENIZERS = {name: made(pre, norm) for name, (pre, norm, _) in KNOWN.items()}


def counted(tokenizer: Any) -> Any:
    """The same with a token for each piece that its steps give."""
    found = library.Tokenizer.from_str(tokenizer.to_str())
    found.model = library.models.WordLevel({"?": 0}, unk_token="?")
    return found


WORDS_OF = {name: counted(tokenizer) for name, tokenizer in TOKENIZERS.items()}
PIECES = [
    "a",
    "B",
    "Z",
    "é",
    "ß",
    "İ",
    "Σ",
    "漢",
    "١",
    "7",
    "42",
    "'",
    "'s",
    "'LL",
    ".",
    "/",
    "://",
    ";",
    "。",
    "—",
    "_",
    "\u0600",
    "́",
    "\u200b",
    "ﷺ",
    "ͅ",
    "ͺ",
    "▁",
    "<",
    "<|end|>",
    "<m>",
    "fox",
    "quick",
    "dog",
    "the",
    "🦊",
    "힣",
]
BLANKS = [" ", "\n", "  ", "\n\n", "\r\n", "\t", "\x85", "\xa0", "\x1c"]
TEXTS = (
    st.text("ab. \n/1'é漢", max_size=30)
    | st.lists(st.sampled_from([*PIECES, *BLANKS * 3]), max_size=30).map("".join)
    | st.text(max_size=30)
)


@pytest.mark.parametrize("name", KNOWN)
def test_the_rule_of_each_known_kind(name: str) -> None:
    found = rule_of(json.loads(TOKENIZERS[name].to_str()))
    assert found is not None
    assert found.pattern == KNOWN[name][2]


@pytest.mark.parametrize("name", KNOWN)
@settings(max_examples=100, deadline=None)
@given(text=TEXTS, size=st.integers(1, 9), least=st.integers(1, 4))
def test_pieces_have_the_ids_of_the_whole(name: str, text: str, size: int, least: int) -> None:
    data, rule = text.encode(), rule_of(json.loads(TOKENIZERS[name].to_str()))
    assert rule is not None
    for tokenizer in (TOKENIZERS[name], WORDS_OF[name]):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(hugging_face, "_PIECE", least)
            coder = hugging_face.InPieces(tokenizer, rule)
            parts = (data[at : at + size] for at in range(0, len(data), size))
            found = [token for part in coder.encode_parts(parts) for token in part]
        assert found == list(coder.encode(data))


@pytest.mark.parametrize("name", KNOWN)
def test_a_text_of_lines_and_words_is_cut_often(name: str) -> None:
    rule = rule_of(json.loads(TOKENIZERS[name].to_str()))
    assert rule is not None
    assert len(list(rule.finditer(WORDS))) >= 20 * 8


@pytest.mark.parametrize(
    ("pre", "norm", "added"),
    [
        (None, None, ()),
        (PRE.Digits(), None, ()),
        (bytes_(use_regex=False), None, ()),
        (PRE.Metaspace(split=False), None, ()),
        (split(r"[\s\S]{3}"), None, ()),
        (split(GPT2 + r"|x "), None, ()),
        (split(GPT2, "merged_with_next"), None, ()),
        (split(GPT2, "removed"), None, ()),
        (both(PRE.Split(" ", "isolated"), bytes_()), None, ()),
        (both(PRE.UnicodeScripts(), bytes_()), None, ()),
        (bytes_(), NORM.Replace(" ", "▁"), ()),
        (bytes_(), NORM.Sequence([NORM.NFC(), NORM.Strip()]), ()),
        (bytes_(), NORM.Prepend("▁"), ()),
        (bytes_(), None, (library.AddedToken("of course"),)),
        (bytes_(), None, (library.AddedToken("x\n"),)),
        (bytes_(), None, (library.AddedToken("<mask>", rstrip=True),)),
        (bytes_(), NORM.NFKC(), (library.AddedToken("ａ b"),)),
        (bytes_(), NORM.NFKC(), (library.AddedToken("\ufdfa"),)),
        (split(LLAMA3), None, (library.AddedToken("ab", lstrip=True),)),
        (split(LLAMA3), None, (library.AddedToken("b\n", single_word=True),)),
    ],
)
def test_there_is_no_rule_where_none_is_known_to_hold(pre: Any, norm: Any, added: Any) -> None:
    tokenizer = library.Tokenizer(library.models.BPE())
    if pre is not None:
        tokenizer.pre_tokenizer = pre
    if norm is not None:
        tokenizer.normalizer = norm
    tokenizer.add_tokens(list(added))
    assert rule_of(json.loads(tokenizer.to_str())) is None


def test_a_pattern_is_taken_apart_at_its_own_bars_only() -> None:
    assert list(token_borders._alternatives(r"(?i:a|b)|[|\]]|\||c")) == [
        "(?i:a|b)", r"[|\]]", r"\|", "c",
    ]  # fmt: skip
