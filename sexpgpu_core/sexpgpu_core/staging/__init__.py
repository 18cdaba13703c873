"""Lisp functions to traced graphs: tensors as values, run-file forms, scopes and parameters."""
