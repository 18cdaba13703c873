;;; llama-chars.lisp: a character-level Llama: RMS norms, rotary positions, SwiGLU, grouped heads.
;;;   sexpgpu run examples/llama-chars.lisp -s text=data/shakespeare.txt
;;;   sexpgpu sample examples/llama-chars.lisp --tokens 200
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob text       nil  "A text file; nil is a part of Python's own standard library."
  :type (or null string))
(defknob depth      4    "Transformer blocks."       :type (integer 1 96))
(defknob width      128  "Residual width."           :type (integer 16))
(defknob heads      4    "Heads of queries."         :type (integer 1))
(defknob kv-heads   2    "Heads of keys and values." :type (integer 1))
(defknob context    64   "Tokens of context."        :type (integer 1))
(defknob batch-size 12   "Sequences in a step."      :type (integer 1))
(defknob lr         1e-3 "Peak learning rate."       :type (float (0) 1))
(defknob steps      2000 "Steps of the run."         :type (integer 1))

(defvariant smoke "A few seconds on a laptop." :depth 2 :width 64 :steps 50)
(defvariant gpu "The shape of a small Llama; with a tokenizer, TinyStories is its public data."
  :depth 12 :width 768 :heads 12 :kv-heads 4 :context 1024 :batch-size 32 :lr 6e-4)

(defmacro corpus ()
  "The loader of the text that the knob names."
  `(defloader chars
     (source ,(if text
                  `(text-files ,text :tokenizer :chars)
                  '(python-stdlib :limit 1200000 :tokenizer :chars)))
     (windows (+ context 1) :stride context)
     (stage :train :split (0 0.9) :order :random)
     (stage :val   :split (0.9 1) :batch 64)
     (batch batch-size)
     (counter :tokens (* (ctx :batch) (1- (ctx :window))))))

(corpus)

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
  (let ((x (nn:embedding tokens (loader-info chars :vocab) width)))
    (dotimes (i depth) (setq x (llama-block x :name (path "h" i))))
    (nn:linear (nn:rms-norm x) (loader-info chars :vocab) :bias nil :init (normal 0.02))))

(defun objective (&key inputs targets)
  (metric "loss" (nn:cross-entropy (llama inputs) targets)))

(defeval val :loader (chars :val) :every 250 :at (:end))

(defun optimizer ()
  (let ((rate (optim:warmup-cosine lr :warmup 100 :floor (/ lr 10))))
    (groups :clip-norm 1.0
      (group (select :rank (<= 1)) (optim:adamw :lr rate :beta2 0.95 :weight-decay 0))
      (group :rest                 (optim:adamw :lr rate :beta2 0.95 :weight-decay 0.1)))))

(defoutput next-token (&key tokens)
  "What sexpgpu sample writes with."
  (:autoregressive t)
  (llama tokens))

(defrun :steps steps :seed 1337 :checkpoint (:every 500 :keep 2 :best ("val/loss" :min)))
