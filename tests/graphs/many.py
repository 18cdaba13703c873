"""Graphs by the thousand: `cpu` beside `reference`, and text that reads back.

python -P tests/graphs/many.py [--count N] [--seed S]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # `python -P` leaves it out
from both_devices import Share, disagreements, told
from grown import graphs
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from sexpgpu_core.ir import Graph
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.text import parse, same, write
from sexpgpu_core.ir.verify import verify

POLICIES = ("f32", "f32", "f32", "bf16", "f16")
LEAST_KNOWN = 0.5
"""Share of elements that must be told from noise: else nothing is compared."""


def law(
    count: int,
    start: int,
    steps: bool = True,
    shrink: bool = False,
    compare: Callable[..., list[str]] = disagreements,
) -> Callable[[], None]:
    """A test over `count` graphs; `start` chooses them, `steps` runs them on both devices, which
    `compare` does.
    `shrink`: minutes are spent to fail with a small graph."""
    share = Share()

    @seed(start)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
    )
    @given(graphs(), st.sampled_from(POLICIES), st.integers(0, 9))
    def grown_graphs(graph: Graph, policy: str, values: int) -> None:
        wrong = reading(graph) + (compare(graph, policy, values, share) if steps else [])
        assert not wrong, told(graph, [policy, *wrong])

    def checked() -> None:
        grown_graphs()
        assert not steps or share.known >= LEAST_KNOWN * share.all, (share.known, share.all)

    return checked


def reading(graph: Graph) -> list[str]:
    """What is wrong with the text of a graph."""
    back = parse(write(graph))
    verify(back, OPERATIONS)
    if not same(back, graph) or write(back) != write(graph):
        return ["the text reads back as another graph"]
    return []


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=2000)
    arguments.add_argument("--seed", type=int, default=0)
    given_ = arguments.parse_args()
    try:
        law(given_.count, given_.seed, shrink=True)()
    except AssertionError as wrong:
        sys.stdout.write(f"{wrong}\n")
        return 1
    sys.stdout.write(f"{given_.count} graphs: cpu is reference, and their texts read back\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
