"""Forms to values: a compile-time Common Lisp."""
