"""A sequence of tokens continued by an autoregressive output, a place at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .compile.incremental import incremental
from .compile.outputs import check_autoregressive
from .diagnostics import Problem, problem
from .ir.types import numpy_dtype
from .records import NamedTuple
from .runtime.prediction import Chunk, launched
from .runtime.token_sampling import Sampler
from .serving import Key, Model, Opened, encoded

if TYPE_CHECKING:
    import numpy as np

    from .staging.forms.outputs import Output

STEP, WHOLE = -1, -2
"""What stands for `rest` in the keys of the two programs."""


class Continued(NamedTuple):
    """`tokens` without the prompt's; `seconds`: of each, from logits to choice."""

    prompt: list[int]
    tokens: list[int]
    text: str | None
    seconds: list[float]


class Writer:
    """Continues sequences. `context`: places that a token can see.

    Without `cached` every token costs all places: the same numbers, for proof. When the context is
    full its later half begins a new one; of an output with states of rows the next begins where it
    ended, with the states that it left.
    """

    def __init__(self, model: Model, output: str | None = None, cached: bool = True) -> None:
        self.model, self.cached = model, cached
        self.name = _chosen(model, output)
        declared = model.serving.output(self.name)
        traced = self._traced = model.serving.longest(self.name)
        check_autoregressive(declared, traced, model.operations)
        (self.field, self.type) = next(iter({**traced.fields, **traced.own}.items()))
        self.context = self.type.shape[1]
        self._program = f"output/{self.name}/{'step' if cached else 'whole'}"
        key = Key(self.name, 1, STEP if cached else WHOLE, self.context)
        if cached:
            made = incremental(traced, model.operations)
            self._opened = model.open(key, {self._program: made.traced}, made.kept)
        else:
            self._opened = model.open(key, {self._program: traced})
        loader, stage = model.serving.stage(self.name)
        self._loader, self._stage = model.loaders[loader], stage

    @property
    def opened(self) -> Opened:
        """The program, for measuring."""
        return self._opened

    def write(self, prompt: str | Sequence[int] | None, count: int, sampler: Sampler) -> Continued:
        """`count` tokens after a prompt, a text or tokens. Raises E-OUTPUT, E-USAGE-VALUE."""
        given = self._given(prompt)
        self._states = self._next = self.model.begun(self._traced, {})
        made, seconds = [], []
        start = time.perf_counter()
        for token in self._tokens(list(given), count, sampler):
            now = time.perf_counter()
            made.append(token)
            seconds.append(now - start)
            start = now
        decode = getattr(self._reader(), "decode", None)
        return Continued(given, made, _after(decode, given, made) if decode else None, seconds)

    def _tokens(self, seen: list[int], count: int, sampler: Sampler) -> Iterator[int]:
        fed = 0
        for number in range(count):
            seen, fed = self._within(seen, fed)
            logits = self._logits(seen, fed)
            fed = len(seen)
            try:
                token = sampler.choose(logits, number)
            except ValueError as wrong:
                raise problem("E-OUTPUT", f"output {self.name}: {wrong}") from wrong
            seen.append(token)
            yield token

    def _within(self, seen: list[int], fed: int) -> tuple[list[int], int]:
        """What of the tokens so far is in the context, and how many of it were fed."""
        while len(seen) > self.context:
            if not self._states:
                return seen[-max(1, self.context // 2) :], 0
            if fed < self.context:
                self._logits(seen[: self.context], fed)
            self._states = self._next
            seen, fed = seen[self.context :], 0
        return seen, fed

    def _logits(self, seen: list[int], fed: int) -> np.ndarray:
        return self._fed(seen, fed) if self.cached else self._whole(seen)

    def _fed(self, seen: list[int], fed: int) -> np.ndarray:
        """Logits after the last token; those from `fed` on are new."""
        for place in range(fed, len(seen)):
            logits = self._launched([seen[place]], place)
        found: np.ndarray = logits[0, 0]
        return found

    def _whole(self, seen: list[int]) -> np.ndarray:
        padded = seen + [0] * (self.context - len(seen))
        found: np.ndarray = self._launched(padded, 0)[0, len(seen) - 1]
        return found

    def _launched(self, tokens: list[int], place: int) -> Any:
        import numpy as np

        array = np.array([tokens], numpy_dtype(self.type.dtype))
        facts = self._opened.compiled.programs[self._program]
        explain = self.model.explain(self._opened)
        states = {n: a for n, a in self._states.items() if n in facts.fields}
        chunk = Chunk(facts, place, {self.field: array, **states})
        results = launched(self._opened.session, chunk, explain)
        self._next = {n: results[f"output:{n}"] for n in self._states}
        return results[f"output:{self.name}"]

    # -- text

    def _reader(self) -> Any:
        return self._loader.reader(self._stage)

    def _given(self, prompt: str | Sequence[int] | None) -> list[int]:
        """Tokens of a prompt; without one a new line, or token 0."""
        if prompt is not None and not isinstance(prompt, str):
            return _some([int(token) for token in prompt])
        if prompt is None:
            try:
                # a tokenizer of words may have no token for it
                return encoded(self._loader, self._stage, "\n") or [0]
            except Problem:
                return [0]
        return _some(encoded(self._loader, self._stage, prompt))


def _after(decode: Callable[[list[int]], str], given: list[int], made: list[int]) -> str:
    """The text of what was made, as it goes on: a tokenizer may put a space between two words that
    neither has. Alone where the whole does not begin with the prompt's (a character in two)."""
    before, whole = decode(given), decode([*given, *made])
    return whole[len(before) :] if whole.startswith(before) else decode(made)


def _some(tokens: list[int]) -> list[int]:
    if not tokens:
        hint = "leave it out for a new line"
        raise problem("E-USAGE-VALUE", "the prompt has no token", hint=hint)
    return tokens


def _chosen(model: Model, name: str | None) -> str:
    """The autoregressive output of a name, or the only one. Raises E-USAGE-VALUE, E-OUTPUT."""
    outputs: Mapping[str, Output] = model.experiment.outputs
    fits = [n for n, output in outputs.items() if output.autoregressive]
    if name is None and len(fits) == 1:
        return fits[0]
    if name is not None and model.serving.output(name.lower()).autoregressive:
        return name.lower()
    told = f"outputs that are: {' '.join(fits)}" if fits else "(:autoregressive t) makes one so"
    if name is None:
        what = "several outputs are autoregressive" if fits else "no output is autoregressive"
        raise problem("E-USAGE-VALUE", what, hint=f"--output NAME; {told}" if fits else told)
    raise problem("E-OUTPUT", f"output {name} is not autoregressive", hint=told)
