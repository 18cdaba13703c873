"""Module texts to objects, several at a time: by this process and by a helper process per core.

LLVM's lock of llvmlite lets one thread of a process compile; a second process starts in 0.1 s.
Objects do not depend on who made them. A helper that cannot start or dies leaves its text to us.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sexpgpu_core.device import COMPILED, Compiled
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.records import NamedTuple

if TYPE_CHECKING:
    import subprocess

ENOUGH = 8
"""Texts a process: starting one for fewer gains nothing."""

PASSES = 8
"""How much more a character costs where passes are run over the text, about."""

SERVE = "import sys; sys.path[:] = sys.argv[1:]; from sexpgpu_cpu.compilation import serve; serve()"


class ModuleText(NamedTuple):
    """LLVM text of one module. `optimize`: it is not in final form, the O2 passes are run."""

    text: str
    name: str
    optimize: bool = False

    @property
    def cost(self) -> int:
        """What comes first: the dearest, so that none is left alone at the end."""
        return len(self.text) * (PASSES if self.optimize else 1)


class Made(NamedTuple):
    """An object and the seconds that LLVM took for it."""

    object: bytes
    seconds: float


def compile_all(texts: Mapping[str, ModuleText], helpers: int = 0) -> dict[str, Made]:
    """Every text's object by its key. Raises E-DEVICE-COMPILE as `compile_text` does."""
    waiting = deque(sorted(texts, key=lambda key: texts[key].cost, reverse=True))
    made: dict[str, Made] = _Told(len(texts), COMPILED.get())
    started = [Helper(texts, waiting, made) for _ in range(helpers)]
    try:
        _work(texts, waiting, made)
        for helper in started:
            helper.join()
        _work(texts, waiting, made)  # what a helper left
    finally:
        waiting.clear()
        for helper in started:
            helper.close()
    return made


class _Told(dict[str, Made]):
    """Objects by key, of which a watch is told how many there are."""

    def __init__(self, total: int, watch: Compiled | None) -> None:
        super().__init__()
        self._total, self._watch = total, watch

    def __setitem__(self, key: str, made: Made) -> None:
        super().__setitem__(key, made)
        if self._watch is not None:
            self._watch(len(self), self._total)


def helpers_for(units: int, threads: int) -> int:
    """How many helpers that many texts are worth, one thread being ours."""
    return max(0, min(threads - 1, units // ENOUGH))


def _work(texts: Mapping[str, ModuleText], waiting: deque[str], made: dict[str, Made]) -> None:
    for key in _taken(waiting):
        made[key] = _compile(texts[key])


def _taken(waiting: deque[str]) -> Iterator[str]:
    """What waits, one after another, until nobody has left anything."""
    while waiting:
        try:
            yield waiting.popleft()
        except IndexError:  # another was faster
            return


def _compile(text: ModuleText) -> Made:
    from .compiler import compile_text

    start = time.perf_counter()
    done = compile_text(text.text, text.name, optimize=text.optimize)
    return Made(done, time.perf_counter() - start)


class Helper:
    """A process that compiles what it is sent, and the thread that sends it what waits."""

    def __init__(
        self, texts: Mapping[str, ModuleText], waiting: deque[str], made: dict[str, Made]
    ) -> None:
        self._process = _start()
        self._thread = threading.Thread(target=self._work, args=(texts, waiting, made))
        self._thread.start()

    def _work(
        self, texts: Mapping[str, ModuleText], waiting: deque[str], made: dict[str, Made]
    ) -> None:
        """Until nothing waits. What is not answered waits again, for us."""
        if self._process is None:
            return
        for key in _taken(waiting):
            answer = _ask(self._process, texts[key])
            if answer is None:
                waiting.append(key)
                return
            made[key] = answer

    def join(self) -> None:
        self._thread.join()

    def close(self) -> None:
        """Stop it, also in the middle of a text."""
        if self._process is not None:
            self._process.kill()
            self._thread.join()
            with contextlib.suppress(OSError):  # what a dead process was not sent
                self._process.communicate()


def _start() -> subprocess.Popen[bytes] | None:
    """A process that runs `serve` with our modules; None where none can be started."""
    import subprocess  # of a start that compiles, as pickle is: a warm one needs neither

    try:
        return subprocess.Popen(
            [sys.executable, "-c", SERVE, *(p or os.getcwd() for p in sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt at the terminal is not for it
        )
    except OSError:
        return None


def _ask(process: subprocess.Popen[bytes], text: ModuleText) -> Made | None:
    """None where the process died or LLVM refused the text."""
    import pickle

    try:
        _send(process.stdin, text)
        answer: Made | None = pickle.load(process.stdout)  # type: ignore[arg-type]
    except (OSError, EOFError, pickle.UnpicklingError):
        return None
    return answer


def serve() -> None:
    """The process's side: texts on standard input, objects on standard output. None for a text
    that LLVM refuses: whoever asked compiles it again and has the reason."""
    import pickle

    while True:
        try:
            text = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            _send(sys.stdout.buffer, _compile(text))
        except Problem:
            _send(sys.stdout.buffer, None)


def _send(pipe: Any, value: object) -> None:
    import pickle

    pickle.dump(value, pipe, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.flush()
