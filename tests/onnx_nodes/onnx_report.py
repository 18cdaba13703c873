"""All node tests of the `onnx` wheel on both devices: which agree, which do not map and why.

One agrees within its own tolerance, or in 16 bits where its output is farther from f64 than ours.

`nox -s onnx -- [--least N] [--only PART]`; it fails where one differs.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from onnx_cases import cases
from onnx_verdict import MAPPING, Verdict, verdict


def main() -> int:
    words = argparse.ArgumentParser()
    words.add_argument("--least", type=int, default=0, help="tests that must agree")
    words.add_argument("--only", default="", help="part of the tests' names")
    asked = words.parse_args()
    found = [verdict(c) for c in cases() if asked.only in c.name]
    for line in told(found):
        sys.stdout.write(line + "\n")
    agreed = sum(v.reason is None and not v.differences for v in found)
    differ = sum(bool(v.differences) for v in found)
    return int(differ > 0 or agreed < asked.least)


def told(found: list[Verdict]) -> list[str]:
    """A line an operation that maps, a line a reason, a line a difference."""
    agreed = Counter(
        name
        for v in found
        if v.reason is None and not v.differences
        for name in v.case.operations[:1]
    )
    lines = [f"{name} {agreed[name]}" for name in sorted(MAPPING) if agreed[name]]
    why: dict[str, list[str]] = {}
    for v in found:
        if v.reason is not None:
            why.setdefault(v.reason, []).append(v.case.name.removeprefix("test_"))
    lines += [""] + [
        f"{len(names)} do not map: {reason}: {' '.join(names)}"
        for reason, names in sorted(why.items(), key=lambda pair: -len(pair[1]))
    ]
    lines += [f"DIFFERS {v.case.name}: {v.differences}" for v in found if v.differences]
    total = sum(agreed.values())
    unmapped = sum(v.reason is not None for v in found)
    differ = sum(bool(v.differences) for v in found)
    lines.append(
        f"{total} of {len(found)} node tests agree on reference and cpu, {differ} differ, "
        f"{unmapped} do not map"
    )
    return lines


if __name__ == "__main__":
    sys.exit(main())
