"""`python -m sexpgpu_cli`: the program without its script."""

from .main import main

main()
