"""The optimized graph cut into fused kernels and calls of single nodes."""
