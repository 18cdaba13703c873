"""The attributes of each operation: required ones, then after | those that may be left out."""

from __future__ import annotations

from ...records import NamedTuple

_ROWS = """
input: name kind dtype shape
constant: value dtype shape
iota: dtype shape axis
table: dtype shape values
gradient-scale: factor
cast bitcast: dtype
broadcast-to reshape: shape
permute flip: axes
slice: starts stops steps
slice-set: starts
pad: low high value | interior
concat: axis
reduce-sum reduce-max reduce-min reduce-product reduce-any reduce-all logsumexp: axes | keep
argmax argmin: axis | keep
quantile: q axes | keep
cumsum cumprod: axis | reverse exclusive
cummax cummin: axis | reverse
matmul matmul-bias matmul-gelu matmul-gelu-slope: | transpose-x transpose-y
einsum: subscripts
gather scatter-add scatter-set scatter-max scatter-min: axis | batch-axes out
take-along put-along add-along: axis | out
one-hot: n axis | dtype
argsort sort: axis | descending
top-k: k axis | smallest
searchsorted: | right
index-guard: limit
segment-sum: n | out
solve-triangular: | upper transpose unit
svd: | full
newton-schulz: steps coefficients
fft: axis | inverse
ctc-loss ctc-alignment: | blank
random-bits: site domain seed shape | batch-axis row-offset
random-uniform random-normal: site domain seed shape dtype | batch-axis row-offset
random-bernoulli: site domain seed shape p | batch-axis row-offset
gelu: | approximate
softplus: | beta
elu: | alpha
leaky-relu: | slope
softmax log-softmax: axis | scale
layer-norm rms-norm: axes eps
group-norm: groups eps
cross-entropy: axis | smoothing ignore-index z-loss out
binary-cross-entropy: | smoothing positive-weight
attention: | extras causal window scale soft-cap rate
attention-forward attention-backward: | causal window scale
rope: | base dims scale interleaved
conv: strides dilations padding groups
conv-input-gradient: strides dilations padding groups input-shape
conv-weight-gradient: strides dilations padding groups kernel-shape
conv-transpose: strides dilations padding groups | output-padding
max-pool max-pool-gradient: sizes strides padding | dilations
avg-pool: sizes strides padding | count-padding
avg-pool-gradient: sizes strides padding input-shape | count-padding
update: body inputs results
scan: body inputs results length | reverse save
while: body inputs results limit
cond: body other inputs results
custom-gradient: body inputs values
"""


class Names(NamedTuple):
    """Attributes an operation takes. Flags that are left out are false."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((*self.required, *(f"[{n}]" for n in self.optional)))


def _read() -> dict[str, Names]:
    found = {}
    for row in _ROWS.strip().splitlines():
        operations, _, names = row.partition(":")
        required, _, optional = names.partition("|")
        known = Names(tuple(required.split()), tuple(optional.split()))
        found.update(dict.fromkeys(operations.split(), known))
    return found


ATTRIBUTES = _read()
"""By operation; one that is not there takes none."""
