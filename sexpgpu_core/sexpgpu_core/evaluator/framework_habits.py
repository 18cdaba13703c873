"""What people write who come from PyTorch, NumPy, JAX, Keras or einops, and what it is here.

As in `habits`: a single word can stand in the same place, other text is a hint.
"""

from __future__ import annotations

_PARAMETER = "(defparam name (shape...) :init (normal 0.02)) in a model's body, bound over its rest"
_STATE = "(defstate name (shape...) :init 0) in a model's body; (setf name value) sets it"
_GRADIENT = "nothing: gradients are those of the objective; (grad f x) is one in a graph"
_PLACED = "nothing: run --device says where a file runs"
_SIZES = "a mask and where: a size that depends on contents has no shape"
_MASKED = "(where mask value x)"
_EINOPS = "(reshape x '(...)) and (permute x '(...)); (einsum \"...\" x) for products"

FORMS = {
    "DEFCALLBACK": "(defdiagnostic name (...) (:for ...) ...); run --sink for what goes out",
    "DEFCHECKPOINT": ":checkpoint (:every n) of defrun",
    "DEFCONFIG": "defknob",
    "DEFDATA": "defloader",
    "DEFDATASET": "defloader",
    "DEFEXPERIMENT": "defrun",
    "DEFHYPERPARAMETER": "defknob",
    "DEFLAYER": "defmodel",
    "DEFLOSS": '(defun objective (&key field...) (metric "loss" ...))',
    "DEFMETRIC": '(metric "name" value) in objective or evaluate',
    "DEFMODULE": "defmodel",
    "DEFNET": "defmodel",
    "DEFNETWORK": "defmodel",
    "DEFPARAMS": "defknob",
    "DEFTEST": "defeval",
    "DEFTRAIN": "defrun",
    "DEFTRAINER": "defrun",
    "DEFVALIDATION": "defeval",
    "PARAM": _PARAMETER,
    "PARAMETER": _PARAMETER,
    "BUFFER": _STATE,
    "REGISTER-BUFFER": _STATE,
}
"""Forms that a run file might have: what stands in one is no call."""

FUNCTIONS = {
    "AMAX": "reduce-max",
    "AMIN": "reduce-min",
    "ARANGE": "iota",
    "BACKWARD": _GRADIENT,
    "BATCHNORM1D": "nn:batch-norm",
    "BATCHNORM2D": "nn:batch-norm",
    "BCE-LOSS": "binary-cross-entropy",
    "BCE-WITH-LOGITS": "binary-cross-entropy",
    "BMM": "matmul",
    "CAT": "concat",
    "CHUNK": "split",
    "CLAMP": "clip",
    "COMPILE-MODEL": "nothing: a run is compiled",
    "CONV1D": "nn:conv",
    "CONV2D": "nn:conv",
    "CONV3D": "nn:conv",
    "CROSSENTROPYLOSS": "cross-entropy",
    "CROSS-ENTROPY-LOSS": "cross-entropy",
    "CUDA": _PLACED,
    "DENSE": "nn:linear",
    "DETACH": "stop-gradient",
    "EXPAND-DIMS": "unsqueeze",
    "FORI-LOOP": "(scan (lambda (carry x) (values carry y)) start xs)",
    "HARDTANH": "hard-tanh",
    "HISTOGRAM": "(bincount ids count)",
    "HSTACK": "(concat x y :axis 1)",
    "INDEX-SELECT": "gather",
    "JIT": "nothing: a run is compiled",
    "LAX-SCAN": "scan",
    "MASK-FILL": _MASKED,
    "MASKED-FILL": _MASKED,
    "MAXIMUM": "max",
    "MINIMUM": "min",
    "MM": "matmul",
    "MSE": "nn:mse",
    "MSE-LOSS": "nn:mse",
    "MULTI-HEAD-ATTENTION": "nn:attention",
    "MULTIHEAD-ATTENTION": "nn:attention",
    "MULTIHEADATTENTION": "nn:attention",
    "NLL-LOSS": "(cross-entropy logits labels), of logits and not of their logarithms",
    "NO-GRAD": "stop-gradient",
    "NONZERO": _SIZES,
    "POW": "expt",
    "PROD": "product",
    "RAND": "random-uniform",
    "RANDINT": "random-int",
    "RANDN": "random-normal",
    "RANDN-LIKE": "(random-normal nil :like x)",
    "REARRANGE": _EINOPS,
    "REDUCE-MEAN": "mean",
    "REDUCE-PROD": "product",
    "REDUCE-SUM": "sum",
    "REQUIRES-GRAD": "(group selector :frozen) in optimizer, or (stop-gradient x)",
    "SCALED-DOT-PRODUCT-ATTENTION": "attention",
    "SEQUENTIAL": "(-> x (nn:linear 64) relu (nn:linear 10)): calls one after another",
    "SWAP-AXES": "(transpose x :axis '(a b))",
    "SWAPAXES": "(transpose x :axis '(a b))",
    "SWISH": "silu",
    "TENSORDOT": "einsum",
    "UNIQUE": _SIZES,
    "UPSAMPLE": "interpolate",
    "VIEW": "reshape",
    "VMAP": "map-over",
    "VSTACK": "concat",
    "ZERO-GRAD": _GRADIENT,
}
"""Functions, which a file may well define under such a name."""

