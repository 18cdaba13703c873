"""Every form of a run file with all of its keywords, and those of values: what the law of misspelt
words goes over. A row: the forms that stand in the smallest file, and the keywords in order."""

from __future__ import annotations

KNOBS = '(defknob depth 2 "Layers.")\n(defknob wide 8 "Width.")\n(defknob fold 0 "Fold.")\n'
LOADER = "(defloader data (source (digits)) {} (batch 8))"
STAGES = "(stage :train :split (0 0.8)) (stage :val :split (0.8 1))"
TEXT = "(defloader data (source (python-stdlib :limit 5000)) {} (batch 8))"
MODEL = "(defmodel net (x)\n  {})"
OBJECTIVE = "(defun objective (&key image label)\n  {})"
LOSS = "(nn:cross-entropy (net image) label)"
OPTIMIZER = "(defun optimizer ()\n  {})"
PASS = "(defeval val :loader (data :val) :at (:end))\n"
RUN = "(defrun :steps 100 {})"
DRAW = "(defoutput draw (&key (z :shape (4 8 8) :dtype :f32 :random (normal 1))) z)"

OPTIONS: tuple[tuple[str, str], ...] = (
    # what may vary
    ('(defknob depth 2 "Layers." :type (integer 1) :choices (2 3))', "type choices"),
    (KNOBS + '(defvariant deep "Deep." :depth 12 :wide 64)', "depth wide"),
    (KNOBS + PASS + '(defsweep s "S." :grid ((depth (2 3))) :zip ((wide (4 8)))\n'
     "  :random ((fold (uniform 0 9))) :n 2 :where (< depth 9) :seeds 2 :over (fold)\n"
     '  :rank ("val/loss" :min :at :last))',
     "grid zip random where seeds over rank min at"),
    (KNOBS + '(defvariant deep "Deep." :depth 12)\n'
     '(defsweep s "S." :grid ((depth (2 3))) :variant deep)', "variant"),
    # data
    (LOADER.format("(stage :train :split (0 0.5) :order :shuffled :steps 9 :microbatches 1"
     " :precision :f32 :batch 8 :split-by (:hash :seed 1))"
     " (stage :val :split (0.8 1) :map ((image (lambda (x) x))))"),
     "split order steps microbatches precision batch split-by map seed"),
    (LOADER.format("(stage :train :split (0 0.5)) (stage :val :source (digits) :mask (label 1))"),
     "source mask"),
    (TEXT.format("(windows 9 :stride 8 :documents 10 :pad 1 :short :drop)"
     " (stage :train :split (0 0.5)) (stage :val :split (0.5 1) :windows (9 :stride 9))"),
     "stride documents pad short windows"),
    (TEXT.format("(windows 9 :documents 10 :pack t) (stage :train) (stage :val)"), "pack"),
    (TEXT.format("(windows 9 :shift t) (stage :train) (stage :val)"), "shift"),
    ("(defloader data (source (python-stdlib :limit 5000)) (windows 9)"
     " (stage :train) (stage :val) (batch 8))", "limit"),
    ("(defloader data (source (none :examples 32)) (stage :train) (stage :val) (batch 8))",
     "examples"),
    (LOADER.format("(fields (image 0 :f32 :missing 0) (label 1 :u32 :hash 0))" + STAGES),
     "missing hash"),
    ("(defparameter *mean* (stage-stat (data :train) image :mean :axis 0))", "axis"),
    # models
    (MODEL.format("(defparam w ((dim x -1) 8) :init (normal 0.1) :dtype :f32 :trainable t)\n"
     "  (nn:linear (matmul x w) 10)"), "init dtype trainable"),
    (MODEL.format("(defstate m (64) :init 0 :dtype :f32 :combine :mean)\n"
     "  (setf m (mean x :axis 0)) (nn:linear (- x m) 10)"), "init dtype combine"),
    (MODEL.format("(defstate m (64) :init 0 :per :row)\n"
     "  (setf m x) (nn:linear (- x m) 10)"), "per"),
    (MODEL.format('(with-call (nn:linear :path "**") #\'nn:linear (nn:linear x 10))'), "path"),
    (MODEL.format("(with-numerics (:matmul :f32 :accumulate :f32 :tf32 nil) (nn:linear x 10))"),
     "matmul accumulate tf32"),
    (MODEL.format('(nn:linear (instance #\'nn:linear :name "a") 10)'), "name"),
    ('(load-params "a.safetensors" :into "net" :from "a" :map (("a" "b")) :ignore ("x")\n'
     '  :missing ("y") :transpose ("z") :cast t)', "into from map ignore missing transpose cast"),
    ('(load-params (run-checkpoint "other" :at 9 :weights :ema))', "at weights"),
    # loss, metrics, passes
    (OBJECTIVE.format(f'(metric "loss" {LOSS} :reduce :mean :unit "nats")'), "reduce unit"),
    (OBJECTIVE.format(f'(metric "x" (cast label :f32) :weights (cast label :f32))\n  {LOSS}'),
     "weights"),
    (OBJECTIVE.format(f'(metric "x" (cast label :f32) :by label :names 10)\n  {LOSS}'),
     "by names"),
    (OBJECTIVE.format(f'(diagnostic "x" image :reduce :max)\n  {LOSS}'), "reduce"),
    (OBJECTIVE.format(f"(let ((c {LOSS})) (losses :first c))") + "\n"
     + OPTIMIZER.format("(groups (group :rest (optim:sgd :lr 0.1) :loss :first :every 2"
                        " :offset 1 :optional t))"), "loss every offset optional"),
    ("(defeval val :loader (data :val) :every 5 :at (0 :end) :batches 2 :weights :live)",
     "loader every at batches weights"),
    ("(defeval val :loader (data :val) :every 5)\n"
     '(defeval draws :output draw :save (:png :columns 2) :weights (:best "val/loss"))\n'
     + DRAW + '\n(defrun :steps 100 :checkpoint (:best ("val/loss" :min)))',
     "output save png columns best"),
    (PASS + '(deftarget "val/loss" :below 0.5 :stop t)', "below stop"),
    (PASS + '(deftarget "val/loss" :above 0.5)', "above"),
    (DRAW, "shape dtype random"),
    ("(defoutput scores (&key image) (:autoregressive nil) (:state nil) (net image))",
     "autoregressive state"),
    # optimizer
    (OPTIMIZER.format("(groups :clip-norm 1.0 :clip-value 1.0 :ema 0.9 :ema-state t\n"
     "    (group :rest (optim:adamw :lr 1e-3)))"), "clip-norm clip-value ema ema-state"),
    (OPTIMIZER.format('(groups (group (select :path "**/w" :rank (>= 2) :dtype :f32\n'
     "      :size (> 1) :stage :train :where (lambda (p) p)\n"
     "      :and ((:rank 2)) :or ((:rank 2) (:rank 3)) :not (:rank 1)) :frozen :dtype :f32)\n"
     "    (group :rest (optim:adamw :lr 1e-3 :weight-decay 0)))"),
     "path rank size stage where and or not weight-decay"),
    ("(defoptimizer plain (&key (lr 0.1)) (defstate m :like param :init 0 :dtype :f32)\n"
     "  (optimizer-update (param grad) (setf m grad) (- param (* lr m))))\n"
     + OPTIMIZER.format("(groups (group :rest (plain :lr 0.1)))"), "init dtype lr"),
    # diagnostics
    ("(defdiagnostic size (&key param) (:for (select :rank 2)) (:reduce :max) (abs param))\n"
     + RUN.format(':diagnostics (:every 5 :select ("size/**"))'), "for reduce every select"),
    ('(defdiagnostic size (&key output) (:for (:scope "**")) (mean output))', "scope"),
    # the run
    (PASS + RUN.format(":seed 1 :precision :f32 :microbatches 1 :deterministic t :device :cpu\n"
     "  :checkpoint (:every 50 :at (0 :end) :keep 2 :staging t :frozen :copy)\n"
     "  :log-every 5 :deadline 60 :finite-guard (:skip 3)"),
     "steps seed precision microbatches deterministic device checkpoint every at keep staging"
     " frozen log-every deadline finite-guard skip"),
    (PASS + RUN.format(':checkpoint (:best ("val/loss" :min))'), "best min"),
    ("(defrun :epochs 2)", "epochs"),
    ("(defloader data (source (digits)) (counter :seen 8) (stage :train) (stage :val) (batch 8))\n"
     "(defrun :until (:seen 80))", "until"),
)  # fmt: skip

