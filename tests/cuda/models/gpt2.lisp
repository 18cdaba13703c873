;;; gpt2.lisp: GPT-2 124M as it is trained in public: 64 x 1,024 tokens, bf16, nanoGPT's rates. The
;;; tokens are made up: what is looked at is the program, not the loss.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob depth      12    "Transformer blocks."             :type (integer 1 96))
(defknob width      768   "Residual width."                 :type (integer 16))
(defknob heads      12    "Attention heads."                :type (integer 1))
(defknob context    1024  "Tokens of context."              :type (integer 1))
(defknob vocabulary 50304 "50,257 and what fills up to 64." :type (integer 2))
(defknob batch-size 64    "Sequences in a step."            :type (integer 1))
(defknob precision  :bf16 "What products are made in."      :type symbol)

(defvariant small "For the emulated device."
  :depth 2 :width 64 :heads 2 :context 32 :vocabulary 97 :batch-size 2)

(defloader tokens
  (source (synthetic (lambda (i)
                       (list :tokens (loop for k to context
                                           collect (mod (+ (* 7 i) (* k k)) vocabulary))))
                     :examples 256))
  (stage :train :order :random)
  (batch batch-size))

(defun prepare (&key tokens)
  (batch :inputs (slice tokens :axis 1 :end -1) :targets (slice tokens :axis 1 :start 1)))

(defun projection (x out &key (bias t) name)
  "Linear maps of the blocks: those that end a branch begin smaller with depth."
  (let ((std (if (member name '("out" "down") :test #'equal) (/ 0.02 (sqrt (* 2 depth))) 0.02)))
    (nn:linear x out :bias bias :name name :init (normal std))))

(defun tanh-gelu (x) "The form of the published GPT-2." (gelu x :approximate :tanh))

(defmodel gpt-block (x)
  (let ((x (+ x (nn:attention (nn:layer-norm x) :heads heads :causal t :linear #'projection))))
    (+ x (nn:mlp (nn:layer-norm x) :linear #'projection :activation #'tanh-gelu))))

(defmodel gpt (tokens)
  (bind-shape (_ n) tokens
    (defparam wte (vocabulary width) :init (normal 0.02))
    (defparam wpe (context width) :init (normal 0.02))
    (let ((x (+ (gather wte tokens) (slice wpe :axis 0 :end n))))
      (dotimes (i depth) (setq x (gpt-block x :name (path "h" i))))
      (matmul (nn:layer-norm x) (transpose wte)))))  ; tied head

(defun objective (&key inputs targets)
  (metric "loss" (nn:cross-entropy (gpt inputs) targets)))

(defun optimizer ()
  (let ((rate (optim:warmup-cosine 6e-4 :warmup 700 :floor 6e-5)))
    (groups :clip-norm 1.0
      (group (select :rank (<= 1)) (optim:adamw :lr rate :beta2 0.95 :weight-decay 0))
      (group :rest                 (optim:adamw :lr rate :beta2 0.95 :weight-decay 0.1)))))

(defrun :steps 10000 :seed 1 :precision precision)
