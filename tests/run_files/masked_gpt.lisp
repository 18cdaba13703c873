;;; masked_gpt.lisp: a GPT whose loss counts only some targets, as many of a row as chance has it;
;;; its optimizer keeps the gradient, so that ways to sum it over blocks can be compared.
(require "sexpgpu/nn")

(defknob blocks  1  "Microbatches of a step." :type (integer 1))
(defknob width   32 "Residual width."         :type (integer 8))
(defknob context 16 "Tokens of context."      :type (integer 1))
(defknob bound    nil "The norm to clip to."   :type (or null (float (0))))

(defloader text
  (source (python-stdlib :limit 20000))
  (windows (1+ context))
  (stage :train :order :random)
  (batch 16))

(defun prepare (&key tokens)
  (let* ((targets (slice tokens :axis 1 :start 1))
         (keep (random-uniform nil :like (cast targets :f32))))
    (batch :inputs (slice tokens :axis 1 :end -1)
           :targets targets
           :weights (cast (< keep (random-uniform (list (batch-rows) 1) :batch 0)) :f32))))

(defmodel gpt-block (x)
  (let ((x (+ x (nn:attention (nn:layer-norm x) :heads 2 :causal t))))
    (+ x (dropout (nn:mlp (nn:layer-norm x) :hidden (* 4 width)) 0.1))))

(defmodel gpt (tokens)
  (defparam wte (256 width) :init (normal 0.02))
  (defparam wpe (context width) :init (normal 0.02))
  (let ((x (+ (gather wte tokens) wpe)))
    (dotimes (i 2) (setq x (gpt-block x :name (path "h" i))))
    (matmul (nn:layer-norm x) (transpose wte))))

(defun objective (&key inputs targets weights)
  (metric "tokens" (sum weights) :reduce :sum)
  (metric "most" (sum weights :axis 1) :reduce :max)
  (metric "loss" (weighted-mean (cross-entropy (gpt inputs) targets) weights)))

(defoptimizer keep-gradient (&key lr)
  "Gradient descent that keeps the gradient it went by."
  (defstate g :like param)
  (optimizer-update (param grad)
    (setf g grad)
    (- param (* lr grad))))

(defun optimizer ()
  (groups :clip-norm bound :ema 0.9 (group :rest (keep-gradient :lr 1e-2))))

(defrun :steps 3 :seed 7 :microbatches blocks :log-every 1)
