"""What sexpgpu-core adds, as rows. Nothing here imports what does the work."""

SEXPGPU_API = 1