VALUES: tuple[tuple[str, str], ...] = (
    (LOADER.format("(stage :train :order :shuffled) (stage :val :order :sequential)"),
     "shuffled sequential"),
    (TEXT.format("(windows 9 :documents 10 :short :drop) (stage :train :order :random)"
     " (stage :val)"), "drop random"),
    (LOADER.format("(split-by (:stratify label)) (stage :train) (stage :val)"), "stratify"),
    (LOADER.format("(split-by :position) (stage :train) (stage :val)"), "position"),
    ("(defparameter *mean* (stage-stat (data :train) image :mean))", "mean"),
    (MODEL.format("(defstate m (64) :init 0 :combine :mean)\n"
     "  (setf m (mean x :axis 0)) (nn:linear (- x m) 10)"), "mean"),
    (OBJECTIVE.format(f'(metric "loss" {LOSS} :reduce :mean)'), "mean"),
    (OBJECTIVE.format(f'(diagnostic "x" image :reduce :histogram)\n  {LOSS}'), "histogram"),
    ("(defeval val :loader (data :val) :weights :live)", "live"),
    (OPTIMIZER.format("(groups (group :rest :frozen))"), "frozen"),
    (RUN.format(":precision :bf16 :finite-guard :halt"), "bf16 halt"),
)  # fmt: skip
"""Words that an option's value may be."""

