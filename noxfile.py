"""What can be done with a checkout, each in an environment of its own: `nox --list`.

`quickstart` and `tests` are the two commands of the README; `.ci/run` calls what CI holds.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import nox

nox.options.sessions = ["tests"]
nox.options.reuse_existing_virtualenvs = True

ROOT = Path(__file__).parent
MEMBERS = sorted(p.parent.name for p in ROOT.glob("sexpgpu_*/pyproject.toml"))
TEST = ("pytest>=8", "pytest-xdist>=3", "hypothesis>=6", "hatchling>=1.21", "jsonschema>=4")
S3 = (
    "boto3>=1.34",
    "moto[s3]>=5",
    "flask>=3",
    "flask-cors>=5",
    "nanio>=0.1.7; python_version>='3.11'",
)
"""The client, a server that knows conditions, one that checks signatures."""
DRIVER = ("cuda-bindings>=13.0.3,<14",)
"""NVIDIA's driver as Python functions: tests give it a libcuda of the host's memory."""
TORCH = "torch==2.13.0"
"""By name and version alone: where it comes from is the reader's pip's to know."""
ASSEMBLER = ("nvidia-cuda-nvcc==13.0.88", "nvidia-cuda-nvdisasm==13.5.37")
"""ptxas and nvdisasm; about 130 MB."""
LIBRARIES = (
    "nvidia-cublas==13.1.2.11",
    "nvidia-cudnn-cu13==9.19.0.56",
    "nvidia-cudnn-frontend==1.18.0",
)
"""About 1.1 GB."""
ONNX = "onnx==1.23.2"
SAFE = ("-P",) if sys.version_info >= (3, 11) else ()
"""Keeps the checkout's own folders off sys.path, so that what is installed is tested."""

HERE = {"PYTHONPATH": str(ROOT)}
"""For what stands in the checkout and is installed nowhere."""

NEXT = """
What to try next:
  nox -s dev                                   an environment in .venv with everything editable
  .venv/bin/sexpgpu new mine.lisp --from chars
  .venv/bin/sexpgpu check mine.lisp            all that is wrong, before anything runs
  .venv/bin/sexpgpu run mine.lisp              Ctrl-C saves and stops; --resume latest goes on
  .venv/bin/sexpgpu docs                       the pages, offline
"""


def install(session: nox.Session, *more: str) -> None:
    """All distributions editable, in one resolve, with the devices' and tests' extras."""
    members = [word for member in MEMBERS for word in ("-e", f"./{member}")]
    session.install("-e", ".[cpu,digits,images,arrow,tokenizers]", *members, *more)


@nox.session
def quickstart(session: nox.Session) -> None:
    """Train a small GPT for about a minute on text that is on every machine."""
    install(session)
    session.run("sexpgpu", "check", "examples/chars.lisp")
    session.run("sexpgpu", "run", "examples/chars.lisp", *session.posargs)
    session.log(NEXT)


@nox.session
def dev(session: nox.Session) -> None:
    """An environment to work in: .venv, with everything editable and the tools."""
    session.run(sys.executable, "-m", "venv", ".venv", external=True)
    folder = "Scripts" if sys.platform == "win32" else "bin"
    python = str(ROOT / ".venv" / folder / "python")
    members = [word for member in MEMBERS for word in ("-e", f"./{member}")]
    tools = (*TEST, "ruff", "mypy", "nox")
    whole = ("-e", ".[cpu,digits,images,arrow,tokenizers]")
    session.run(python, "-m", "pip", "install", *whole, *members, *tools, external=True)


TWO = ("--numprocesses", "2", "--dist", "loadfile", "--max-worker-restart", "0")
"""Two files of tests at a time: half the wall time, and fixtures of a module stay together."""


@nox.session
def tests(session: nox.Session) -> None:
    """All tests, the third-party plug-in's too."""
    install(session, *TEST, *S3, *DRIVER)
    session.run("python", *SAFE, "-m", "pytest", *TWO, *session.posargs)


