"""Measures: models beside PyTorch (`python -P -m bench`), start-up, compiling, the language."""
