"""What this distribution adds, as rows. Nothing here imports what does the work."""

from sexpgpu_core import entries as e
from sexpgpu_core.hookspecs import hookimpl

SEXPGPU_API = 1


@hookimpl
def sexpgpu_devices():
    yield e.DeviceEntry(
        name="toy",
        kind="interpreter",
        doc="The reference, counting operations.",
        dtypes=("f32", "f64", "i32", "bool"),
        load="sexpgpu_toy.device:ToyDevice",
        probe="sexpgpu_toy.device:probe",
    )


@hookimpl
def sexpgpu_operations():
    yield e.OperationEntry(
        name="toy/softsign",
        signature="(x)",
        doc="x / (1 + |x|)",
        differentiable=True,
        load="sexpgpu_toy.softsign:SOFTSIGN",
        reference="sexpgpu_toy.softsign_reference:softsign",
    )


@hookimpl
def sexpgpu_modules():
    yield e.ModuleEntry(
        name="toy", package="sexpgpu_toy", path="lisp/toy.lisp", exports=("softsign",)
    )


@hookimpl
def sexpgpu_sources():
    yield e.SourceEntry(
        kind="toy-ramp",
        shape="table",
        doc="Example i is i, i+1, ... (for tests).",
        options=(
            e.Option(name="count", type="(integer 1)"),
            e.Option(name="width", type="(integer 1)", default="8"),
        ),
        header="sexpgpu_toy.ramp:header",
        load="sexpgpu_toy.ramp:Ramp",
    )


@hookimpl
def sexpgpu_tokenizers():
    yield e.TokenizerEntry(
        name="toy-nibbles",
        vocabulary=16,
        load="sexpgpu_toy.nibbles:Nibbles",
        exact=True,
        doc="Two tokens a byte.",
    )


@hookimpl
def sexpgpu_stores():
    yield e.StoreEntry(
        scheme="toymem",
        doc="Checkpoints in this process's memory.",
        load="sexpgpu_toy.store:MemoryStore",
    )


@hookimpl
def sexpgpu_sinks():
    yield e.SinkEntry(
        name="toy-lines",
        doc="One line a step into a file.",
        options=(e.Option(name="path", type="string"),),
        load="sexpgpu_toy.sink:Lines",
    )


@hookimpl
def sexpgpu_executors():
    yield e.EngineEntry(
        name="toy-slots",
        doc="Processes of this machine, so many at once.",
        options=(
            e.Option(name="slots", type="(integer 1)", default="1", doc="How many at once."),
            e.Option(name="cpus", type="(integer 1)", default="1", doc="Threads of each."),
        ),
        load="sexpgpu_toy.slots:Slots",
        remote=True,
    )


@hookimpl
def sexpgpu_diagnostics():
    yield e.DiagnosticEntry(
        name="toy/peak",
        on="gradient",
        reduce="max",
        unit="",
        doc="The greatest magnitude in a gradient.",
        load="sexpgpu_toy.peak:peak",
    )


@hookimpl
def sexpgpu_verbs():
    yield e.VerbEntry(
        name="toy",
        group="observe",
        summary="Print how many steps a run logged.",
        load="sexpgpu_toy.verb:toy",
        documents=("toy",),
    )


@hookimpl
def sexpgpu_codes():
    yield e.CodeEntry(
        code="E-TOY-RAMP",
        phase="data",
        title="ramp overflows",
        meaning="count + width is beyond an i32.",
        fix="Use a smaller :count.",
        edit=False,
        facts=("count", "width"),
        wrong="(source (toy-ramp :count 3000000000))",
        right="(source (toy-ramp :count 100))",
    )


@hookimpl
def sexpgpu_docs():
    yield e.DocEntry(
        topic="toy", title="The toy plug-in", package="sexpgpu_toy", path="docs/toy.md"
    )
