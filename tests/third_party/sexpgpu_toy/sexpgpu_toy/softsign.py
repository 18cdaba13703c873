"""softsign for the compiler: type rule, gradient, cost, expansion. No numpy."""

from sexpgpu_core.diagnostics import problem
from sexpgpu_core.ir.operation import Cost, Dependence, Fusion, Precision
from sexpgpu_core.ir.types import is_float


class Softsign:
    name = "toy/softsign"
    doc = "x / (1 + |x|), elementwise; Turian et al. 2009."
    fusion = Fusion.OPAQUE  # a device that has no lowering for it takes its expansion
    precision = Precision.FOLLOW
    random = False
    differentiable = "yes"

    def infer(self, operands, attributes):
        """One float tensor in, the same type out."""
        (x,) = operands
        if not is_float(x.dtype):
            message = f"{self.name} takes floats, not {x.dtype}"
            raise problem("E-DTYPE-ARGUMENT", message, operation=self.name, dtype=x.dtype)
        return (x,)

    def gradient(self, b, node, out):
        """d/dx x/(1+|x|) = 1/(1+|x|)^2"""
        (x,), (g,) = node.operands, out
        if g is None:
            return (None,)
        d = b("add", b.like(1.0, x), b("abs", x))
        return (b("divide", g, b("multiply", d, d)),)

    def reference(self, operands, attributes, types):
        from .softsign_reference import softsign

        return (softsign(*operands),)

    def cost(self, operands, attributes):
        """Three operations an element."""
        (x,) = operands
        return Cost(3 * x.size, x.bytes, x.bytes)

    def depends(self, operands, attributes):
        """Each element on its own."""
        return Dependence(tuple((a, 0, a, "same") for a in range(operands[0].rank)))

    def expand(self, b, node):
        """The operation in core's own: every device can run it without a lowering of its own."""
        (x,) = node.operands
        return (b("divide", x, b("add", b.like(1.0, x), b("abs", x))),)


SOFTSIGN = Softsign()
