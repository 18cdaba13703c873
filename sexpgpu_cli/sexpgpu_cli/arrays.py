"""Arrays by name from and to files: .npy (one array), .npz (by name), .safetensors (by name)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sexpgpu_core.diagnostics import Problem, nearest, problem

if TYPE_CHECKING:
    import numpy as np

FORMATS = (".npz", ".npy", ".safetensors")


def given(pairs: Iterable[str]) -> dict[str, np.ndarray]:
    """Arrays of `F=PATH` texts by field. Raises E-USAGE-VALUE, E-USAGE-FILE."""
    found: dict[str, np.ndarray] = {}
    for pair in pairs:
        name, equals, path = pair.partition("=")
        if not equals or not name:
            hint = f"--in {name or 'FIELD'}=x.npz"
            raise problem("E-USAGE-VALUE", f"--in wants FIELD=PATH, not {pair}", hint=hint)
        if name in found:
            raise problem("E-USAGE-VALUE", f"--in gives {name} twice")
        found[name.lower()] = read(Path(path), name.lower())
    return found


def read(path: Path, name: str) -> np.ndarray:
    """The array of a name, or a file's only one. Raises E-USAGE-FILE, E-USAGE-VALUE."""
    arrays = _arrays(path)
    if name in arrays:
        return arrays[name]
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    near = nearest(name, arrays)
    hint = f"did you mean {near}?" if near else f"it has {' '.join(arrays) or 'none'}"
    raise problem("E-USAGE-VALUE", f"{path} has no array {name}", hint=hint, nearest=near)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    import zipfile

    import numpy as np

    from sexpgpu_core.checkpoint import tensors

    ending(path)
    try:
        if path.suffix == ".safetensors":
            return tensors.load(path)
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {"": loaded}
        with loaded:
            return {name: loaded[name] for name in loaded.files}
    except OSError as error:
        raise _refused(path, error.strerror or str(error)) from error
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        hint = "numpy.savez(path, name=array) writes .npz"
        raise _refused(path, f"it is no {path.suffix} file", hint) from error


def ending(path: Path) -> None:
    """E-USAGE-VALUE where no format goes by a file's ending."""
    if path.suffix not in FORMATS:
        raise problem(
            "E-USAGE-VALUE",
            f"{path}: arrays are in files that end in {' '.join(FORMATS)}",
            hint="numpy.savez(path, name=array) writes .npz",
        )


def write(path: Path, arrays: Mapping[str, Any]) -> None:
    """Whole or not at all. Raises E-USAGE-VALUE where .npy is to hold several, E-USAGE-FILE."""
    import numpy as np

    from sexpgpu_core.checkpoint import tensors
    from sexpgpu_core.checkpoint.disk import replaceable

    if path.suffix == ".npy" and len(arrays) != 1:
        raise problem("E-USAGE-VALUE", f"{path} holds one array, not {len(arrays)}", hint=".npz")
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        target = replaceable(path)
        scratch = target.with_name(f".{target.name}.{os.getpid()}")
        with scratch.open("wb") as made:
            if path.suffix == ".safetensors":
                made.writelines(tensors.chunks(list(arrays), lambda name: arrays[name]))
            elif path.suffix == ".npy":
                np.save(made, next(iter(arrays.values())))
            else:
                np.savez(made, **arrays)
        os.replace(scratch, target)
    except OSError as error:
        scratch.unlink(missing_ok=True)
        raise _refused(path, error.strerror or str(error)) from error


def _refused(path: Path, why: str, hint: str | None = None) -> Problem:
    return problem("E-USAGE-FILE", f"{path}: {why.lower()}", hint=hint, file=str(path))
