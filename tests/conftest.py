"""Processes that tests start take SIGINT, also where the tests run in the background of a shell,
which has them ignore it."""

from __future__ import annotations

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
