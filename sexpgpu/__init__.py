"""SexpGPU from Python: check and run a file, load a run and use what it trained."""

from sexpgpu_core import __version__
from sexpgpu_core.api import check, run
from sexpgpu_core.inspection import evaluate
from sexpgpu_core.trained import trained as load

__all__ = ["__version__", "check", "evaluate", "load", "run"]
