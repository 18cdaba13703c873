"""LLVM text to a relocatable object, through llvmlite. Imported where something is not cached."""

from __future__ import annotations

import functools
from typing import Any

from sexpgpu_core.diagnostics import problem


@functools.cache
def machine() -> Any:
    """llvmlite's target machine of this processor."""
    import llvmlite.binding as llvm

    if not hasattr(llvm, "create_pass_builder"):
        llvm.initialize()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=2, reloc="pic", codemodel="small"
    )


def compile_text(text: str, name: str, *, optimize: bool = False) -> bytes:
    """The object of one module. Kernels are printed in final form and take no passes; `optimize`
    runs the O2 pipeline, for text that was not. Raises E-DEVICE-COMPILE."""
    import llvmlite.binding as llvm

    target = machine()
    try:
        module = llvm.parse_assembly(text)
        module.name = name
        module.triple = target.triple
        module.data_layout = str(target.target_data)
        module.verify()
        if optimize:
            _optimize(llvm, module, target)
        return bytes(target.emit_object(module))
    except RuntimeError as error:
        raise problem("E-DEVICE-COMPILE", f"LLVM refused {name}: {error}", kernel=name) from error


def _optimize(llvm: Any, module: Any, target: Any) -> None:
    if hasattr(llvm, "create_pass_builder"):
        tuning = llvm.PipelineTuningOptions(speed_level=2)
        tuning.loop_vectorization = True
        tuning.slp_vectorization = False
        builder = llvm.create_pass_builder(target, tuning)
        builder.getModulePassManager().run(module, builder)
        return
    options = llvm.create_pass_manager_builder()
    options.opt_level = 2
    options.loop_vectorize = True
    manager = llvm.create_module_pass_manager()
    options.populate(manager)
    manager.run(module)


def assembly(text: str, *, optimize: bool = False) -> str:
    """The machine's assembly of a module, for people."""
    import llvmlite.binding as llvm

    target = machine()
    module = llvm.parse_assembly(text)
    if optimize:
        _optimize(llvm, module, target)
    return str(target.emit_assembly(module))
