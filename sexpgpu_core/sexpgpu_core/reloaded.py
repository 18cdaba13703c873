"""A run's own file, loaded again as it was, and what tells another one from it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .diagnostics import Problem, Problems
from .lisp_files import read_text
from .spans import Source

if TYPE_CHECKING:
    from .ir import Operations
    from .registry import Registry
    from .runtime.runs import Run

Load = Callable[..., Any]
"""As `api.load`."""


def as_it_was(load: Load, run: Run, file: str | Path | None, seed: int | None) -> Any:
    """With what was chosen for it. `file`, `seed`: in place of the run's."""
    manifest = run.manifest
    chosen = manifest["selection"]
    own = Source(_where_it_was(manifest, manifest["file"]), read_text(run.program / "run.lisp"))
    modules = manifest.get("modules", ()) if file is None else ()
    texts = {m["module"]: read_text(run.program / m["path"]) for m in modules}
    return load(
        own if file is None else file,
        variant=chosen["variant"],
        sets=tuple(chosen["set"].items()),
        point=chosen["point"],
        steps=manifest["steps"],
        seed=manifest["seed"] if seed is None else seed,
        kept={**texts, **{_where_it_was(manifest, name): texts[name] for name in texts}},
    )


def _where_it_was(manifest: Mapping[str, Any], file: str) -> str:
    """The path of a run's file, which its data is beside of, or of a module that it required."""
    return Path(os.path.normpath(Path(manifest.get("cwd", "."), file))).as_posix()


def differing(
    folder: Path,
    experiment_id: str,
    load: Load,
    loaded: Any,
    operations: Callable[[Registry], Operations],
) -> list[str]:
    """What a run's own file, of that experiment, and this one differ in, a text each; nothing where
    it had none of that, or it cannot be read now."""
    from .differences import outdated
    from .runtime import runs

    try:
        run = runs.find(folder.parent, str(folder)).was(experiment_id)
        if run is None:
            return []
        data, own = run.manifest["data"], as_it_was(load, run, None, None)
        return outdated(own, loaded, experiment_id, operations, data)
    except (Problem, Problems, OSError):
        return []
