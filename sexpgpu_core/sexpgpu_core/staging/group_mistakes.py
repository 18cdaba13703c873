"""Groups that get no parameter, or minimise a loss that is none: what was meant."""

from __future__ import annotations

from collections.abc import Mapping

from ..diagnostics import Problem, nearest, problem
from .forms.optimizers import GroupValue
from .traced import Parameter


def empty(
    group: GroupValue, members: list[list[str]], parameters: Mapping[str, Parameter], stage: str
) -> Problem:
    """E-GROUP-EMPTY: who has what it matches, or what the nearest parameter is called."""
    what = group.selector.text() if group.selector else ":rest"
    selector = group.selector
    wanted = [p.path for p in parameters.values() if selector is None or selector.matches(p, stage)]
    taken = [i for i, paths in enumerate(members, 1) if set(paths) & set(wanted)]
    globs = [str(a) for key, a in (selector.tests if selector else ()) if key == "path"]
    near = nearest(globs[0], parameters) if globs else None
    if taken:
        hint = f"group {taken[0]}, which stands before it, takes what it matches"
    elif near:
        hint = f"did you mean {near}? No path is like it"
    else:
        hint = "nothing matches: " + " ".join(list(parameters)[:6])
    return problem(
        "E-GROUP-EMPTY",
        f"{what} gets no parameter",
        hint=f"{hint}; :optional t allows it",
        nearest=near,
    )


def no_loss(group: GroupValue, names: set[str]) -> Exception:
    """E-GROUP-LOSS of a group that says no loss where there are several, or one that is none."""
    told, near = "with several losses each group says which it minimises", None
    hint = "losses: " + " ".join(f":loss :{n}" for n in sorted(names))
    if group.loss is not None:
        told, near = f"no loss is named :{group.loss}", nearest(group.loss, names)
        if not names:
            hint = "the objective is one loss: leave :loss out, or return (losses :name x ...)"
    return problem(
        "E-GROUP-LOSS",
        told,
        hint=f"did you mean :{near}?" if near else hint,
        written=f":{group.loss}",
        nearest=f":{near}" if near else None,
    ).locate(group.span)
