"""Options by the words of other frameworks, and options of one form that are written in another:
what each is called here, and where it stands. Read only once an option is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..diagnostics import nearest

SAME = {
    "steps": "max-steps num-steps n-steps total-steps train-steps iterations max-iters num-iters",
    "epochs": "max-epochs num-epochs n-epochs num-train-epochs",
    "seed": "random-seed random-state rng",
    "precision": "dtype amp mixed-precision bf16 fp16 autocast",
    "microbatches": "gradient-accumulation-steps accumulate-grad-batches grad-accum accum-steps "
    "accumulation accumulate",
    "log-every": "log-interval logging-steps log-every-n-steps print-every log",
    "checkpoint": "save-every save-steps save-interval checkpoint-every checkpoint-dir save",
    "deadline": "max-time time-limit timeout",
    "device": "accelerator devices",
    "batch": "batch-size micro-batch-size global-batch-size",
    "order": "shuffle sampler",
    "split": "validation-split train-split val-split",
    "windows": "block-size context-length seq-len sequence-length max-length context",
    "clip-norm": "max-grad-norm gradient-clip-val grad-clip gradient-clipping clip grad-norm-clip",
    "ema": "ema-decay ema-rate use-ema averaging",
    "every": "eval-every val-every eval-steps eval-interval check-val-every-n-epoch val-interval",
    "lr": "learning-rate",
    "weight-decay": "wd l2",
}
"""Ours, and the words of others for it."""

FOUND = {word: ours for ours, words in SAME.items() for word in words.split()}
_RUN = dict.fromkeys(
    ("steps", "epochs", "seed", "precision", "microbatches", "log-every", "deadline", "device"),
    "defrun: (defrun :steps 1000 :{} ...)",
)
_RULE = "an optimizer: (group :rest (optim:adamw :{} ...))"
WHERE = {
    **_RUN,
    "steps": "defrun: (defrun :steps 1000)",
    "checkpoint": "defrun: (defrun :steps 1000 :checkpoint (:every 500))",
    "batch": "a loader, as a clause: (batch 32)",
    "windows": "a loader, as a clause: (windows 129)",
    "order": "a stage of a loader: (stage :train :order :shuffled)",
    "split": "a stage of a loader: (stage :train :split (0 0.9))",
    "clip-norm": "groups: (groups :clip-norm 1.0 (group ...))",
    "clip-value": "groups: (groups :clip-value 1.0 (group ...))",
    "ema": "groups: (groups :ema 0.999 (group ...))",
    "every": "a pass: (defeval val :loader (data :val) :every 100)",
    "lr": _RULE,
    "momentum": _RULE,
    "weight-decay": _RULE,
    "patience": "no form: a curriculum that returns nil ends a run, by (ctx :metric ...)",
    "early-stopping": "no form: a curriculum that returns nil ends a run, by (ctx :metric ...)",
    "betas": "an optimizer, one by one: (optim:adamw :beta1 0.9 :beta2 0.95)",
}
"""Where an option of ours stands."""


def meant(found: str, known: Sequence[str]) -> tuple[str | None, str | None]:
    """What an option (with or without its colon) is called among `known`, written as they are;
    else a hint of the form where such an option stands."""
    name = _plain(found)
    target = FOUND.get(name, name)
    ours = next((k for k in known if k.lstrip(":") == target), None)
    where = WHERE.get(target)
    if ours is not None or where is None:
        return ours or nearest(found, known), None
    said = f"that is :{target}; it" if target != name else "it"
    return None, f"{said} belongs to {where.format(target)}"


def _plain(found: str) -> str:
    return found.lstrip(":").lower().replace("_", "-")