SLIPS: tuple[tuple[str, str, str], ...] = (
    # the code, the forms, what the message or the hint names
    ("E-KNOB-UNKNOWN", KNOBS + "(defsweep s :grid ((deph (2 3))))", "depth"),
    ("E-KNOB-UNKNOWN", KNOBS + "(defsweep s :grid ((depth (2 3))) :over (wid))", "wide"),
    ("E-KNOB-TWICE", KNOBS + "(defsweep s :grid ((depth (2 3))) :zip ((depth (1))))", "depth"),
    ("E-KNOB-VALUE", KNOBS + '(defsweep s :grid ((depth ("a"))))', "integer"),
    ("E-VARIANT-UNKNOWN", KNOBS + '(defvariant deep "D." :depth 3)\n'
     "(defsweep s :grid ((wide (2 3))) :variant dep)", "deep"),
    ("E-SWEEP-SHAPE", KNOBS + "(defsweep s :random ((depth (uniform 1))) :n 3)", "two bounds"),
    ("E-SWEEP-SHAPE", KNOBS + "(defsweep s :random ((depth (uniform 0 9))))", "together"),
    ("E-SWEEP-SHAPE", KNOBS + "(defsweep s :n 3 :grid ((depth (1 2))))", "together"),
    ("E-SWEEP-SHAPE", KNOBS + "(defsweep s)", "varies nothing"),
    ("E-SWEEP-SHAPE", KNOBS + "(defsweep s :zip ((depth (1)) (wide (1 2))))", "unlike length"),
    ("E-SWEEP-SHAPE", KNOBS + "(defsweep s :random ((depth (uniform 9 1))) :n 3)", "the lower"),
    ("E-SWEEP-SHAPE", KNOBS + "(defsweep s :random ((depth (uniform :a 9))) :n 3)", ":a 9"),
    ("E-KNOB-VALUE", KNOBS + "(defsweep s :random ((depth (uniform 1 9))) :n 3)", "integer"),
    ("E-SWEEP-SHAPE", KNOBS + "(defeval val :loader (data :val) :every 10)\n"
     '(defsweep s :seeds 2 :rank ("val/loss" :min :at 7))', "val does not run"),
    ("E-NAME-UNBOUND", KNOBS + "(defsweep s :grid ((depth (2 3))) :where (< dpth 3))", "dpth"),
    ("E-TWICE", "(defrun :steps 9 :steps 10)", ":steps"),
    ("E-TWICE", LOADER.format("(counter :batch 4)" + STAGES), "key of ctx"),
    ("E-OPTION-VALUE", LOADER.format("(counter :seen -8)" + STAGES), "an integer from 0"),
    ("E-OPTION-VALUE", "(defloader data (source (digits)) (whole) (batch 8) (stage :train)"
     " (stage :val))", "(batch ...)"),
    ("E-OPTION-VALUE", "(defloader data (source (digits)) (whole)"
     " (stage :train :split (0 0.5)) (stage :val))", ":split"),
    ("E-FORM-SHAPE", "(defloader data (source (digits)) (whole t) (stage :train) (stage :val))",
     "nothing more"),
    ("E-FORM-SHAPE", LOADER.format("(split-by (:stratify label) 3)" + STAGES), "nothing more"),
    ("E-OPTION", LOADER.format("(split-by :position :seed 3)" + STAGES), ":seed"),
    ("E-FORM-SHAPE", LOADER.format("(stage :train) (stage :val :mask (label))"), "2 elements"),
    ("E-FORM-SHAPE", LOADER.format("(fields (image))" + STAGES), "name column"),
    ("E-OPTION-VALUE", LOADER.format("(stage :train) (stage :val :split (0.5 0.5))"), "no example"),
    ("E-OPTION-VALUE", MODEL.format("(defparam w (64 10) :trainable :false) (matmul x w)"),
     "t or nil"),
    ("W-UNUSED", MODEL.format("(defstate m (64)) (nn:linear (- x m) 10)"), "net/m"),
    ("E-OPTION", "(defoptimizer plain (&key (lr 0.1)) (defstate m :like param :combine :max)\n"
     "  (optimizer-update (param grad) (- param (* lr grad m))))\n"
     + OPTIMIZER.format("(groups (group :rest (plain)))"), ":combine"),
    ("E-METRIC", OBJECTIVE.format(f'(metric "" {LOSS})'), "empty"),
    ("E-METRIC", OBJECTIVE.format(f'(metric "x" {LOSS} :names 10)'), ":by"),
    ("E-METRIC", OBJECTIVE.format(f'(metric "x" {LOSS} :unit 3)'), ":unit"),
    ("W-EVAL-PARTIAL", "(defeval val :loader (data :val) :batches 1)", "8 of 360"),
    ("W-EVAL-NEVER", RUN.format(":checkpoint (:every 500)"), ":every 500"),
    ("W-EVAL-NEVER", RUN.format(":checkpoint (:at (500))"), "500"),
    ("W-EVAL-NEVER", RUN.format(':diagnostics (:every 500 :select ("grad/norm"))'), "500"),
    ("E-DEVICE-UNKNOWN", RUN.format(':device "cpuu"'), "cpu"),
    ("E-OPTION-VALUE", RUN.format(":deadline 0"), "above 0"),
    ("E-FORM-SHAPE", RUN.format(":finite-guard (:skip)"), "(:skip n)"),
    ("E-STEPS-UNKNOWN", LOADER.format("(counter :seen 8)" + STAGES)
     + "\n(defrun :until (:sene 80))", ":seen"),
    ("E-OPTION-VALUE", OPTIMIZER.format("(groups :ema 2 (group :rest (optim:sgd :lr 0.1)))"),
     "0 to 1"),
    ("E-OPTION-VALUE", OPTIMIZER.format("(groups :clip-norm -1 (group :rest (optim:sgd)))"),
     "above 0"),
    ("E-OPTION-VALUE", OPTIMIZER.format("(groups :ema-state t (group :rest (optim:sgd)))"), ":ema"),
    ("E-GROUP-LOSS", OPTIMIZER.format("(groups (group :rest (optim:sgd) :loss :x))"), "one loss"),
    ("E-GROUP-LOSS", OBJECTIVE.format(f"(losses :first {LOSS})") + "\n"
     + OPTIMIZER.format("(groups (group :rest (optim:sgd) :loss :frist))"), ":first"),
    ("E-GROUP-EMPTY", OPTIMIZER.format('(groups (group (select :path "net/linaer/w") :frozen)'
     " (group :rest (optim:sgd)))"), "net/linear/w"),
    ("E-GROUP-EMPTY", OPTIMIZER.format("(groups (group (select :rank (>= 1)) (optim:sgd))"
     ' (group (select :path "**/w") :frozen))'), "group 1"),
    ("E-OPTION-VALUE", OPTIMIZER.format("(groups (group (select :stage :trian) :frozen)"
     " (group :rest (optim:sgd)))"), ":train"),
    ("E-OPTION-VALUE", OPTIMIZER.format("(groups (group (select :dtype :f23) :frozen)"
     " (group :rest (optim:sgd)))"), ":f32"),
    ("W-SCHEDULE", OPTIMIZER.format("(groups (group :rest (optim:sgd :lr (* 0 (ctx :step)))))"),
     "0 at every step"),
    ("W-SCHEDULE", OPTIMIZER.format("(groups (group :rest (optim:sgd :lr"
     " (optim:warmup-cosine 0.1 :steps 20))))"), "from step"),
    ("E-CURRICULUM-STATE", "(let ((c 0)) (defun curriculum () (incf c) :train))", "around"),
    ("E-CURRICULUM-STATE", "(defparameter *c* (let ((c 0)) (lambda () (incf c))))\n"
     "(defun curriculum () (funcall *c*) :train)", "*c*"),
    ("E-CURRICULUM-STATE", "(defun curriculum () (setf (get 'a 'b) (ctx :step)) :train)",
     "properties of a"),
    ("E-CURRICULUM-STATE", "(defun curriculum () (if (< (random 3) 9) :train nil))", "random"),
    ("E-CURRICULUM-STATE", "(defclass box () ((n :initform 0 :accessor n)))\n"
     "(defparameter *b* (make-instance 'box))\n(defun curriculum () (incf (n *b*)) :train)", "*b*"),
)  # fmt: skip
"""What a form takes by its grammar and would do nothing with, or something else than was meant."""