@nox.session
def kill(session: nox.Session) -> None:
    """200 times SIGKILL over runs of about a minute, at random moments and while a checkpoint is
    written or removed: every resume ends in the same bits."""
    install(session)
    words = session.posargs or [
        "--kills",
        "200",
        "--steps",
        "22000",
        "--every",
        "40",
        "--mean",
        "5",
    ]
    session.run("python", *SAFE, "tests/kill/kill_runs.py", *words)


@nox.session
def third_party(session: nox.Session) -> None:
    """Build and install a plug-in that is not ours, and use each thing that it adds."""
    install(session, *TEST)
    session.run("python", *SAFE, "-m", "pytest", "tests/third_party", *session.posargs)


@nox.session
def parity(session: nox.Session) -> None:
    """Operations, gradients and steps beside PyTorch's."""
    install(session, *TEST, TORCH)
    session.run("python", *SAFE, "-m", "pytest", "tests/parity", *session.posargs)


@nox.session
def onnx(session: nox.Session) -> None:
    """The node tests that ship in the `onnx` wheel, on reference and cpu: which agree, which do
    not map and why."""
    install(session, ONNX)
    words = session.posargs or ["--least", "1370"]
    folders = os.pathsep.join(str(ROOT / "tests" / n) for n in ("onnx_nodes", "builtins"))
    env = {"PYTHONPATH": folders}
    session.run("python", *SAFE, "tests/onnx_nodes/onnx_report.py", *words, env=env)


@nox.session
def conformance(session: nox.Session) -> None:
    """The language's cases of ../shared, a line a chapter: docs/lisp.md says what fails and why."""
    cases = ROOT.parent / "shared" / "lisp" / "ansi-cases.jsonl"
    if not cases.exists():
        session.skip("there are no cases in ../shared/lisp")
    install(session)
    words = session.posargs or ["--cases", str(cases), "--least", "99.0", "--least-chapter", "97"]
    session.run("python", *SAFE, "-m", "tests.conformance", *words)


@nox.session(name="lisp-fuzz")
def lisp_fuzz(session: nox.Session) -> None:
    """20,000 random forms beside SBCL's values."""
    if shutil.which("sbcl") is None:
        session.skip("sbcl is not installed: apt-get install sbcl")
    install(session)
    session.run("python", *SAFE, "tests/fuzz/lisp_fuzz.py", *session.posargs)


@nox.session
def mutations(session: nox.Session) -> None:
    """20,000 files with mistakes made at random: each ends in a diagnostic or a value."""
    install(session)
    session.run("python", *SAFE, "tests/fuzz/mutations.py", *session.posargs)


@nox.session
def layouts(session: nox.Session) -> None:
    """The layout of every case and example: stable, and of the same forms and comments."""
    install(session)
    session.run("python", *SAFE, "tests/fuzz/layouts.py", *session.posargs)


@nox.session
def graphs(session: nox.Session) -> None:
    """2,000 random graphs on `cpu` and on `reference`, within what rounding allows."""
    install(session, *TEST)
    session.run("python", *SAFE, "tests/graphs/many.py", *session.posargs)


@nox.session
def deep(session: nox.Session) -> None:
    """`check --deep` of every example, each within a minute."""
    install(session)
    session.run("python", *SAFE, "tests/deep/deep_examples.py", *session.posargs, env=HERE)


@nox.session
def gates(session: nox.Session) -> None:
    """Every kernel of GPT-2 124M, a Llama of 125M and ResNet-50 through NVIDIA's assembler and its
    disassembler, held to a budget. No GPU is needed."""
    install(session, *TEST, *ASSEMBLER)
    beside = {"PYTHONPATH": str(ROOT / "tests" / "cuda")}
    session.run("python", *SAFE, "tests/cuda/gates.py", *session.posargs, env=beside)
    session.run("python", *SAFE, "-m", "pytest", "tests/cuda/test_cuda_cubins.py")


