"""`load-params`: which array of which file is whose initial value; nothing but headers is read.

Their names are taken with `/` for `.`; `:from` is taken off, the first pair of `:map` that fits
renames (a name or its beginning up to a slash, as `checkpoint export --rename`), `:into` is put in
front.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..caches import remembered
from ..checkpoint import tensors
from ..checkpoint.export import KINDS, Rule, rule
from ..checkpoint.folder import file_of
from ..config import settings
from ..data.files import paths_of
from ..diagnostics import Problem, nearest, problem
from ..experiment.declarations import LoadDeclaration
from ..ir.types import FLOATS, Type, numpy_dtype
from ..records import NamedTuple
from ..staging.selectors import glob_pattern

if TYPE_CHECKING:
    import numpy as np

SHOWN = 6


class Piece(NamedTuple):
    """One array of a file: its name there, whether it is transposed, what it becomes."""

    path: Path
    name: str
    transposed: bool
    type: Type
    span: Any

    def value(self) -> np.ndarray:
        """Read and cast. E-PARAM-LOAD where a finite number becomes infinite."""
        import numpy as np

        array = tensors.load_one(self.path, self.name)
        array = np.asarray(array.T if self.transposed else array, order="C")
        with np.errstate(over="ignore"):
            found = array.astype(numpy_dtype(self.type.dtype))
        if found.dtype != array.dtype and self.type.dtype in FLOATS:
            wide = found.astype(np.float64)
            if np.isinf(wide[np.isfinite(array.astype(np.float64))]).any():
                raise problem(
                    "E-PARAM-LOAD",
                    f"{self.name} does not fit into {self.type.dtype}",
                    hint="declare the parameter with a wider :dtype",
                ).locate(self.span)
        return found


class Loads(NamedTuple):
    """`pieces`: by persistent name. `files`: path, bytes and SHA-256 of each that is read."""

    pieces: Mapping[str, Piece]
    files: tuple[dict[str, Any], ...]

    @property
    def digests(self) -> tuple[Any, ...]:
        """What identity is made of: which array of which content is whose."""
        known = {f["path"]: f["sha256"] for f in self.files}
        return tuple(
            (name, known[p.path.as_posix()], p.name, p.transposed)
            for name, p in sorted(self.pieces.items())
        )


def plan_loads(declared: Sequence[LoadDeclaration], types: Mapping[str, Type], base: str) -> Loads:
    """What the declarations give to parameters and states of these types. Raises E-PARAM-LOAD,
    E-DATA-MISSING, what naming a run raises."""
    pieces: dict[str, Piece] = {}
    files: dict[Path, dict[str, Any]] = {}
    for load in declared:
        try:
            found = _one(load, types, base)
        except Problem as error:
            raise error.locate(load.span) from None
        twice = sorted(set(found) & set(pieces))
        if twice:
            raise problem("E-PARAM-LOAD", f"{twice[0]} is loaded twice").locate(load.span)
        pieces.update(found)
        for path in dict.fromkeys(p.path for p in found.values()):
            files.setdefault(path, _fact(path))
    return Loads(pieces, tuple(files.values()))


def _one(load: LoadDeclaration, types: Mapping[str, Type], base: str) -> dict[str, Piece]:
    theirs = _of_run(load) if load.at is not None else _of_files(load, base)
    rules = [rule(f"{_slashed(a)}={_slashed(b)}") for a, b in load.renames]
    start, into = _slashed(load.start), _slashed(load.into)
    found: dict[str, Piece] = {}
    left = []
    for name, (path, inner, type) in theirs.items():
        ours = _renamed(name, start, into, rules)
        kind = next((k for k in ("parameter", "state") if f"{k}:{ours}" in types), None)
        if _matches(load.ignore, name):
            continue
        if ours is None or kind is None:
            left.append(name)
            continue
        transposed = _matches(load.transpose, name)
        wanted = types[f"{kind}:{ours}"]
        found[f"{kind}:{ours}"] = Piece(path, inner, transposed, wanted, load.span)
        _fits(load, name, ours, type, wanted, transposed)
    _complete(load, into, found, left, types)
    return found


def _slashed(name: str) -> str:
    return name.replace(".", "/").strip("/")


def _renamed(name: str, start: str, into: str, rules: Iterable[Rule]) -> str | None:
    """Our name of theirs; None where it does not begin with :from."""
    if start:
        if not name.startswith(start + "/"):
            return None
        name = name[len(start) + 1 :]
    name = next((new for r in rules if (new := r.of(name)) != name), name)
    return f"{into}/{name}" if into else name


def _matches(globs: Iterable[str], name: str) -> bool:
    return any(glob_pattern(_slashed(glob)).match(name) for glob in globs)


def _fits(
    load: LoadDeclaration, name: str, ours: str, type: Type, wanted: Type, transposed: bool
) -> None:
    shape = tuple(reversed(type.shape)) if transposed else type.shape
    if shape != wanted.shape:
        turned = tuple(reversed(type.shape)) == wanted.shape and not transposed
        hint = f'(load-params ... :transpose ("{name}"))' if turned else None
        raise problem(
            "E-PARAM-LOAD", f"{name} is {type}, and {ours} is {wanted}", hint=hint, theirs=name
        )
    floats = type.dtype in FLOATS and wanted.dtype in FLOATS
    if type.dtype != wanted.dtype and not (floats and load.cast):
        why = "is not cast" if floats else "is another kind of number"
        raise problem("E-PARAM-LOAD", f"{name} is {type}, which {why}: {ours} is {wanted}")


def _complete(
    load: LoadDeclaration,
    into: str,
    found: Mapping[str, Piece],
    left: list[str],
    types: Mapping[str, Type],
) -> None:
    """Nothing of theirs is left over and nothing of ours is without a value."""
    ours = [n.partition(":")[2] for n in types if n.startswith("parameter:")]
    open_ = [
        path
        for path in ours
        if (not into or path.startswith(into + "/"))
        and f"parameter:{path}" not in found
        and not _matches(load.missing, path)
    ]
    if left:
        near = nearest(left[0], ours)
        hint = f"the nearest of ours is {near}. " if near else ""
        raise problem(
            "E-PARAM-LOAD",
            f"nothing of ours takes {_listed(left)}",
            hint=hint + ":map (theirs ours) renames, :ignore leaves out; "
            f"ours without a value: {_listed(open_) or 'none'}",
            left=left,
            missing=open_,
        )
    if open_:
        raise problem(
            "E-PARAM-LOAD",
            f"{load.source} has no value for {_listed(open_)}",
            hint=":missing (glob ...) leaves them as they begin",
            missing=open_,
        )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


Theirs = dict[str, "tuple[Path, str, Type]"]


def _of_files(load: LoadDeclaration, base: str) -> Theirs:
    """By name with slashes: the file, the name in it, the type."""
    found: Theirs = {}
    for path in paths_of(load.source, base):
        for file in _shards(path):
            for name, (dtype, shape) in _header(file).items():
                found[_slashed(name)] = file, name, Type(dtype, shape)
    return found


def _shards(path: Path) -> list[Path]:
    """The files that an index names, or the file itself."""
    if not path.name.endswith(".json"):
        return [path]
    try:
        files = sorted(set(json.loads(path.read_bytes())["weight_map"].values()))
    except (ValueError, KeyError, AttributeError) as wrong:
        told = f"{path.name} is no index of safetensors files"
        raise problem("E-PARAM-LOAD", told, hint="it has a weight_map") from wrong
    return [path.with_name(str(name)) for name in files]


def _header(path: Path) -> dict[str, tuple[str, tuple[int, ...]]]:
    try:
        return tensors.header(path)
    except OSError as refused:
        raise problem("E-DATA-MISSING", f"{path}: {refused.strerror}") from refused
    except (ValueError, KeyError, AttributeError) as wrong:
        raise problem("E-PARAM-LOAD", f"{path.name} is no safetensors file") from wrong


def _of_run(load: LoadDeclaration) -> Theirs:
    """Weights and states of a run's checkpoint, by path."""
    from ..runtime import runs

    _, saved = runs.save(settings().runs, f"{load.source}@{load.at}")
    found: Theirs = {}
    for file in saved.document["files"]:
        path = saved.path / file["path"]
        for name, (dtype, shape) in _header(path).items():
            kind, _, ours = file_of(file["path"], name).partition(":")
            if kind + ":" in (KINDS[load.weights], "state:"):
                found[ours] = path, name, Type(dtype, shape)
    return found


def _fact(path: Path) -> dict[str, Any]:
    """Path, size and SHA-256, which is remembered while neither size nor time changes."""
    stat = path.stat()
    stamp = (str(path.resolve()), stat.st_size, stat.st_mtime_ns)
    digest = remembered("weights", stamp, lambda: _digest(path))
    return {"path": path.as_posix(), "sha256": digest, "bytes": stat.st_size}


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            found.update(piece)
    return found.hexdigest()
