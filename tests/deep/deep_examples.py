"""`check --deep` of the examples one after another: a line each, with its seconds.

Data are those of the benchmarks: the public files where they are, else made ones. Exit 1 if a
promise is broken or an example takes longer than `--seconds`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.models import MODELS, spec_of

SAFE = ("-P",) if sys.version_info >= (3, 11) else ()


def tried(name: str, folder: Path) -> tuple[float, dict[str, Any]]:
    """Seconds of the whole process, and its document."""
    spec = spec_of(name, folder)
    data = [f"{knob}={value}" for knob, value in spec.sets if value.startswith('"')]
    words = [word for one in data for word in ("-s", one)]
    command = (sys.executable, *SAFE, "-m", "sexpgpu_cli", "check", "--deep", "--json")
    begun = time.perf_counter()
    done = subprocess.run(
        (*command, str(spec.file), *words), capture_output=True, text=True, check=False
    )
    return time.perf_counter() - begun, json.loads(done.stdout)


def line(name: str, seconds: float, document: dict[str, Any]) -> str:
    (file,) = document["files"]
    deep = file.get("deep") or {"checks": [], "set": {}}
    counts = Counter(row["verdict"] for row in deep["checks"])
    told = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
    copy = " ".join(f"{k}={v}" for k, v in deep["set"].items())
    return f"{name:22} {seconds:5.1f} s  {told or 'does not check'}  {copy}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=sorted(MODELS))
    parser.add_argument("--seconds", type=float, default=60.0)
    asked = parser.parse_args()
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.models:
            seconds, document = tried(name, Path(folder))
            said = [d for file in document["files"] for d in file["diagnostics"]]
            lines = [
                line(name, seconds, document),
                *(f"  {d['code']}: {d['message']}" for d in said),
            ]
            sys.stdout.write("\n".join(lines) + "\n")
            sys.stdout.flush()
            worst = max(worst, document["exit"], bool(said), seconds > asked.seconds)
    return worst


if __name__ == "__main__":
    sys.exit(main())
