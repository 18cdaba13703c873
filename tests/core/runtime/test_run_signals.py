"""Signals become a wish to stop; a second SIGINT leaves at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import fake_device as fake
import pytest

from sexpgpu_core.data.files import REACH
from sexpgpu_core.runtime.signals import ENDINGS, Early, Left, Signals, leaving

SAFE = ("-P",) if sys.version_info >= (3, 11) else ()


def test_the_first_signal_is_the_reason_and_handlers_go_back():
    before = signal.getsignal(signal.SIGTERM)
    with Signals() as signals:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGUSR1)
        assert signals.reason == "SIGTERM"
    assert signal.getsignal(signal.SIGTERM) is before
    assert ENDINGS[signals.reason] == ("preempted", 75)


def test_a_second_sigint_leaves_at_once_with_130():
    program = (
        "import os, signal, time\n"
        "from sexpgpu_core.runtime.signals import Signals\n"
        "with Signals():\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(60)\n"
    )
    assert subprocess.run([sys.executable, *SAFE, "-c", program], timeout=30).returncode == 130


def test_in_another_thread_only_requests_stop_a_run():
    seen = []

    def work():
        with Signals() as signals:
            signals.request("stop")
            seen.append(signals.reason)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == ["stop"]


@pytest.mark.parametrize(("number", "code"), [("SIGTERM", 75), ("SIGUSR1", 75), ("SIGINT", 130)])
def test_before_there_is_a_run_a_signal_ends_at_once_what_is_done(number: str, code: int) -> None:
    before = signal.getsignal(getattr(signal, number))
    with pytest.raises(Left) as raised, leaving():
        os.kill(os.getpid(), getattr(signal, number))
    assert raised.value.exit == code
    assert signal.getsignal(getattr(signal, number)) is before


def test_while_it_compiles_a_scan_ends_where_an_end_was_asked_for() -> None:
    with Signals() as signals, signals.scanning():
        assert REACH.pause is not None
        REACH.pause()
        signals.request("SIGTERM")
        with pytest.raises(Left) as raised:
            REACH.pause()
    assert raised.value.exit == 75
    assert REACH.pause is None


@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT", None])
def test_while_kernels_are_compiled_an_end_that_is_asked_for_breaks_them_off(number) -> None:
    with Signals() as signals:
        with signals.compiling(lambda: False):
            pass
        with pytest.raises(Early), signals.compiling(lambda: number is None):
            _works(number)
        assert signals.reason == (number or "stop")
        with pytest.raises(Early), signals.compiling(lambda: False):
            pytest.fail("it was asked to end before")
        os.kill(os.getpid(), signal.SIGUSR1)  # outside it is a wish again


def _works(number):
    """Half a minute of what an exception can break off, after a signal."""
    if number is not None:
        os.kill(os.getpid(), getattr(signal, number))
    end = time.monotonic() + 30
    while time.monotonic() < end:
        time.sleep(0.01)


def test_what_heard_signals_until_there_was_a_run_is_not_there_after_it() -> None:
    class Waiting:
        until_a_run = True

        def __call__(self, number: int, frame: object) -> None:
            raise AssertionError

    before = signal.signal(signal.SIGTERM, Waiting())
    try:
        with leaving():
            pass
        assert isinstance(signal.getsignal(signal.SIGTERM), Waiting)
        with Signals():
            pass
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)


def test_skips_are_counted_in_the_whole_run_over_its_attempts(tmp_path):
    job = fake.a_job(tmp_path, guard=("skip", 1))
    signals = Signals()
    at = {3: "nan", 7: lambda: signals.request("SIGTERM")}
    first, _ = fake.start(tmp_path, job, fake.FakeSession(at, skip=True), signals=signals)
    assert first.state == "preempted"
    second, _ = fake.resume(tmp_path, job, fake.FakeSession({12: "nan"}, skip=True))
    assert (second.state, second.error.code) == ("failed", "E-RUN-NONFINITE")
    assert second.status["step"] == 12
