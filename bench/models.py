"""The models that are measured: a run file, the knobs that make both sides the same, its data."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from . import corpus

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
"""Where the public files are; a model whose file is not there is measured on made ones."""


class Model(NamedTuple):
    """An example and its twin `bench/twins/NAME.py`. `images`: channels-last is tried too.
    `sets` makes data where it must, and gives knobs. `modes`: those of PyTorch that take it, and
    `why` no others do."""

    sets: Callable[[Path], Mapping[str, str]]
    images: bool = False
    modes: tuple[str, ...] = ("eager", "compile")
    why: str = "not a mode of PyTorch"


def _text(folder: Path) -> Mapping[str, str]:
    return {"text": json.dumps(str(corpus.write(folder)))}


def _pictures(folder: Path) -> Mapping[str, str]:
    at = DATA if (DATA / "mnist_t10k-labels-idx1-ubyte.gz").exists() else corpus.pictures(folder)
    return {"folder": json.dumps(str(at))}


def _graph(folder: Path) -> Mapping[str, str]:
    at = DATA / "cora.npz"
    return {"file": json.dumps(str(at if at.exists() else corpus.graph(folder)))}


def _names(folder: Path) -> Mapping[str, str]:
    at = DATA / "names.txt"
    return {"names": json.dumps(str(at if at.exists() else corpus.names(folder)))}


MODELS: Mapping[str, Model] = {
    "bert-mlm": Model(lambda folder: {**_text(folder), "rate": "0.0"}),
    "chars": Model(_text),
    "digits": Model(lambda folder: {"rate": "0.0"}),
    "dlrm": Model(lambda folder: {}),
    "gcn-cora": Model(
        lambda folder: {**_graph(folder), "rate": "0.0"},
        modes=("eager",),
        why="torch.compile takes no sparse matrix",
    ),
    "llama-chars": Model(_text),
    "lstm-names": Model(
        lambda folder: {**_names(folder), "rate": "0.0"},
        modes=("eager",),
        why="torch.compile takes no LSTM in one graph",
    ),
    "mamba-chars": Model(_text),
    "mnist": Model(lambda folder: {**_pictures(folder), "rate": "0.0"}, images=True),
    "moe-chars": Model(
        _text, modes=("eager",), why="torch.compile takes no shapes that tokens choose"
    ),
    "resnet-mnist": Model(lambda folder: {**_pictures(folder), "lr": "0.003"}, images=True),
    "unet-diffusion-mnist": Model(_pictures, images=True),
    "vae-mnist": Model(_pictures),
    "vit-mnist": Model(_pictures),
}
"""Dropout is off: the sides draw other numbers, and their losses are compared. What a twin cannot
leave out is drawn by us and given to it. Momentum at a ResNet's rate makes rounding grow tenfold
in three steps on either side, so that one takes small ones."""


class Spec(NamedTuple):
    """What a worker is started with: all of it is text and numbers."""

    model: str
    sets: list[tuple[str, str]]
    folder: str
    device: str = "cpu"
    threads: int = 1
    steps: int = 50
    mode: str = "eager"
    channels_last: bool = False

    @property
    def file(self) -> Path:
        return ROOT / "examples" / f"{self.model}.lisp"


def spec_of(name: str, folder: Path, **more: Any) -> Spec:
    return Spec(name, list(MODELS[name].sets(folder).items()), str(folder), **more)
