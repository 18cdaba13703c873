"""sexpgpu_nn."""
