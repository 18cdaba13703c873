"""LLVM text to PTX, through llvmlite's NVPTX back end: the only module here that imports it."""

from __future__ import annotations

import functools
from typing import Any

from sexpgpu_core.diagnostics import problem

TRIPLE = "nvptx64-nvidia-cuda"
OLD, NEW = "+ptx80", "+ptx87"
"""PTX 8.0 is what drivers from 525 on take; from sm_100 on it needs 8.7, which 570 take."""


@functools.cache
def machine(architecture: str) -> Any:
    """llvmlite's target machine of `sm_80`, `sm_90` ... Raises E-DEVICE-COMPILE."""
    import llvmlite.binding as llvm

    try:
        if not hasattr(llvm, "create_pass_builder"):
            llvm.initialize()
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        target = llvm.Target.from_triple(TRIPLE)
    except RuntimeError as error:
        raise problem("E-DEVICE-COMPILE", f"llvmlite has no NVPTX: {error}") from error
    features = NEW if int(architecture.strip("sma_f")) >= 100 else OLD
    return target.create_target_machine(cpu=architecture, features=features, opt=3)


def compile_text(text: str, name: str, architecture: str) -> str:
    """The PTX of one module. Floats are never contracted: each rounding is where the text has it.
    Raises E-DEVICE-COMPILE."""
    import llvmlite.binding as llvm

    target = machine(architecture)
    try:
        module = llvm.parse_assembly(text)
        module.name = name
        module.triple = TRIPLE
        module.data_layout = str(target.target_data)
        module.verify()
        _optimize(llvm, module, target)
        return str(target.emit_assembly(module))
    except RuntimeError as error:
        raise problem("E-DEVICE-COMPILE", f"LLVM refused {name}: {error}", kernel=name) from error


def _optimize(llvm: Any, module: Any, target: Any) -> None:
    """What is the same is made once. Vectors are the emitter's to make, so none are sought."""
    if not hasattr(llvm, "create_pass_builder"):
        return  # an older llvmlite: longer code, the same values
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_vectorization = tuning.slp_vectorization = False
    tuning.loop_unrolling = False
    builder = llvm.create_pass_builder(target, tuning)
    builder.getModulePassManager().run(module, builder)
