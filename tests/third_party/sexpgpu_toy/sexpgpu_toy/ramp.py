"""The toy-ramp source. header is what check runs; numpy comes with the reader."""

MOST = 2**31 - 1


def header(options):
    """Fields, dtypes, shapes and count, from the options alone."""
    count, width = options["count"], options["width"]
    if count + width > MOST:
        from sexpgpu_core.diagnostics import problem

        hint = f":count {MOST - width} is the most"
        raise problem("E-TOY-RAMP", hint=hint, count=count, width=width)
    return {"count": count, "fields": {"x": ("i32", (width,))}}


class Ramp:
    """read is a pure function of the indices and safe from several threads."""

    def __init__(self, options):
        self.options = options

    def __len__(self):
        return self.options["count"]

    def read(self, indices, out):
        import numpy as np

        first = np.asarray(indices, np.int32)[:, None]
        out["x"][...] = first + np.arange(self.options["width"], dtype=np.int32)
