"""Examples of codes as files to check: fragments in the smallest run file, with what they need."""

from __future__ import annotations

import re
from pathlib import Path

from sexpgpu_core import api
from sexpgpu_core.diagnostics import Diagnostic, Edit
from sexpgpu_core.diagnostics.example import Example
from sexpgpu_core.spans import Source

PARTS = {
    "require": '(require "sexpgpu/nn")\n(require "sexpgpu/optim")\n',
    "other": "",
    "loader": "(defloader data\n  (source (digits))\n  (stage :train :split (0 0.8))\n"
    "  (stage :val :split (0.8 1))\n  (batch 8))\n",
    "prepare": "",
    "model": "(defmodel net (x)\n  (nn:linear x 10))\n",
    "objective": "(defun objective (&key image label)\n"
    '  (metric "loss" (nn:cross-entropy (net image) label)))\n',
    "evaluate": "",
    "pass": "(defeval val :loader (data :val))\n",
    "optimizer": "(defun optimizer ()\n  (groups (group :rest (optim:adamw :lr 1e-3))))\n",
    "curriculum": "",
    "output": "",
    "run": "(defrun :steps 100)\n",
}
"""The smallest run file by what its forms are, in the order in which they stand."""

HEADS = {
    "(require ": "require",
    "(defloader ": "loader",
    "(defun prepare ": "prepare",
    "(defmodel ": "model",
    "(defun objective ": "objective",
    "(defun evaluate ": "evaluate",
    "(defeval ": "pass",
    "(deftarget ": "pass",
    "(defoutput ": "output",
    "(defun curriculum ": "curriculum",
    "(defun optimizer ": "optimizer",
    "(defrun ": "run",
}
ADDED = ("require",)


def whole(example: Example, text: str) -> str:
    """The file that holds a part of an example."""
    if example.frame == "alone":
        return text + "\n"
    if example.frame == "body":
        text = (
            f"(defmodel net (x)\n  {text})\n"
            "(defun objective (&key image)\n  (mean (cast (net image) :f32)))\n"
            "(defun optimizer ()\n  (groups))\n"
        )
    parts: dict[str, str] = {}
    for form in re.split(r"^(?=\()", text, flags=re.M)[1:]:
        kind = next((k for head, k in HEADS.items() if form.startswith(head)), "other")
        parts[kind] = parts.get(kind, "") + form.rstrip() + "\n"
    for kind in ADDED:
        if kind in parts:
            parts[kind] = PARTS[kind] + parts[kind]
    return "".join({**PARTS, **parts}.values())


def found(text: str, folder: Path) -> list[Diagnostic]:
    """What `check` says of a text."""
    return api.check(Source((folder / "x.lisp").as_posix(), text)).diagnostics


def mended(text: str, edit: Edit, folder: Path) -> str:
    """The text after an edit, which may change a file beside it instead."""
    for change in sorted(edit.changes, key=lambda c: -c.span.start):
        source, start, end = change.span
        new = source.text[:start] + change.new + source.text[end:]
        if source.name == (folder / "x.lisp").as_posix():
            text = text[:start] + change.new + text[end:]
        else:
            Path(source.name).write_text(new, encoding="utf-8")
    return text
