;;; chars.lisp: a character-level GPT on any text; the defaults are nanoGPT's CPU experiment.
;;;   sexpgpu run examples/chars.lisp -s text=data/shakespeare.txt
;;;   sexpgpu sample examples/chars.lisp --prompt "ROMEO:" --temperature 0.8
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob text       nil  "A text file; nil is a part of Python's own standard library."
  :type (or null string))
(defknob depth      4    "Transformer blocks."  :type (integer 1 96))
(defknob width      128  "Residual width."      :type (integer 16))
(defknob heads      4    "Attention heads."     :type (integer 1))
(defknob context    64   "Tokens of context."   :type (integer 1))
(defknob batch-size 12   "Sequences in a step." :type (integer 1))
(defknob lr         1e-3 "Peak learning rate."  :type (float (0) 1))
(defknob steps      2000 "Steps of the run."    :type (integer 1))

(defvariant smoke "A few seconds on a laptop." :depth 2 :width 64 :steps 50)
(defvariant gpu "The size that nanoGPT trains on Shakespeare's letters."
  :depth 6 :width 384 :heads 6 :context 256 :batch-size 64 :steps 5000)
(defvariant gpt2 "GPT-2 small."
  :depth 12 :width 768 :heads 12 :context 1024 :batch-size 32 :lr 6e-4)
(defsweep lr-by-depth "Does depth move the best rate?"
  :grid ((lr (3e-4 1e-3 3e-3)) (depth (2 4))) :variant smoke :rank ("val/loss" :min))

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

(defun projection (x out &key bias name)
  "Linear maps of the blocks: those that end a branch begin smaller with depth."
  (let ((std (if (member name '("out" "down") :test #'equal) (/ 0.02 (sqrt (* 2 depth))) 0.02)))
    (nn:linear x out :bias bias :name name :init (normal std))))

(defmodel gpt-block (x)
  (let ((x (+ x
              (nn:attention (nn:layer-norm x :bias nil)
                            :heads heads
                            :causal t
                            :bias nil
                            :linear #'projection))))
    (+ x (nn:mlp (nn:layer-norm x :bias nil) :bias nil :linear #'projection))))

(defmodel gpt (tokens)
  (bind-shape (_ n) tokens
    (defparam wte ((loader-info chars :vocab) width) :init (normal 0.02))
    (defparam wpe (context width) :init (normal 0.02))
    (let ((x (+ (gather wte tokens) (slice wpe :axis 0 :end n))))
      (dotimes (i depth) (setq x (gpt-block x :name (path "h" i))))
      (matmul (nn:layer-norm x :bias nil) (transpose wte)))))  ; tied head

(defun objective (&key inputs targets)
  (metric "loss" (nn:cross-entropy (gpt inputs) targets)))

(defeval val :loader (chars :val) :every 250 :at (:end))
(deftarget "val/loss" :below 1.91)

(defun optimizer ()
  (let ((rate (optim:warmup-cosine lr :warmup 100 :floor (/ lr 10))))
    (groups :clip-norm 1.0
      (group (select :rank (<= 1)) (optim:adamw :lr rate :beta2 0.99 :weight-decay 0))
      (group :rest                 (optim:adamw :lr rate :beta2 0.99 :weight-decay 0.1)))))

(defoutput next-token (&key tokens)
  "What sexpgpu sample writes with."
  (:autoregressive t)
  (gpt tokens))

(defrun :steps steps :seed 1337 :checkpoint (:every 500 :keep 2 :best ("val/loss" :min)))
