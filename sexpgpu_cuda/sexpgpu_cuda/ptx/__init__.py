"""PTX text executed on the CPU: parsed, then run over all threads of many blocks by NumPy.

`text.parse` gives kernels, `launch.launch` runs one. What is wrong is a `PtxFault` that names the
kernel, the line and the instruction. Nothing is skipped: an unknown instruction is a fault too.
"""
