;;; llama.lisp: a Llama of 125M parameters (MobileLLM's width and heads at 12 blocks): RMS norms,
;;; rotary positions, SwiGLU, grouped heads. The tokens are made up: what is looked at is the
;;; program, not the loss.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob depth      12    "Transformer blocks."         :type (integer 1 96))
(defknob width      768   "Residual width."             :type (integer 16))
(defknob heads      12    "Heads of queries."           :type (integer 1))
(defknob kv-heads   4     "Heads of keys and values."   :type (integer 1))
(defknob context    2048  "Tokens of context."          :type (integer 1))
(defknob vocabulary 32000 "Of Llama's first tokenizer." :type (integer 2))
(defknob batch-size 16    "Sequences in a step."        :type (integer 1))
(defknob precision  :bf16 "What products are made in."  :type symbol)

(defvariant small "For the emulated device."
  :depth 2 :width 64 :heads 4 :kv-heads 2 :context 32 :vocabulary 97 :batch-size 2)

(defloader tokens
  (source (synthetic (lambda (i)
                       (list :tokens (loop for k to context
                                           collect (mod (+ (* 7 i) (* k k)) vocabulary))))
                     :examples 256))
  (stage :train :order :random)
  (batch batch-size))

(defun prepare (&key tokens)
  (batch :inputs (slice tokens :axis 1 :end -1) :targets (slice tokens :axis 1 :start 1)))

(defmodel llama-block (x)
  (let ((x (+ x
              (nn:attention (nn:rms-norm x)
                            :heads heads
                            :kv-heads kv-heads
                            :causal t
                            :rope t
                            :bias nil))))
    (+ x (nn:gated-mlp (nn:rms-norm x)))))

(defmodel llama (tokens)
  (let ((x (nn:embedding tokens vocabulary width)))
    (dotimes (i depth) (setq x (llama-block x :name (path "h" i))))
    (nn:linear (nn:rms-norm x) vocabulary :bias nil :init (normal 0.02))))

(defun objective (&key inputs targets)
  (metric "loss" (nn:cross-entropy (llama inputs) targets)))

(defun optimizer ()
  (let ((rate (optim:warmup-cosine 6e-4 :warmup 700 :floor 6e-5)))
    (groups :clip-norm 1.0
      (group (select :rank (<= 1)) (optim:adamw :lr rate :beta2 0.95 :weight-decay 0))
      (group :rest                 (optim:adamw :lr rate :beta2 0.95 :weight-decay 0.1)))))

(defrun :steps 10000 :seed 1 :precision precision)
