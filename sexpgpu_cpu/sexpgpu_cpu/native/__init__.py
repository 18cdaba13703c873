"""A small subset of Python to LLVM text, for what is not a fused kernel: the driver's loop, the
walk over tiles of a product, irregular kernels. No interpreter is left in what comes out."""
