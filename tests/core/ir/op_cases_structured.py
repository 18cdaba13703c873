"""Applications of linear algebra, transforms, alignments and extrema by index."""

from __future__ import annotations

from op_case import Case, case

_MATRICES = ((3, 3), (1, 1), (2, 3, 3), (0, 3, 3), (5, 5))


def _linear() -> list[Case]:
    found = [
        case(name, (shape, "m"))
        for name in ("cholesky", "inverse", "det", "logdet")
        for shape in _MATRICES
    ]
    for shape in _MATRICES:
        wide = (*shape[:-1], 2)
        found.append(case("solve", (shape, "m"), wide))
        found += [
            case("solve-triangular", (shape, "m"), wide, upper=u, transpose=t, unit=n)
            for u, t, n in ((False, False, False), (True, False, True), (True, True, False))
        ]
    return [*found, case("solve-triangular", ((2, 2), "m"), (2, 0), transpose=True, unit=True)]


_FFT = [
    case("fft", (2, 5), axis=1),
    case("fft", (6, 2), (6, 2), axis=0, inverse=True),
    case("fft", (3, 1), axis=1),
    case("fft", (2, 0), axis=1),
    case("fft", (2, 37), (2, 37), axis=1),
]

_CTC = [
    case(
        "ctc-loss",
        (3, 5, 4),
        ((3, 2), ("=", (1, 2, 3, 3, 2, 1))),
        ((3,), ("=", (5, 4, 3))),
        ((3,), ("=", (2, 2, 1))),
    ),
    case(
        "ctc-loss",
        (2, 3, 3),
        ((2, 1), ("=", (0, 1))),
        ((2,), ("=", (3, 0))),
        ((2,), ("=", (1, 0))),
        blank=2,
    ),
    case("ctc-loss", (0, 3, 3), ((0, 1), ("i", 2)), ((0,), ("i", 2)), ((0,), ("i", 2))),
    case(
        "ctc-loss",
        (1, 7, 3),
        ((1, 3), ("=", (1, 2, 1))),
        ((1,), ("=", (6,))),
        ((1,), ("=", (3,))),
    ),
    case(
        "ctc-loss",
        (1, 1, 2),
        ((1, 1), ("=", (1,))),
        ((1,), ("=", (1,))),
        ((1,), ("=", (1,))),
    ),
]

_EXTREMA = [
    case(name, shape, (index, ("i", shape[axis])), part, axis=axis)
    for name in ("scatter-max", "scatter-min")
    for shape, index, part, axis in [
        ((5, 3), (4,), (4, 3), 0),
        ((2, 5), (7,), (2, 7), 1),
        ((3,), (), (), 0),
        ((2, 1), (2, 3), (2, 3, 1), 0),
        ((2, 3), (0,), (0, 3), 0),
    ]
] + [case("scatter-max", (2, 4), ((3,), ("o", 4)), (2, 3), axis=1, out="drop")]

STRUCTURED: list[Case] = [*_linear(), *_FFT, *_CTC, *_EXTREMA]
