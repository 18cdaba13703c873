"""Mistakes of a run file's configuration, as they are made: the code, and the forms that stand in
for those of the smallest file."""

from __future__ import annotations

LOADER = "(defloader data (source (digits)) {} (stage :train :split (0 0.8)) {})"
ONE = "(defloader data (source {}) (stage :train) (stage :val) (batch 8))"
TEXT = "(defloader data (source (python-stdlib :limit 5000)) {} (batch 8))"
RUN = "(defrun :steps 100 {})"
OPTIMIZER = "(defun optimizer () {})"
GROUP = OPTIMIZER.format("(groups (group {}))")
PASS = "(defeval val :loader (data :val) {})"

MISTAKES: tuple[tuple[str, str], ...] = (
    # missing, twice
    ("E-TWICE", "(defmodel net (x) (nn:linear x 10))\n(defmodel net (x) (nn:linear x 10))"),
    ("E-TWICE", "(defun objective (&key image) (mean image))\n(defun objective (&key x) x)"),
    ("E-TWICE", "(defeval val :loader (data :val))\n(defeval val :loader (data :val))"),
    ("E-TWICE", "(defrun :steps 1)\n(defrun :steps 2)"),
    ("E-TWICE", LOADER.format("(batch 8) (batch 9)", "(stage :val :split (0.8 1))")),
    ("E-TWICE", LOADER.format("(batch 8) (stage :train)", "(stage :val :split (0.8 1))")),
    ("E-MISSING", "(defrun :seed 1)"),
    ("E-MISSING", "(defloader data (stage :train) (stage :val) (batch 8))"),
    # knobs, variants, sweeps
    ("W-KNOB-UNUSED", '(defknob depth 2 "Layers.")'),
    ("E-KNOB-VALUE", '(defknob depth 2.5 "Layers." :type (integer 1))'),
    ("E-KNOB-VALUE", '(defknob kind :relu "Which." :choices (:gelu :tanh))'),
    ("E-KNOB-UNKNOWN", '(defknob depth 2 "Layers.")\n(defvariant deep "Deep." :deph 12)'),
    ("E-KNOB-VALUE", '(defknob n 2 "N." :type (integer 1 4))\n(defvariant deep "Deep." :n 12)'),
    ("E-VARIANT-UNKNOWN", '(defknob n 2 "N.")\n(defvariant a "A." :from b :n 1)'),
    ("E-VARIANT-CYCLE", '(defknob n 2 "N.")\n(defvariant a "" :from b)\n(defvariant b "" :from a)'),
    # data
    ("E-OPTION", LOADER.format("(batches 8)", "(stage :val)")),
    ("E-OPTION", LOADER.format("(batch 8)", "(stage :val :splits (0.8 1))")),
    ("E-OPTION", LOADER.format("(batch 8) (windows 4)", "(stage :val :split (0.8 1))")),
    ("E-OPTION", LOADER.format("", "(stage :val :split (0.8 1))")),
    ("E-OPTION", TEXT.format("(stage :train :split (0 0.5)) (stage :val :split (0.5 1))")),
    ("E-OPTION-VALUE", LOADER.format("(batch 0)", "(stage :val)")),
    ("E-OPTION-VALUE", LOADER.format("(batch 8)", "(stage :val :split (0.8 1.2))")),
    ("E-OPTION-VALUE", LOADER.format("(batch 8)", "(stage :val :split '(0.8 1))")),
    ("E-OPTION-VALUE", LOADER.format("(batch 8)", "(stage :val :order :shuffel)")),
    ("E-FORM-SHAPE", LOADER.format("(batch 8)", "(stage :val :split (0.8))")),
    ("E-SOURCE-UNKNOWN", "(defloader data (source (digit)) (stage :train) (batch 8))"),
    ("E-DATA-MISSING", '(defloader data (source (npz "none.npz"))\n'
     "  (stage :train) (stage :val) (batch 8))"),
    ("E-DATA-SMALL", LOADER.format("(batch 2000)", "(stage :val :split (0.8 1))")),
    ("E-FIELD", LOADER.format("(batch 8) (split-by (:stratify lable))", "(stage :val)")),
    ("E-FIELD", LOADER.format("(batch 8)", "(stage :val :mask (kind 1))")),
    ("W-SPLIT-OVERLAP", LOADER.format("(batch 8)", "(stage :val :split (0.7 1))")),
    ("E-FIELD", LOADER.format("(batch 8) (split-by (:group patient))", "(stage :val)")),
    ("E-FIELD", LOADER.format("(batch 8) (split-by (:group image))", "(stage :val)")),
    ("E-FIELD", LOADER.format("(batch 8)", "(stage :val :split-by (:stratify lable))")),
    ("E-FIELD", LOADER.format("(batch 8) (map imag (lambda (x) x))", "(stage :val)")),
    ("E-DATA-TYPE", LOADER.format("(batch 8) (map label (lambda (x) :odd))", "(stage :val)")),
    ("E-OPTION-VALUE", LOADER.format("(batch 8) (map label 7)", "(stage :val)")),
    ("E-OPTION-VALUE", TEXT.format("(windows 9 :short :keep) (stage :train) (stage :val)")),
    ("E-OPTION-VALUE", TEXT.format("(windows 9 :documents :lines) (stage :train) (stage :val)")),
    ("E-OPTION-VALUE", TEXT.format("(windows 9 :documents \"end\") (stage :train) (stage :val)")),
    ("E-OPTION-VALUE", TEXT.format("(windows 9 :documents 10)"
     " (stage :train :order :random) (stage :val)")),
    ("E-OPTION-VALUE", TEXT.format("(windows 9 :documents 10 :shift t)"
     " (stage :train) (stage :val)")),
    ("E-OPTION-VALUE", TEXT.format("(windows 9) (split-by :hash) (stage :train) (stage :val)")),
    ("E-OPTION", TEXT.format("(windows 9 :documnets 10) (stage :train) (stage :val)")),
    ("E-OPTION-VALUE", "(defloader data (source (mixture (a 0 (digits)) (b 1 (digits))))\n"
     "  (stage :train) (stage :val) (batch 8))"),
    ("E-OPTION-VALUE", "(defloader data (source (mixture (a 1 (digits)) (b 1 (digits))))\n"
     "  (stage :train :order :streams) (stage :val) (batch 8))"),
    ("E-OPTION", ONE.format("(synthetic (lambda (i) i))")),
    ("E-OPTION-VALUE", ONE.format("(synthetic 3 :examples 9)")),
    ("E-DATA-TYPE", "(defloader data (source (synthetic (lambda (i) (list :x :no)) :examples 9))\n"
     "  (stage :train) (stage :val) (batch 8))"),
    ("E-DATA-MISSING", ONE.format('(csv "none.csv")')),
    ("E-DATA-MISSING", ONE.format('(images "none")')),
    ("E-OPTION", ONE.format('(csv "a.csv" :seperator ";")')),
    ("E-DATA-MISSING", ONE.format('(parquet "none-*.parquet")')),
    ("E-DATA-MISSING", ONE.format('(arrow "none.arrow")')),
    ("E-OPTION", ONE.format("(parquet)")),
    ("E-OPTION", ONE.format('(arrow "a.arrow" :columns 3)')),
    ("E-OPTION-VALUE", ONE.format("(jsonl 3)")),
    ("E-OPTION", ONE.format("(idx)")),
    ("E-OPTION", ONE.format('(images "a" "b")')),
    ("E-OPTION-VALUE", ONE.format("(npz 4)")),
    ("E-DATA-MISSING", ONE.format('(csv "s3://bucket/none.csv")')),
    ("E-TWICE", LOADER.format("(batch 8) (batch 4)", "(stage :val)")),
    ("E-TWICE", LOADER.format("(batch 8)", "(stage :val) (stage :val)")),
    ("E-FORM-SHAPE", LOADER.format("(batch 8) (map image)", "(stage :val)")),
    ("E-FORM-SHAPE", "(defloader data (source (mixture (a (digits)))) (stage :train) (stage :val)"
     " (batch 8))"),
    ("E-FIELD", "(defloader data (source (digits)) (fields (x (0 9) :f32)) (stage :train)"
     " (stage :val) (batch 8))"),
    ("E-LOADER-STAGE", "(defeval val :loader (data :vla))"),
    ("E-LOADER-STAGE", "(defeval val :loader (dat :val))"),
    ("E-LOADER-STAGE", "(defloader data (source (digits)) (stage :tarin) (stage :val) (batch 8))"),
    # fields, objective, metrics
    ("E-FIELD", "(defun objective (&key image lable) (nn:cross-entropy (net image) lable))"),
    ("E-FIELD", "(defun evaluate (&key images) (metric \"x\" (mean images)))"),
    ("E-CONTRACT", "(defun objective (image label) (nn:cross-entropy (net image) label))"),
    ("E-CONTRACT", "(defun prepare (&key image label) image)"),
    ("E-OBJECTIVE-SCALAR", "(defun objective (&key image) (net image))"),
    ("E-STAGE-OUTSIDE", "(defun prepare (&key image label)\n"
     "  (batch :image (net image) :label label))"),
    ("E-METRIC", '(defun objective (&key image) (metric "x" (mean (net image)) :reduce :last))'),
    ("E-SERIES", '(deftarget "val/los" :below 0.5)\n' + PASS.format("")),
    ("E-SERIES", RUN.format(':checkpoint (:best ("valid/loss" :min))')),
    ("W-OBJECTIVE-SUM", "(defun objective (&key image) (sum (net image)))"),
    ("E-WEIGHT-DEPENDS", "(defun objective (&key image)\n"
     "  (weighted-mean (net image) (net image)))"),
    # parameters, states
    ("E-PARAM-UNREACHED", "(defmodel net (x) (defparam w (3)) (nn:linear x 10))"),
    ("E-PARAM-DUPLICATE", "(defmodel net (x)\n"
     '  (nn:linear (nn:linear x 8 :name "a") 10 :name "a"))'),
    ("E-PARAM-PASS", "(defun evaluate (&key image)\n"
     '  (metric "x" (mean (nn:linear image 3))))'),
    ("E-STATE-SET", "(defmodel net (x) (defstate m (3) :init 0)\n  (setf m x) (nn:linear x 10))"),
    ("W-STATE-ROWS", "(defmodel net (x) (defstate m (64) :init 0 :per :row)\n"
     "  (setf m x) (nn:linear (+ x m) 10))"),
    # passes
    ("E-EMA-MISSING", PASS.format(":weights :ema")),
    ("E-OPTION", PASS.format(":evry 5")),
    ("W-EVAL-NEVER", PASS.format(":every 500")),
    ("W-EVAL-TRAIN", "(defeval val :loader (data :train))"),
    # optimizer
    ("E-GROUP-UNMATCHED", GROUP.format("(select :rank (<= 1)) (optim:adamw :lr 1e-3)")),
    ("E-GROUP-EMPTY", OPTIMIZER.format("(groups (group :rest (optim:adamw :lr 1e-3))\n"
     '    (group (select :path "none/**") :frozen))')),
    ("E-GROUP-LOSS", "(defun objective (&key image label)\n"
     "  (let ((c (nn:cross-entropy (net image) label))) (losses :a c :b c)))"),
    ("E-LOSS-UNUSED", "(defun objective (&key image label)\n"
     "  (let ((c (nn:cross-entropy (net image) label))) (losses :a c :b c)))\n"
     + GROUP.format(":rest (optim:adamw :lr 1e-3) :loss :a")),
    ("E-CONTRACT", OPTIMIZER.format("(optim:adamw :lr 1e-3)")),
    ("E-CALL-KEYWORD", GROUP.format(":rest (optim:adamw :rate 1e-3)")),
    ("E-SCHEDULE", GROUP.format(":rest (optim:adamw :lr (/ 1 (ctx :step)))")),
    ("E-CTX-KEY", GROUP.format(":rest (optim:adamw :lr (* 1e-3 (ctx :progres)))")),
    # the run, curriculum
    ("E-OPTION", RUN.format(":sede 1")),
    ("E-OPTION-VALUE", RUN.format(":epochs 2")),
    ("E-OPTION-VALUE", RUN.format(":precision :f23")),
    ("E-OPTION-VALUE", "(defrun :steps 0)"),
    ("E-OPTION-VALUE", RUN.format(":finite-guard :skip")),
    ("E-BATCH-DIVIDE", RUN.format(":microbatches 3")),
    ("E-STEPS-UNKNOWN", "(defrun :until (:tokens 100))"),
    ("E-CURRICULUM", "(defun curriculum () :trian)"),
    ("E-CURRICULUM", "(defun curriculum () :val)"),
)  # fmt: skip
