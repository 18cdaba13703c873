"""The whole pipeline as one function that reads as a list of phases."""

from .pipeline import Compiled, compile_experiment

__all__ = ["Compiled", "compile_experiment"]
