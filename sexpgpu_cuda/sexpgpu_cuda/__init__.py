"""The CUDA device of SexpGPU, and the same programs executed on the CPU."""
