"""sexpgpu_cli."""
