"""`plugins`: what is installed, what each distribution adds, and what is wrong with it."""

from __future__ import annotations

from typing import Any

import click

from sexpgpu_core import registry as tables
from sexpgpu_core.diagnostics import Diagnostic, Problem, diagnostic
from sexpgpu_core.diagnostics.render_json import diagnostic_json
from sexpgpu_core.diagnostics.render_text import render_all
from sexpgpu_core.entries import API
from sexpgpu_core.registry import HOOKS, Distribution, Registry

from ..answer import Answer, document
from ..flags import verb
from ..invocation import Invocation


@verb("plugins")
@click.option(
    "--verify",
    is_flag=True,
    help="Import everything that rows refer to, try tokenizers. Exit 1 on a fault.",
)
@click.option("--refresh", is_flag=True, help="Do not use the cache of rows.")
def plugins(invocation: Invocation, verify: bool, refresh: bool) -> Answer:
    """List distributions and what each registered."""
    found = invocation.registry
    if refresh:
        from sexpgpu_core.plugins import installed

        found = installed(invocation.settings, refresh=True)
    unresolved = [*unresolvable(found), *unkept(found), *unlike(found)] if verify else []
    told = document(
        "plugins",
        api=API,
        cached=found.cached,
        distributions=[described(found, d) for d in found.distributions],
        clashes=[
            {**clash._asdict(), "distributions": list(clash.distributions)}
            for clash in found.clashes
        ],
    )
    faults = [*found.faults, *unresolved]
    if unresolved:
        told["diagnostics"] = [diagnostic_json(d) for d in unresolved]
    lines = [line(found, d) for d in found.distributions]
    text = "\n".join(lines) + ("\n\n" + render_all(faults) if faults else "")
    return Answer(told, text, int(verify and bool(faults)))


def described(found: Registry, d: Distribution) -> dict[str, Any]:
    """One distribution as the document has it."""
    fault = d.diagnostic()
    return {
        "distribution": d.name,
        "version": d.version,
        "module": d.module,
        "builtin": d.name in tables.BUILTIN,
        **({"api": d.api} if d.api is not None else {}),
        "import_s": d.import_s,
        "state": d.state,
        "error": diagnostic_json(fault) if fault is not None else None,
        "provides": provides(found, d),
    }


def provides(found: Registry, d: Distribution) -> dict[str, list[str]]:
    """Names that are this distribution's, by hook."""
    owned = {
        hook: [n for n in found.names(hook) if found.owner(hook, n) == d.name] for hook in HOOKS
    }
    return {hook: names for hook, names in owned.items() if names}


def line(found: Registry, d: Distribution) -> str:
    """`sexpgpu-toy 0.3.0: ok; devices toy; operations toy/softsign`."""
    added = [f"{hook} {' '.join(names)}" for hook, names in provides(found, d).items()]
    return f"{d.name} {d.version}: " + "; ".join([d.state, *added])


def unresolvable(found: Registry) -> list[Diagnostic]:
    """References of rows that do not import."""
    faults = []
    for hook in HOOKS:
        for name in found.names(hook):
            for reference in tables.references(found.get(hook, name)):
                try:
                    tables.resolve(reference)
                except (ImportError, AttributeError) as error:
                    message = f"{found.owner(hook, name)}: {hook} {name}: {error}"
                    faults.append(diagnostic("E-PLUGIN-FACT", message))
    return faults


def unlike(found: Registry) -> list[Diagnostic]:
    """Executors without what a sweep calls."""
    from sexpgpu_core.sweeps.executor import METHODS

    faults = []
    for name in found.names("executors"):
        try:
            made = found.load("executors", name)
        except Problem:  # `unresolvable` has told it
            continue
        missing = [method for method in METHODS if not callable(getattr(made, method, None))]
        if missing:
            message = f"{found.owner('executors', name)}: executors {name}: no {' '.join(missing)}"
            faults.append(diagnostic("E-PLUGIN-FACT", message))
    return faults


def unkept(found: Registry) -> list[Diagnostic]:
    """Promises that tokenizers without files break, tried on a few texts."""
    from sexpgpu_core.data.tokenizer_contract import broken

    faults = []
    for name in found.names("tokenizers"):
        row = found.get("tokenizers", name)
        if row.vocabulary is None or row.files:
            continue
        of = f"{found.owner('tokenizers', name)}: tokenizers {name}"
        try:
            told = list(broken(row, found.load("tokenizers", name)({"paths": (), "base": "."})))
        except Exception as error:  # a plug-in's: whatever it raises is its fault
            told = [f"{type(error).__name__}: {error}"]
        faults += [diagnostic("E-PLUGIN-FACT", f"{of}: {why}") for why in told]
    return faults
