"""Mistakes about shapes and dtypes that people make: what each is told and what mends it.

`form` is the value of a model of x, f32 (8 64). `place`: the text that is marked, the form itself
without it. `says`: texts of the message, its notes and its hint. `mended`: the form after the edit,
None where no edit is right.
"""

from __future__ import annotations

from typing import NamedTuple


class Mistake(NamedTuple):
    form: str
    code: str
    says: tuple[str, ...]
    mended: str | None = None
    place: str | None = None


MISTAKES = [
    # Calls
    Mistake(
        "(let ((n 8)) (reshape x n n n))",
        "E-CALL-ARGUMENTS",
        ("reshape takes 2 arguments, got 4",),
        "(let ((n 8)) (reshape x (list n n n)))",
        "(reshape x n n n)",
    ),
    Mistake(
        "(nn:conv (reshape x '(-1 8 8 1)) 8 '(3 3) :name \"c\")",
        "E-CALL-ARGUMENTS",
        ("(3 3) stands where a keyword does", ":kernel :stride"),
        "(nn:conv (reshape x '(-1 8 8 1)) 8 :kernel '(3 3) :name \"c\")",
    ),
    Mistake(
        "(nn:conv (reshape x '(-1 8 8 1)) 8 3 2 :bias nil)",
        "E-CALL-ARGUMENTS",
        ("3 stands where a keyword does",),
        "(nn:conv (reshape x '(-1 8 8 1)) 8 :kernel 3 :stride 2 :bias nil)",
    ),
    Mistake(
        "(slice x '(0 0) '(8 63))", "E-CALL-ARGUMENTS", ("stands where a keyword does", ":start")
    ),
    Mistake(
        "(max-pool (reshape x '(-1 8 8 1)) 2 2)",
        "E-CALL-ARGUMENTS",
        ("2 stands where a keyword does",),
        "(max-pool (reshape x '(-1 8 8 1)) 2 :stride 2)",
    ),
    Mistake(
        "(nn:linear x 10 :name)", "E-CALL-ARGUMENTS", (":name has no value after it", ":bias")
    ),
    Mistake(
        "(nn:linear x 10 :activation #'relu)",
        "E-CALL-KEYWORD",
        ("apply it to what is given, (relu (linear ...))", ":bias :init"),
        place=":activation",
    ),
    Mistake(
        "(reshape x :shape '(8 64))",
        "E-CALL-ARGUMENTS",
        ("reshape takes 2 arguments, got 3",),
        "(reshape x '(8 64))",
    ),
    Mistake(
        "(nn:linear x :out 10 :bias nil)",
        "E-CALL-ARGUMENTS",
        ("out is given by its place, without :out", ":bias :init"),
        "(nn:linear x 10 :bias nil)",
    ),
    Mistake(
        "(* x (random-bernoulli (shape x) :p 0.5 :like x :dtype :f32))",
        "E-CALL-ARGUMENTS",
        ("p is given by its place, without :p",),
        "(* x (random-bernoulli (shape x) 0.5 :like x :dtype :f32))",
        "(random-bernoulli (shape x) :p 0.5 :like x :dtype :f32)",
    ),
    # Products
    Mistake(
        "(let ((w (zeros '(10 64)))) (matmul x w))",
        "E-SHAPE-MATMUL",
        ("inner sizes 64 and 10 differ", "x is f32 (8 64), the field image", "w is f32 (10 64)"),
        "(let ((w (zeros '(10 64)))) (matmul x (transpose w)))",
        "(matmul x w)",
    ),
    Mistake(
        "(matmul (zeros '(64 10)) x)",
        "E-SHAPE-MATMUL",
        ("inner sizes 10 and 8 differ", "gives f32 (8 10)"),
        "(matmul x (zeros '(64 10)))",
    ),
    Mistake(
        "(matmul x (zeros '(8 10)))",  # transposing x would join examples
        "E-SHAPE-MATMUL",
        ("inner sizes 64 and 8 differ", "the last axis of x meets the last but one of y"),
    ),
    Mistake(
        "(bind-shape (b d) x (matmul x (zeros (list 10 d))))",
        "E-SHAPE-MATMUL",
        ("64 is d, bound here",),
        "(bind-shape (b d) x (matmul x (transpose (zeros (list 10 d)))))",
        "(matmul x (zeros (list 10 d)))",
    ),
    Mistake(
        "(dot x (zeros '(8)))",
        "E-SHAPE-MATMUL",
        ("dot of f32 (8 64) and f32 (8): their last axes differ",),
    ),
    Mistake(
        '(einsum "bi,ij->bj" x (zeros \'(10 64)))',
        "E-SHAPE-ARGUMENT",
        ("label i is 64 in one and 10 in another",),
        '(einsum "bi,ij->bj" x (transpose (zeros \'(10 64))))',
    ),
    Mistake(
        '(einsum "bij->bj" x)',
        "E-SHAPE-ARGUMENT",
        ("bij names 3 axes of an operand with 2", "a letter for each axis"),
    ),
    Mistake(
        '(einsum "bi->bij" x)',
        "E-SHAPE-ARGUMENT",
        ("label j of the result is in no operand",),
    ),
    Mistake(
        "(matmul x (zeros '(64 10) :dtype :bf16))",
        "E-DTYPE-MIX",
        ("matmul of f32 (8 64) and bf16 (64 10): their dtypes differ",),
        "(matmul x (cast (zeros '(64 10) :dtype :bf16) :f32))",
    ),
    # Elementwise
    Mistake(
        "(- x (mean x :axis 1))",
        "E-SHAPE-BROADCAST",
        ("sizes 64 and 8 of the last axis differ",),
        "(- x (mean x :axis 1 :keep t))",
    ),
    Mistake(
        "(let ((m (mean x :axis 1))) (- x m))",
        "E-SHAPE-BROADCAST",
        ("m is f32 (8), made here",),
        "(let ((m (mean x :axis 1))) (- x (unsqueeze m 1)))",
        "(- x m)",
    ),
    Mistake(
        "(let ((y (zeros '(64 8)))) (* x y))",
        "E-SHAPE-BROADCAST",
        ("more than one thing fits", "(* (transpose x) y)", "(* x (transpose y))"),
        None,
        "(* x y)",
    ),
    Mistake(
        "(let ((h (nn:linear x 10))) (+ x h))",
        "E-SHAPE-BROADCAST",
        ("sizes 64 and 10", "h is f32 (8 10), made here", "only an axis of size 1 grows"),
        None,
        "(+ x h)",
    ),
    Mistake(
        "(where (> x 0) x (zeros '(8)))",
        "E-SHAPE-BROADCAST",
        ("where of bool (8 64) and f32 (8 64) and f32 (8)",),
        "(where (> x 0) x (unsqueeze (zeros '(8)) 1))",
    ),
    Mistake(
        "(lerp x (zeros '(8)) 0.5)",
        "E-SHAPE-BROADCAST",
        ("lerp of f32 (8) and f32 (8 64)",),
        "(lerp x (unsqueeze (zeros '(8)) 1) 0.5)",
    ),
    Mistake(
        "(broadcast-to x '(8 64 4))",
        "E-SHAPE-BROADCAST",
        ("it does not broadcast to (8 64 4)", "axes are put in front"),
    ),
    Mistake(
        "(+ x (iota 64))",
        "E-DTYPE-MIX",
        ("+ of f32 (8 64) and i32 (64)",),
        "(+ x (cast (iota 64) :f32))",
    ),
    Mistake(
        "(where (> x 0) (iota 64) x)",
        "E-DTYPE-MIX",
        ("where of i32 (64) and f32 (8 64)",),
        "(where (> x 0) (cast (iota 64) :f32) x)",
    ),
    Mistake(
        "(nn:linear (iota 8) 10)",
        "E-DTYPE-MIX",
        ("it came up in the module", "w is f32 (8 10), the parameter net/linear/w"),
        "(nn:linear (cast (iota 8) :f32) 10)",
    ),
    Mistake(
        "(+ x (* 0.5 (iota 64)))",
        "E-DTYPE-WEAK",
        ("0.5 meets a tensor of i32",),
        "(+ x (* 0.5 (cast (iota 64) :f32)))",
        "(* 0.5 (iota 64))",
    ),
    Mistake(
        "(* x (random-bernoulli '(8 64) 0.5 :batch 0))",
        "E-DTYPE-MIX",
        ("* of f32 (8 64) and bool (8 64)",),
        "(* x (cast (random-bernoulli '(8 64) 0.5 :batch 0) :f32))",
    ),
    Mistake(
        "(+ x (cast (+ 300 (cast (iota 64) :i8)) :f32))",
        "E-DTYPE-RANGE",
        ("300 is outside i8, -128 to 127", "gives i16 (64)"),
        "(+ x (cast (+ 300 (cast (cast (iota 64) :i8) :i16)) :f32))",
        "(+ 300 (cast (iota 64) :i8))",
    ),
    Mistake(
        "(+ x (cast (- (cast (iota 64) :u8) 300) :f32))",
        "E-DTYPE-RANGE",
        ("300 is outside u8, 0 to 255",),
        "(+ x (cast (- (cast (cast (iota 64) :u8) :u16) 300) :f32))",
        "(- (cast (iota 64) :u8) 300)",
    ),
    Mistake("(* x 1e60)", "E-DTYPE-RANGE", ("too large for f32",), "(* (cast x :f64) 1e60)"),
    Mistake(
        "(exp (iota 64))", "E-DTYPE-INTEGER", ("exp of i32",), "(exp (cast (iota 64) :f32))"
    ),
    Mistake(
        "(+ (> x 0) 1)",
        "E-DTYPE-ARGUMENT",
        ("the number 1 meets a tensor of bool",),
        "(+ (cast (> x 0) :f32) 1)",
    ),
    Mistake(
        "(where x x 0.0)",
        "E-DTYPE-ARGUMENT",
        ("the test of where is f32 (8 64), wants bool",),
        "(where (/= x 0) x 0.0)",
    ),
    Mistake(
        "(where (logical-and (> x 0) x) x 0.0)",
        "E-DTYPE-ARGUMENT",
        ("logical-and takes bool, not f32 (8 64)",),
        "(where (logical-and (> x 0) (/= x 0)) x 0.0)",
        "(logical-and (> x 0) x)",
    ),
    Mistake(
        "(where (and (> x 0) (< x 1)) x 0.0)",
        "E-STAGE-TENSOR",
        ("a tensor stands where and needs a value",),
        "(where (logical-and (> x 0) (< x 1)) x 0.0)",
        "(and (> x 0) (< x 1))",
    ),
    Mistake(
        "(where (not (> x 0)) x 0.0)",
        "E-STAGE-TENSOR",
        ("(logical-not ...) answers for each element",),
        "(where (logical-not (> x 0)) x 0.0)",
        "(not (> x 0))",
    ),
    Mistake("(cast x :float32)", "E-DTYPE-ARGUMENT", ("did you mean :f32?",), "(cast x :f32)",
            ":float32"),
    Mistake('(cast x "f16")', "E-DTYPE-ARGUMENT", ("did you mean :f16?",), "(cast x :f16)",
            '"f16"'),
]  # fmt: skip
