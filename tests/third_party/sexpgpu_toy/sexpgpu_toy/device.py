"""The reference device with a counter. A real one lowers a graph; this one hands it on."""


def probe():
    """Presence: always here. Cheap, never raises."""
    return {"present": True, "detail": "in this process"}


class ToyDevice:
    name = "toy"
    level = "graph"
    nodes = 0  # of all graphs that were opened in this process

    def __init__(self, options):
        from sexpgpu_core import config, plugins

        installed = plugins.installed(config.settings())
        self.inner = installed.load("devices", "reference")(options)

    def probe(self):
        return self.inner.probe()

    def numerics(self):
        return {**self.inner.numerics(), "device": "toy"}

    def library(self, operation):
        return self.inner.library(operation)

    def open(self, units, persistent, *arguments, **options):
        ToyDevice.nodes += sum(len(unit.graph.nodes) for unit in units)
        return self.inner.open(units, persistent, *arguments, **options)
