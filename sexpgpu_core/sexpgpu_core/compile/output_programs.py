"""Traced outputs to programs: planned apart from training, over the values that they read alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..device import Device, Unit
from ..ir import Graph
from ..ir.types import Type
from ..plan.make import layout_persistent
from ..plan.plan import Persistent
from ..records import NamedTuple
from ..runtime.job import ProgramFacts
from ..staging.traced import TracedOutput
from .outputs import Serving
from .phases import Phases, collector_off
from .pipeline import metric_specs
from .programs import Target, Watched, make_unit, nobody, recognized, scalars_of


class CompiledOutput(NamedTuple):
    """Programs of one output by what they are for, and the values that they read or keep."""

    name: str
    traces: Mapping[str, TracedOutput]
    programs: Mapping[str, ProgramFacts]
    units: tuple[Unit, ...]
    persistent: Persistent


@collector_off()
def compile_output(
    serving: Serving,
    name: str,
    traces: Mapping[str, TracedOutput],
    device: Device,
    kept: Mapping[str, Type] | None = None,
    watch: Watched | None = None,
) -> CompiledOutput:
    """Plans for traces by what they are for. `kept`: values that live from launch to launch
    besides parameters and states. `watch`: as `compile_experiment` takes it."""
    loader, stage = serving.stage(name)
    precision = serving.tracing.precision(loader, stage)
    told = nobody(watch)
    target = Target(device, serving.operations, precision, Phases(), told)
    persistent = layout_persistent({**_read(traces.values()), **(kept or {})})
    found = {k: recognized(k, t.graph, serving.operations, told) for k, t in traces.items()}
    units = {k: make_unit(k, graph, persistent, target) for k, graph in found.items()}
    facts = {k: _facts(k, t, units[k].graph) for k, t in traces.items()}
    return CompiledOutput(name, traces, facts, tuple(units.values()), persistent)


def _read(traces: Iterable[TracedOutput]) -> dict[str, Type]:
    found: dict[str, Type] = {}
    for trace in traces:
        found.update({f"parameter:{p}": v.type for p, v in trace.parameters.items()})
        found.update({f"state:{p}": v.type for p, v in trace.states.items() if not v.rows})
        found.update({f"constant:{n}": file.type for n, file in trace.files.items()})
        averages = [n for n in trace.graph.inputs() if n.get("kind") == "ema"]
        found.update({f"ema:{n.get('name')}": n.types[0] for n in averages})
    return found


def _facts(program: str, trace: TracedOutput, graph: Graph) -> ProgramFacts:
    fields = trace.given()
    scalars = scalars_of(graph, trace.scalars)
    return ProgramFacts(program, fields, scalars, metric_specs(trace.metrics), trace.rows or 1)
