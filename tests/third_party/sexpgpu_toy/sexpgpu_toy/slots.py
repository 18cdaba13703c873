"""An executor: processes that outlive the sweep, known by their numbers; no more than it has slots.

An engine of a cluster looks the same from here: it names jobs, keeps them, and refuses some.
"""

import os
import signal
import subprocess

from sexpgpu_core.diagnostics import problem
from sexpgpu_core.sweeps.executor import Ended


class Slots:
    def __init__(self, options):
        self.slots, self.processes = options["slots"], {}

    def submit(self, command, point, log):
        if sum(p.poll() is None for p in self.processes.values()) >= self.slots:
            raise problem("E-EXECUTOR-REFUSED", f"toy-slots: {self.slots} are taken")
        with open(log, "wb") as file:
            process = subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True)
        self.processes[str(process.pid)] = process
        return str(process.pid)

    def find(self, point, log):
        return None

    def ended(self, jobs):
        codes = {job: self.code(job) for job in jobs}
        return {job: code for job, code in codes.items() if code is not None}

    def code(self, job):
        if job in self.processes:
            code = self.processes[job].poll()
            return None if code is None else Ended(code)
        try:
            os.kill(int(job), 0)  # of a sweep that was killed: its run says how it ended
        except ProcessLookupError:
            return Ended(None)
        return None

    def cancel(self, jobs):
        for job in jobs:
            os.kill(int(job), signal.SIGTERM)
