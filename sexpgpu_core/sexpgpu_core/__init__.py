"""SexpGPU's core: text to forms to a checked graph to a program, and the loop that runs it."""

__version__ = "0.1.0"
