"""The sexpgpu program: verbs that answer in text or JSON over `sexpgpu_core.api`."""
