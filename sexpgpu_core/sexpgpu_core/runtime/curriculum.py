"""Which stage the next step is of: the one that trains, or what `curriculum` answers (45.7).

What it is asked with is a function of steps alone, so a run that resumes asks the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..data.loader import Loader
from .job import Job, StageFacts
from .progress import Progress

Metrics = Callable[[str, str], Any]
"""(series, which) -> a number or None; which: last best since-best count."""
Ask = Callable[[Mapping[str, Any], Metrics], "str | None"]
"""Values of `(ctx key)` and the series reported so far -> LOADER:STAGE, or None to end."""


def default_key(stages: Mapping[str, StageFacts]) -> str:
    """The stage :train, or the first that there is."""
    trained = [key for key, stage in stages.items() if stage.stage == "train"]
    return trained[0] if trained else next(iter(stages))


def saved_key(job: Job, document: Mapping[str, Any]) -> str:
    """The stage that a checkpoint was in; the default where the file has no such stage now."""
    stage = document["stage"]
    key = f"{stage.get('loader', '')}:{stage['name']}"
    return key if key in job.stages else default_key(job.stages)


def context(
    progress: Progress,
    key: str,
    stages: Mapping[str, StageFacts],
    loaders: Mapping[str, Loader],
) -> dict[str, Any]:
    """What `curriculum` may ask before the next step. `key`: the stage of the step before; before
    the first step `:stage` is nil."""
    stage = stages[key]
    numbers = progress.context(key, stage, loaders[stage.loader])
    if not progress.step:
        return {**numbers, "stage": None}
    declared = loaders[stage.loader].declaration.stages[stage.stage].steps
    return {**numbers, "stage": f":{stage.stage}", "stage-steps": declared}


def next_key(
    job: Job,
    progress: Progress,
    key: str,
    loaders: Mapping[str, Loader],
    metrics: Metrics,
) -> str | None:
    """LOADER:STAGE of the next step, or None where the curriculum ends the run."""
    if job.curriculum is None:
        return default_key(job.stages)
    return job.curriculum(context(progress, key, job.stages, loaders), metrics)
