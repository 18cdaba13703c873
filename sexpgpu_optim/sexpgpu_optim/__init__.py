"""sexpgpu_optim."""