FRAMEWORKS = {**FORMS, **FUNCTIONS}
"""By upper-case name, dashes for underscores."""

KEYWORDS = {
    "dim": "axis",
    "dims": "axis",
    "axes": "axis",
    "keepdim": "keep",
    "keepdims": "keep",
    "keep-dims": "keep",
    "use-bias": "bias",
    "kernel-size": "kernel",
    "num-heads": "heads",
    "n-heads": "heads",
    "n-head": "heads",
    "learning-rate": "lr",
    "epsilon": "eps",
    "dilation-rate": "dilation",
    "is-causal": "causal",
    "attn-mask": "mask",
    "label-smoothing": "smoothing",
    "num-groups": "groups",
    "p": "rate",
    "batch-size": "batch",
}
"""Keywords of theirs, and what each is here where a function has it."""


def keyword_habit(shown: str, known: list[str]) -> str | None:
    """The keyword of `known` (with colons) for one of another framework."""
    found = KEYWORDS.get(shown.removeprefix(":").replace("_", "-").lower())
    return f":{found}" if found and f":{found}" in known else None


_READ = "sizes are read from x, the last axis is that of features"
_MODE = "training or evaluating is said by the program that runs: (ctx :mode)"
_OTHER = "keys and values of another sequence are (nn:cross-attention x y)"
_DTYPE = ":precision of defrun says what is computed in, (cast x :bf16) casts"
_PLACE = ":device of defrun, or run --device, places a whole experiment"
_ALL = "a layer over a sequence gives its whole output first, then its last state"

ADVICE = {
    "activation": "apply it to what is given, (relu ({name} ...))",
    **dict.fromkeys(("memory", "context", "encoder-hidden-states", "key-value", "kv"), _OTHER),
    **dict.fromkeys(
        ("in-features", "in-channels", "input-dim", "input-size", "input-shape"), _READ
    ),
    **dict.fromkeys(("embed-dim", "d-model", "normalized-shape", "num-features"), _READ),
    **dict.fromkeys(("training", "train", "deterministic", "is-training"), _MODE),
    "batch-first": "the batch is always the first axis",
    "inplace": "nothing is changed in place, a call gives a new value",
    "dtype": _DTYPE,
    "device": _PLACE,
    "requires-grad": "(group selector :frozen) in optimizer, or (stop-gradient x)",
    "trainable": "(group selector :frozen) in optimizer, or (stop-gradient x)",
    **dict.fromkeys(("return-sequences", "return-state"), _ALL),
    "num-layers": "several are calls one after another: (-> x ({name} ...) ({name} ...))",
    "reduction": "a loss is one value an example: (mean ({name} ...)), (sum ({name} ...))",
    "from-logits": "losses of classes take logits",
}
"""Keywords of theirs that no keyword here stands for: what is done instead."""


def keyword_advice(shown: str, name: str) -> str | None:
    """What is done here for a keyword that a function of this name has not."""
    found = ADVICE.get(shown.removeprefix(":").replace("_", "-").lower())
    return found.format(name=name) if found else None
