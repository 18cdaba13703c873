"""sexpgpu_cpu."""
