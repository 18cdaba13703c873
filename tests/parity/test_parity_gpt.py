"""The GPT of examples/chars.lisp: loss, every gradient and some AdamW steps are PyTorch's."""

from __future__ import annotations

from typing import Any

import gpt_sides
import numpy as np
import pytest
import torch

from bench.twins import Setup
from bench.twins.chars import by_path, optimizer, rate
from sexpgpu_core.ir.scalars import evaluate

STEPS = 8
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,;:!?'-&$3\n"


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """65 letters, 40,000 of them, in no even measure."""
    random = np.random.default_rng(11)
    of = random.dirichlet(np.full(len(LETTERS), 0.5))
    path = tmp_path_factory.mktemp("parity") / "text.txt"
    path.write_text("".join(random.choice(list(LETTERS), 40_000, p=of)) + LETTERS)
    return str(path)


def relative(found: Any, wanted: Any) -> float:
    """Euclidean length of the difference over that of what is wanted."""
    difference = np.linalg.norm(np.asarray(found, "f8") - np.asarray(wanted, "f8"))
    return float(difference / np.linalg.norm(wanted))


@pytest.mark.parametrize("device", ["reference", "cpu"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["f32", "f64"])
def test_loss_and_gradients_are_pytorchs_from_the_same_weights(
    text: str, device: str, dtype: torch.dtype, worst: Any
) -> None:
    ours = gpt_sides.ours(text, device)
    batch = ours.batch(0)
    found = gpt_sides.gradients(ours, batch, threads=2)
    model = gpt_sides.twin(ours, dtype)
    loss = gpt_sides.loss_of(model, batch)
    loss.backward()
    errors = {"loss": abs(float(found.pop("loss")) - loss.item()) / loss.item()}
    for path, parameter in by_path(model).items():
        wanted = gpt_sides.turned(path, parameter.grad.numpy())
        errors[path] = relative(found.pop(path), wanted)
    assert not found
    worst(f"gpt gradients, {device}, PyTorch {dtype}", max(errors.values()))
    assert max(errors.values()) < 1e-4, errors


@pytest.mark.parametrize("device", ["reference", "cpu"])
def test_steps_of_adamw_with_clipping_are_pytorchs(text: str, device: str, worst: Any) -> None:
    ours = gpt_sides.ours(text, device)
    model = gpt_sides.twin(ours)
    update = optimizer(model)
    start = {path: p.detach().numpy().copy() for path, p in by_path(model).items()}
    losses, norms = [], []
    for step in range(STEPS):
        for group in update.param_groups:
            group["lr"] = rate(step, Setup({"lr": 1e-3}, {}, 2000))
        loss = gpt_sides.loss_of(model, ours.batch(step))
        update.zero_grad()
        loss.backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(list(model.parameters()), 1.0)))
        update.step()
        losses.append(loss.item())
    results, weights = _taken(ours)
    assert max(norms) > 1, "clipping is part of the test"
    np.testing.assert_allclose([r["loss"] for r in results], losses, rtol=1e-5)
    np.testing.assert_allclose([r["norm"] for r in results], norms, rtol=1e-4)
    moved = {}
    for path, parameter in by_path(model).items():
        theirs = gpt_sides.turned(path, parameter.detach().numpy() - start[path])
        first = gpt_sides.turned(path, start[path])
        moved[path] = relative(weights[path] - first, theirs)
    worst(f"gpt, {STEPS} steps, {device}", max(moved.values()))
    # Adam divides by the size of the gradient: where it is all rounding, so is the step.
    assert max(moved.values()) < 5e-3, moved


def _taken(ours: gpt_sides.Ours) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Results of STEPS launches of the step program, and the weights after them."""
    job, stage = ours.compiled.job, ours.stage
    session = ours.device.open(job.units, job.persistent, threads=2)
    try:
        for name in job.persistent.types:
            session.write(name, job.initial(name))
        for path, value in ours.weights.items():
            session.write(f"parameter:{path}", value)
        program, results = session.program(stage.step.program), []
        for step in range(STEPS):
            context = {"step": step, "updates": step}
            scalars = {n: evaluate(tree, context) for n, tree in stage.step.scalars.items()}
            outcome = program.launch(ours.batch(step), scalars).outcome()
            assert outcome.committed
            results.append(outcome.results)
        return results, {p: session.read(f"parameter:{p}") for p in ours.weights}
    finally:
        session.close()
