"""`sample FILE`: text that a trained language model writes."""

from __future__ import annotations

import statistics
from typing import Any

import click

from .. import names
from ..answer import Answer, bounded, document
from ..flags import Real, verb
from ..invocation import Invocation
from .predict import WEIGHTS, opened

SHARE = Real(0, 1, min_open=True)


@verb("sample")
@click.argument("file", metavar="FILE")
@click.option("--from", "save", metavar="RUN[@STEP]", type=names.SAVE, help="FILE's latest run.")
@click.option("--output", metavar="NAME", help="The only autoregressive one.")
@click.option("--prompt", metavar="TEXT", help="What it goes on with; a new line.")
@click.option("--tokens", "count", type=click.IntRange(1), default=200, help="How many; 200.")
@click.option("--temperature", type=Real(0), default=1.0, help="0: the likeliest; 1.")
@click.option("--top-k", type=click.IntRange(1), help="Only of the K likeliest tokens.")
@click.option("--top-p", type=SHARE, help="Only of the likeliest with this share.")
@click.option("--weights", type=WEIGHTS, default="live", help="Which; live.")
@click.option("--seed", type=click.IntRange(0), help="Instead of the run's.")
@click.option("--device", metavar="NAME", help="cpu, reference, or a plug-in's; default cpu.")
def sample(
    invocation: Invocation,
    file: str,
    save: str | None,
    output: str | None,
    prompt: str | None,
    count: int,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    **asked: Any,
) -> Answer:
    """Continue a prompt by an autoregressive output of FILE. The same seed gives the same text."""
    model, told = opened(invocation, file, save, **asked)
    from sexpgpu_core.generation import Writer
    from sexpgpu_core.runtime.token_sampling import Sampler

    with model:
        writer = Writer(model, output)
        sampler = Sampler(temperature, top_k, top_p, told["seed"], writer.name)
        found = writer.write(prompt, count, sampler)
    shown = document(
        "sample",
        **told,
        output=writer.name,
        context=writer.context,
        prompt=found.prompt,
        text=found.text,
        tokens=found.tokens,
        token_s=round(statistics.median(found.seconds), 9),
    )
    text = " ".join(map(str, found.tokens)) if found.text is None else found.text
    if prompt is not None and found.text is not None:
        text = prompt + text
    return Answer(shown, bounded(text, "--limit 0", invocation.limit))
