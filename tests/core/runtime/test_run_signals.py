"""Signals become a wish to stop; a second SIGINT leaves at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

from sexpgpu_core.runtime.signals import ENDINGS, Signals


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
    assert subprocess.run([sys.executable, "-P", "-c", program], timeout=30).returncode == 130


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