@nox.session
def libraries(session: nox.Session) -> None:
    """Products as cuBLASLt's own descriptors, and every attention and convolution of the big models
    before cuDNN's own check for an H200. No GPU is needed, gcc is."""
    install(session, *TEST, *LIBRARIES)
    tests = ("tests/cuda/test_cuda_cublaslt.py", "tests/cuda/test_cuda_cudnn.py")
    session.run("python", *SAFE, "-m", "pytest", *tests)


@nox.session
def emulated(session: nox.Session) -> None:
    """`cuda-emulated` beside `reference`: 300 random graphs, a step of every example in f32, bf16,
    f16 and f64 at odd sizes, resumes bit for bit."""
    install(session, *TEST)
    session.run("python", *SAFE, "tests/graphs/many_cuda.py", *session.posargs)
    env = {"CUDA_WHOLE": "1"}
    tests = ("tests/cuda", "tests/e2e/test_e2e_cuda.py")
    session.run("python", *SAFE, "-m", "pytest", *TWO, *tests, env=env)


@nox.session
def gpu(session: nox.Session) -> None:
    """The check of a machine with a GPU, ten minutes at most: bench/results/gpu.json. Wheels of a
    folder serve by PIP_FIND_LINKS, cubins by SEXPGPU_CUBINS; `-- --emulated` tries the script."""
    emulated = "--emulated" in session.posargs
    install(session, *(() if emulated else (*DRIVER, *LIBRARIES, TORCH)))
    session.run("python", *SAFE, "-m", "bench.gpu", *session.posargs, env=HERE)


@nox.session
def bench(session: nox.Session) -> None:
    """Step time beside PyTorch, start-up, compile phases and scans: bench/README.md."""
    install(session, TORCH)
    for name in session.posargs or ["models", "start", "phases", "scans", "language"]:
        if name == "models":
            session.run("python", *SAFE, "-m", "bench", "--neighbour", "--save", name, env=HERE)
        else:
            session.run("python", f"bench/{name}.py", "--save", name)


@nox.session
def large(session: nox.Session) -> None:
    """A csv, a jsonl and a text of 200 MB through loaders: memory within 96 MB, and MB/s."""
    install(session)
    session.run("python", "bench/large.py", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Style and format."""
    session.install("ruff>=0.6")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """mypy, strict, over the packages."""
    install(session, "mypy>=1.11")
    session.run("mypy", *(word for member in MEMBERS for word in ("-p", member)))


@nox.session
def docs(session: nox.Session) -> None:
    """Write the pages that are made from data: codes, hooks, flags."""
    install(session)
    session.run("python", *SAFE, "docs/generate.py", *session.posargs)


@nox.session
def wheels(session: nox.Session) -> None:
    """Build a wheel of every distribution into dist/."""
    session.install("build", "hatchling>=1.21")
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    for folder in (".", *MEMBERS):
        session.run(
            "python", "-m", "build", "--no-isolation", "--wheel", "--outdir", "dist", folder
        )


@nox.session(reuse_venv=False)  # an installed wheel of the same version would stay
@nox.parametrize("member", MEMBERS)
def alone(session: nox.Session, member: str) -> None:
    """A distribution from its wheel, with only what it declares: import it, run its own tests."""
    session.install(*(wheel(name) for name in dict.fromkeys(("sexpgpu_core", member))))
    session.run("python", "-I", "-c", f"import {member}, {member}.plugin")
    session.install(*TEST)
    tested = ROOT / "tests" / member.removeprefix("sexpgpu_")
    if any(tested.rglob("test_*.py")):
        session.run("python", "-I", "-m", "pytest", str(tested), *session.posargs)


def wheel(member: str) -> str:
    """The path of a member's wheel: never a distribution of the same name from elsewhere."""
    found = sorted((ROOT / "dist").glob(f"{member}-*.whl"))
    if not found:
        raise FileNotFoundError(f"no wheel of {member} in dist/: run nox -s wheels first")
    return str(found[-1])
