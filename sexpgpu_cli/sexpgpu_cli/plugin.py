"""What sexpgpu-cli adds, as rows: the standard verbs, pages and templates."""

from __future__ import annotations

from collections.abc import Iterator

from sexpgpu_core import entries as e
from sexpgpu_core.hookspecs import hookimpl

SEXPGPU_API = 1

VERBS = (
    ("check", "write", "Say all that is wrong with files, without training.", "check"),
    ("fmt", "write", "Lay files out in the one layout.", "fmt"),
    ("new", "write", "Start a run file from a template.", "new"),
    ("eval", "write", "Evaluate a form in a file's environment.", "eval"),
    ("ir", "write", "Print a file's graph as text.", "ir"),
    ("diff", "write", "Say what differs between files, selections or runs.", "diff"),
    ("variants", "write", "Show what may vary in a file: knobs, variants, sweeps.", "variants"),
    ("run", "run", "Train.", "status"),
    ("sweep", "run", "Run the points of a declared sweep, and rank them.", "sweep"),
    ("predict", "run", "Compute a declared output from a checkpoint.", "predict"),
    ("sample", "run", "Continue a prompt by a language model.", "sample"),
    ("compile", "run", "Make a file's kernels for a GPU, which need not be here.", "compile"),
    ("stop", "run", "End a live run after its step, with a checkpoint.", "status"),
    ("runs", "observe", "List runs, with their state and numbers.", "runs"),
    ("status", "observe", "Say how a run is; wait for it.", "status"),
    ("events", "observe", "Show a run's numbers by step.", "event"),
    ("checkpoint", "observe", "List, show, verify, compare, export checkpoints.", "checkpoint"),
    ("diagnostics", "observe", "List the numbers that a run samples.", "diagnostics"),
    ("export-events", "observe", "Give a run's events to another tool.", "export-events"),
    ("annotate", "observe", "Add a note to a run's events.", "event"),
    ("doctor", "machine", "Say whether a run can start here.", "doctor"),
    ("devices", "machine", "List the devices, and whether each can be used here.", "doctor"),
    ("plugins", "machine", "List what is installed and what each distribution adds.", "plugins"),
    ("explain", "learn", "Say what the compiler made of a file, or what a code means.", "code"),
    ("docs", "learn", "Print a page of the documentation.", "docs"),
    ("completion", "learn", "Print the completion script of a shell.", "completion"),
)
"""Name, group, summary, JSON document."""

PAGES = (
    ("index", "SexpGPU"),
    ("install", "Install"),
    ("quickstart", "Quickstart"),
    ("how-it-works", "How it works"),
    ("agents", "For agents"),
    ("run-file", "The run file"),
    ("knobs", "Knobs and variants"),
    ("data", "Data"),
    ("objective", "The objective"),
    ("evaluation", "Evaluation"),
    ("optimizer-groups", "Optimizer groups"),
    ("curriculum", "Curriculum"),
    ("outputs", "Outputs: predict and sample"),
    ("defrun", "defrun"),
    ("models", "Models"),
    ("lisp", "The language"),
    ("special-forms", "Special forms and definitions"),
    ("functions", "Functions"),
    ("control", "Control"),
    ("macros", "Macros"),
    ("prelude", "Prelude"),
    ("builtins", "Builtins"),
    ("require", "Modules"),
    ("tensors", "Tensors"),
    ("nn", "sexpgpu/nn"),
    ("optim", "sexpgpu/optim"),
    ("gallery", "Gallery of the examples"),
    ("metrics", "Metrics"),
    ("diagnostics", "Diagnostics"),
    ("writing-diagnostics", "Writing diagnostics"),
    ("numerics", "Numerics"),
    ("ir", "The graph"),
    ("devices", "Devices"),
    ("environment", "Environment"),
    ("cli", "The command line"),
    ("check", "check"),
    ("run", "run"),
    ("runs", "runs"),
    ("sweep", "sweep"),
    ("stop", "stop"),
    ("events", "Events"),
    ("annotate", "annotate"),
    ("status", "Status"),
    ("checkpoints", "Checkpoints"),
    ("plugins", "Plug-ins"),
    ("errors", "Errors and warnings"),
    ("glossary", "Glossary"),
)

EXITS = {
    "check": (0, 1, 2, 70),
    "fmt": (0, 1, 2),
    "new": (0, 1, 2),
    "variants": (0, 1, 2),
    "eval": (0, 1, 2),
    "explain": (0, 1, 2),
    "diff": (0, 1, 2),
    "ir": (0, 1, 2),
    "run": (0, 1, 2, 3, 4, 5, 70, 75, 130),
    "sweep": (0, 1, 2, 3, 4, 75, 130),
    "stop": (0, 2, 6),
    "predict": (0, 1, 2, 3, 4),
    "sample": (0, 1, 2, 3, 4),
    "compile": (0, 1, 2, 4),
    "runs": (0, 2),
    "status": (0, 2, 6),
    "events": (0, 2),
    "annotate": (0, 2),
    "diagnostics": (0, 2),
    "checkpoint": (0, 1, 2, 3),
    "export-events": (0, 2, 4),
    "doctor": (0, 4),
    "devices": (0,),
    "plugins": (0, 1),
    "docs": (0, 2),
    "completion": (0,),
}
"""The exits of a verb, as the contract has them. 2, 70 and 130 are of every verb, and `status
--until` exits as the run did."""

TEMPLATES = (
    ("chars", "A small GPT over characters."),
    ("digits", "An MLP on scikit-learn's handwritten digits."),
    ("mnist", "A convolutional network on MNIST."),
    ("vit-mnist", "A vision transformer on MNIST."),
    ("llama-chars", "A small Llama over characters."),
    ("resnet-mnist", "A narrow ResNet-18 on MNIST or CIFAR-10."),
    ("unet-diffusion-mnist", "A denoising diffusion model on MNIST."),
    ("vae-mnist", "A variational autoencoder on MNIST."),
    ("bert-mlm", "BERT's masked language model over characters."),
    ("dlrm", "Clicks by embeddings and their products."),
    ("gcn-cora", "A graph convolutional network on Cora."),
    ("lstm-names", "An LSTM that invents names."),
    ("mamba-chars", "A small Mamba over characters."),
    ("moe-chars", "A small mixture of experts over characters."),
)


@hookimpl
def sexpgpu_verbs() -> Iterator[e.VerbEntry]:
    for name, group, summary, document in VERBS:
        module = name.replace("-", "_")
        load = f"sexpgpu_cli.verbs.{module}:{'evaluate' if name == 'eval' else module}"
        yield e.VerbEntry(
            name=name,
            group=group,
            summary=summary,
            load=load,
            documents=(document,),
            exits=EXITS[name],
        )


@hookimpl
def sexpgpu_docs() -> Iterator[e.DocEntry]:
    for topic, title in PAGES:
        yield e.DocEntry(topic=topic, title=title, package="sexpgpu_cli", path=f"pages/{topic}.md")


@hookimpl
def sexpgpu_templates() -> Iterator[e.TemplateEntry]:
    for name, doc in TEMPLATES:
        yield e.TemplateEntry(
            name=name, doc=doc, package="sexpgpu_cli", path=f"templates/{name}.lisp"
        )
