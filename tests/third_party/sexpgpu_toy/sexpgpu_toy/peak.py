"""A diagnostic number: nodes for the observer's graph alone."""


def peak(b, gradient):
    return b("abs", gradient)
