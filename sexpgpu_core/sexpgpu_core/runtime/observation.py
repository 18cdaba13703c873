"""Sampled steps: the observer before the step's own program, its results as numbers by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..device import Outcome
from ..records import NamedTuple
from .fault import Fault
from .job import HostFacts, Observed, ProbeSpec
from .machine import peak_bytes
from .metrics import scalar
from .progress import evaluate

if TYPE_CHECKING:
    import numpy as np

    from ..device import Pending, Session

BINS = 32
QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


class Observation(NamedTuple):
    """One sampled step's numbers, on their way."""

    pending: Pending | None
    probes: Sequence[ProbeSpec]
    host: HostFacts
    fault: Fault | None = None  # what replays it

    def values(self) -> dict[str, Any]:
        """By name: numbers, histograms (edges and counts), quantiles."""
        results = self.pending.outcome().results if self.pending is not None else {}
        return {probe.name: self._value(probe, results) for probe in self.probes}

    def wrong(self) -> list[str]:
        """The numbers that a device has made and that are not finite, or are of such."""
        results = self.pending.outcome().results if self.pending is not None else {}
        return [
            probe.name
            for probe in self.probes
            if probe.measure is None
            and any(_wrong(results[f"probe:{probe.name}:{i}"]) for i in range(probe.pieces))
        ]

    def _value(self, probe: ProbeSpec, results: Mapping[str, Any]) -> Any:
        if probe.measure is not None:
            return float(probe.measure(self.host))
        pieces = [results[f"probe:{probe.name}:{i}"] for i in range(probe.pieces)]
        return WHOLE[probe.reduce](pieces) if probe.reduce in WHOLE else scalar(pieces[0])


def observe(
    session: Session,
    observed: Observed | None,
    batch: Mapping[str, np.ndarray],
    context: Mapping[str, float],
    waited: float,
) -> Observation | None:
    """Launch a stage's observer on the batch of the step that comes next, if it has numbers."""
    if observed is None:
        return None
    program, pending, fault = observed.program, None, None
    if program is not None:
        scalars = evaluate(program.scalars, context)
        pending = session.program(program.program).launch(batch, scalars)
        step = int(context["step"]) + 1
        fault = Fault("nonfinite", program.program, step, batch, scalars, Outcome(True))
    return Observation(pending, observed.probes, HostFacts(waited, peak_bytes()), fault)


def _wrong(array: Any) -> bool:
    import numpy as np

    return not bool(np.isfinite(np.asarray(array, np.float64)).all())


def data_wait(facts: HostFacts) -> float:
    """Seconds that the step waited for its batch."""
    return facts.data_wait


def peak_memory(facts: HostFacts) -> float:
    """Bytes: the most that the process has held."""
    return float(facts.peak_memory)


def _whole(pieces: Sequence[np.ndarray]) -> np.ndarray:
    import numpy as np

    return np.concatenate([np.asarray(p, np.float64) for p in pieces])


def histogram(pieces: Sequence[np.ndarray]) -> dict[str, list[Any]]:
    """Counts between equally far edges from the least to the greatest finite value."""
    import numpy as np

    values = _whole(pieces)
    finite = values[np.isfinite(values)]
    if not finite.size:
        return {"edges": [], "counts": []}
    counts, edges = np.histogram(finite, BINS)
    return {"edges": edges.tolist(), "counts": counts.tolist()}


def quantiles(pieces: Sequence[np.ndarray]) -> dict[str, dict[str, float]]:
    """Linear between neighbours; NaN where an element is."""
    import numpy as np

    found = np.quantile(_whole(pieces), QUANTILES)
    return {"quantiles": {f"{q:g}": float(v) for q, v in zip(QUANTILES, found)}}


WHOLE = {"histogram": histogram, "quantiles": quantiles}
""":reduce of numbers that the host makes of all elements."""
