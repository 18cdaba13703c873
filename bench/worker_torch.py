"""A PyTorch process of the step benchmark: reads `block N`, takes N steps, answers the median ms.

Usage: worker_torch.py MODE THREADS [BATCH CONTEXT DEPTH WIDTH HEADS]. MODE: eager or compile.
"""

from __future__ import annotations

import statistics
import sys
import time

import torch
from gpt_torch import Gpt, Shape, optimizer


def main() -> None:
    mode, threads = sys.argv[1], int(sys.argv[2])
    sizes = [int(s) for s in sys.argv[3:8]]
    shape = Shape(*(sizes[i] for i in (2, 3, 4, 1, 0))) if sizes else Shape()
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = Gpt(shape)
    update = optimizer(model)
    call = torch.compile(model, fullgraph=True) if mode == "compile" else model
    parameters = list(model.parameters())
    size = (shape.batch, shape.context)
    tokens = torch.randint(shape.vocabulary, size)
    targets = torch.randint(shape.vocabulary, size)

    def step() -> None:
        loss = call(tokens, targets)
        update.zero_grad()
        loss.backward()
        nn_clip(parameters)
        update.step()

    def nn_clip(of: list[torch.nn.Parameter]) -> None:
        torch.nn.utils.clip_grad_norm_(of, 1.0)

    for _ in range(5):
        step()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        count = int(line.split()[1])
        times = []
        for _ in range(count):
            start = time.perf_counter()
            step()
            times.append(time.perf_counter() - start)
        sys.stdout.write(f"{1e3 * statistics.median(times):.4f}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
