"""Checkpoints in memory. put_last commits."""

import pathlib

_FILES: dict[str, bytes] = {}


class MemoryStore:
    def __init__(self, url):
        self.prefix = url.removeprefix("toymem://")

    def put(self, name, file):
        _FILES[f"{self.prefix}/{name}"] = pathlib.Path(file).read_bytes()

    def put_last(self, name, data):
        _FILES[f"{self.prefix}/{name}"] = data

    def get(self, name, file):
        pathlib.Path(file).write_bytes(_FILES[f"{self.prefix}/{name}"])

    def list(self, prefix=""):
        start = f"{self.prefix}/"
        found = [(k.removeprefix(start), len(v)) for k, v in _FILES.items() if k.startswith(start)]
        return sorted(pair for pair in found if pair[0].startswith(prefix))

    def delete(self, name):
        del _FILES[f"{self.prefix}/{name}"]
