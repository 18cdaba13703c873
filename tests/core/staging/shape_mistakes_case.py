"""Mistakes about joining, reductions, parts, pictures, attention, losses and loops; rows as in
mistakes_case."""

from __future__ import annotations

from mistakes_case import Mistake

SHAPE_MISTAKES = [
    # Joining and shapes
    Mistake(
        "(concat x (zeros '(8 10)))",
        "E-SHAPE-ARGUMENT",
        ("they differ on an axis other than 0",),
        "(concat x (zeros '(8 10)) :axis 1)",
    ),
    Mistake(
        "(concat x (mean x :axis 1) :axis 1)",
        "E-SHAPE-ARGUMENT",
        ("concat of f32 (8 64) and f32 (8)",),
        "(concat x (unsqueeze (mean x :axis 1) 1) :axis 1)",
    ),
    Mistake(
        "(stack x (zeros '(8 10)))",
        "E-SHAPE-ARGUMENT",
        ("stack of f32 (8 64) and f32 (8 10): their shapes differ", "concat joins on an axis"),
    ),
    Mistake(
        "(reshape x '(8 4 17))",
        "E-SHAPE-RESHAPE",
        ("512 elements into 544",),
        "(reshape x '(8 4 16))",
    ),
    Mistake(
        "(reshape x '(8 -1 12))",
        "E-SHAPE-RESHAPE",
        ("96 do not divide its 512 elements",),
    ),
    Mistake(
        "(reshape x (list 32 8 8))",
        "E-SHAPE-RESHAPE",
        ("512 elements into 2048", "(reshape x (list -1 8 8)) gives f32 (8 8 8)"),
        "(reshape x (list -1 8 8))",
    ),
    Mistake(
        "(reshape x 8 4 16)",
        "E-CALL-ARGUMENTS",
        ("reshape takes 2 arguments, got 4", "a list is one argument"),
        "(reshape x '(8 4 16))",
    ),
    Mistake(
        "(split x 5 :axis 1)",
        "E-SHAPE-ARGUMENT",
        ("5 parts do not divide the 64 of axis 1", "1 2 4 8 16 32 64"),
    ),
    Mistake(
        "(squeeze x :axis 1)",
        "E-SHAPE-ARGUMENT",
        ("axis 1 has size 64, not 1", "(tref x ...)"),
    ),
    Mistake(
        "(permute x '(0 2 1))",
        "E-SHAPE-AXIS",
        ("axis 2 of a tensor with 2 axes", "its axes are 0 to 1"),
    ),
    Mistake(
        "(pad x '((1 1) (1 1) (1 1)))",
        "E-SHAPE-ARGUMENT",
        ("3 widths for 2 axes",),
    ),
    Mistake(
        "(bind-shape (b h w) x (+ x w))",
        "E-SHAPE-BIND",
        ("bind-shape (b h w) of f32 (8 64): 3 names for 2 axes",),
    ),
    Mistake(
        "(bind-shape (n n) x (+ x n))", "E-SHAPE-BIND", ("axis 1 is 64, n is 8",)
    ),
    Mistake(
        "(bind-shape (b d) x (check-shape (b (* 2 d)) x))",
        "E-SHAPE-BIND",
        ("axis 1 is 64, not (* 2 d), which is 128", "8 is b, 64 is d, bound here"),
        None,
        "(check-shape (b (* 2 d)) x)",
    ),
    # Reductions and norms
    Mistake(
        "(sum (mean x :axis 0) :axis 1)",
        "E-SHAPE-AXIS",
        ("(mean x :axis 0) is f32 (64)", "gives f32 ()"),
        "(sum (mean x :axis 0) :axis 0)",
    ),
    Mistake(
        "(softmax x :axis 2)",
        "E-SHAPE-AXIS",
        ("softmax: axis 2 of a tensor with 2 axes", "-2 to -1 from the end"),
    ),
    Mistake("(sum x :axis '(0 0))", "E-SHAPE-AXIS", ("an axis is named twice in (0 0)",)),
    Mistake(
        "(mean x 1)",
        "E-CALL-ARGUMENTS",
        ("1 stands where a keyword does", ":axis :keep"),
        "(mean x :axis 1)",
    ),
    Mistake(
        "(mean (iota 64))", "E-DTYPE-ARGUMENT", ("it takes floats",), "(mean (cast (iota 64) :f32))"
    ),
    Mistake(
        "(layer-norm x :weight (zeros '(8)))",
        "E-SHAPE-ARGUMENT",
        ("weight and bias broadcast to x", "(layer-norm x ...): (x - mean)"),
    ),
    Mistake(
        "(group-norm x 7)", "E-SHAPE-ARGUMENT", ("7 groups do not divide 64 channels",)
    ),
    # Parts and indices
    Mistake(
        "(slice x :axis 1 :start 60 :end 70)",
        "E-SHAPE-SLICE",
        ("60 to 70 of axis 1, which has 64",),
        "(slice x :axis 1 :start 60 :end 64)",
    ),
    Mistake(
        "(slice x :axis 1 :start 10 :end 5)",
        "E-SHAPE-SLICE",
        ("the start is at or before the end",),
    ),
    Mistake(
        "(tref x 0 64)", "E-SHAPE-SLICE", ("index 64 of an axis of 64", "indices are 0 to 63")
    ),
    Mistake("(tref x 0 0 0)", "E-SHAPE-AXIS", ("3 indices for 2 axes",)),
    Mistake(
        "(+ (mean x) (cast (gather (iota 8) (zeros '(10 4))) :f32))",
        "E-DTYPE-ARGUMENT",
        ("the index of gather is f32 (10 4), not integers", "gives f32 (8 4)"),
        "(+ (mean x) (cast (gather (zeros '(10 4)) (iota 8)) :f32))",
        "(gather (iota 8) (zeros '(10 4)))",
    ),
    Mistake(
        "(gather (zeros '(10 4)) (mean x :axis 1))",
        "E-DTYPE-ARGUMENT",
        ("the index of gather is f32 (8), not integers",),
        "(gather (zeros '(10 4)) (cast (mean x :axis 1) :i32))",
    ),
    Mistake(
        "(take-along x (iota 8) :axis 1)",
        "E-SHAPE-ARGUMENT",
        ("x and index have equal axes but for axis 1",),
        "(take-along x (unsqueeze (iota 8) 1) :axis 1)",
    ),
    Mistake(
        "(scatter-add x (iota 3) (zeros '(4 64)))",
        "E-SHAPE-BROADCAST",
        ("y is f32 (4 64) and does not broadcast to (3 64)", "what gather would give"),
    ),
    Mistake(
        "(index-update x (zeros '(8)) 0)",
        "E-SHAPE-BROADCAST",
        ("index-update: y is f32 (8) and does not broadcast to (64)",),
    ),
    Mistake(
        "(top-k x 65)", "E-SHAPE-ARGUMENT", ("65 of the 64 elements of axis 1", "k is 1 to 64")
    ),
    Mistake(
        "(segment-sum x (iota 4) 3)",
        "E-SHAPE-ARGUMENT",
        ("segments number the rows of x: (8)",),
    ),
    # Pictures
    Mistake(
        "(conv (reshape x '(8 1 8 8)) (zeros '(3 3 1 4)))",
        "E-SHAPE-CONV",
        ("x has 8 channels, w takes 1",),
        "(conv (permute (reshape x '(8 1 8 8)) '(0 2 3 1)) (zeros '(3 3 1 4)))",
    ),
    Mistake(
        "(conv (reshape x '(8 1 8 8)) (zeros '(4 1 3 3)))",
        "E-SHAPE-CONV",
        ("x has 8 channels, w takes 3",),
        "(conv (permute (reshape x '(8 1 8 8)) '(0 2 3 1))"
        " (permute (zeros '(4 1 3 3)) '(2 3 1 0)))",
    ),
    Mistake(
        "(conv (reshape x '(8 8 8 1)) (zeros '(9 9 1 4)))",
        "E-SHAPE-CONV",
        ("a window of (9 9) does not fit into (8 8)",),
        "(conv (reshape x '(8 8 8 1)) (zeros '(9 9 1 4)) :padding :same)",
    ),
    Mistake(
        "(max-pool x 2)", "E-SHAPE-CONV", ("x is (b n... channels)", "(reshape x (list b n n c))")
    ),
    # Attention
    Mistake(
        "(attention x x x)",
        "E-SHAPE-ARGUMENT",
        ("q, k and v are (batch place head depth)", "(reshape q (list b n heads depth))"),
    ),
    Mistake(
        "(let ((q (reshape x '(8 4 4 4)))) (attention q q (reshape x '(8 4 2 8))))",
        "E-SHAPE-ARGUMENT",
        ("k has 4 places of 4 heads, v has 4 of 2", "q is f32 (8 4 4 4), made here"),
        None,
        "(attention q q (reshape x '(8 4 2 8)))",
    ),
    Mistake(
        "(let ((q (reshape x '(8 4 4 4)))) (attention q q q :mask (causal-mask 5)))",
        "E-SHAPE-ARGUMENT",
        ("mask broadcasts to (batch head query key), (8 4 4 4)",),
        None,
        "(attention q q q :mask (causal-mask 5))",
    ),
    # Losses
    Mistake(
        "(cross-entropy x (mean x :axis 1))",
        "E-SHAPE-ARGUMENT",
        ("targets that are floats have the shape of the logits",),
        "(cross-entropy x (cast (mean x :axis 1) :i32))",
    ),
    Mistake(
        "(cross-entropy x (reshape (iota 8) '(8 1)))",
        "E-SHAPE-ARGUMENT",
        ("labels have the logits' shape without axis 1",),
        "(cross-entropy x (squeeze (reshape (iota 8) '(8 1)) :axis 1))",
    ),
    Mistake(
        "(cross-entropy (transpose x) (iota 8))",
        "E-SHAPE-ARGUMENT",
        ("labels have the logits' shape",),
        "(cross-entropy (transpose x) (iota 8) :axis 0)",
    ),
    Mistake(
        "(cross-entropy (iota 8) x)",
        "E-DTYPE-INTEGER",
        ("gives f32 (8)",),
        "(cross-entropy x (iota 8))",
    ),
    Mistake(
        "(binary-cross-entropy x (iota 64))",
        "E-DTYPE-MIX",
        ("binary-cross-entropy of f32 (8 64) and i32 (64)",),
        "(binary-cross-entropy x (cast (iota 64) :f32))",
    ),
    # Loops
    Mistake(
        "(scan (lambda (c i) (values (concat c c) c)) x nil :length 3)",
        "E-STAGE-CARRY",
        ("goes in as f32 (8 64) and comes back as f32 (16 64)", "what comes back is made here"),
        None,
        "(lambda (c i) (values (concat c c) c))",
    ),
    Mistake(
        "(scan (lambda (c i) (cast c :bf16)) x nil :length 3)",
        "E-STAGE-CARRY",
        ("comes back as bf16 (8 64)",),
        "(scan (lambda (c i) (cast (cast c :bf16) :f32)) x nil :length 3)",
        "(lambda (c i) (cast c :bf16))",
    ),
    Mistake(
        "(scan (lambda (c i) (+ c i)) (zeros '(64)) (zeros '(3 32)))",
        "E-SHAPE-BROADCAST",
        ("c is f32 (64), the carry of scan", "i is f32 (32), one part of the xs of scan"),
        None,
        "(+ c i)",
    ),
    Mistake(
        "(while-loop (lambda (v) (< v 9)) (lambda (v) (* 2 v)) x)",
        "E-SHAPE-ARGUMENT",
        ("the test of while-loop gives bool (8 64)", "(any test) or (all test)"),
        None,
        "(lambda (v) (< v 9))",
    ),
    Mistake(
        "(cond-select (> x 0) (lambda () x) (lambda () (- x)))",
        "E-SHAPE-ARGUMENT",
        ("the test of cond-select is bool (8 64)", "(where test x y)"),
    ),
    # Both operands grow
    Mistake(
        "(- (mean x :axis 1) (slice x :axis 1 :end 1))",
        "W-BROADCAST-OUTER",
        ("- of f32 (8) and f32 (8 1) gives f32 (8 8): both operands grow",),
        "(- (mean x :axis 1) (squeeze (slice x :axis 1 :end 1) :axis 1))",
    ),
    Mistake(
        "(binary-cross-entropy (slice x :axis 1 :end 1) (mean x :axis 1))",
        "W-BROADCAST-OUTER",
        ("gives f32 (8 8)",),
        "(binary-cross-entropy (squeeze (slice x :axis 1 :end 1) :axis 1) (mean x :axis 1))",
    ),
]  # fmt: skip
