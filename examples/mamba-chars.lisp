;;; mamba-chars.lisp: a character-level Mamba: selective scans, no attention and no positions.
;;;   sexpgpu run examples/mamba-chars.lisp -s text=data/shakespeare.txt
;;;   sexpgpu sample examples/mamba-chars.lisp --tokens 200
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob text       nil  "A text file; nil is a part of Python's own standard library."
  :type (or null string))
(defknob depth      4    "Mamba blocks."            :type (integer 1 96))
(defknob width      96   "Residual width."          :type (integer 16))
(defknob state-size 8    "Numbers a channel keeps." :type (integer 1))
(defknob context    64   "Tokens of context."       :type (integer 1))
(defknob batch-size 12   "Sequences in a step."     :type (integer 1))
(defknob lr         3e-3 "Peak learning rate."      :type (float (0) 1))
(defknob steps      2000 "Steps of the run."        :type (integer 1))

(defvariant smoke "A few seconds on a laptop." :depth 2 :width 32 :state-size 4 :steps 50)
(defvariant gpu "The shape of Mamba 130M; with a tokenizer, the Pile is its public data."
  :depth 24 :width 768 :state-size 16 :context 1024 :batch-size 8 :lr 6e-4)

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

(defmodel mamba-block (x)
  (+ x (nn:mamba (nn:rms-norm x) :state-size state-size)))

(defmodel mamba (tokens)
  (let* ((vocab (loader-info chars :vocab)) (x (nn:embedding tokens vocab width)))
    (dotimes (i depth) (setq x (mamba-block x :name (path "h" i))))
    (nn:linear (nn:rms-norm x) vocab :bias nil :init (normal 0.02))))

(defun objective (&key inputs targets)
  (metric "loss" (nn:cross-entropy (mamba inputs) targets)))

(defeval val :loader (chars :val) :every 250 :at (:end))

(defun optimizer ()
  (let ((rate (optim:warmup-cosine lr :warmup 100 :floor (/ lr 10))))
    (groups :clip-norm 1.0
      (group (select :rank (<= 1))     (optim:adamw :lr rate :beta2 0.95 :weight-decay 0))
      (group (select :path "**/a-log") (optim:adamw :lr rate :beta2 0.95 :weight-decay 0))
      (group :rest                     (optim:adamw :lr rate :beta2 0.95 :weight-decay 0.1)))))

(defoutput next-token (&key tokens)
  "What sexpgpu sample writes with: it keeps the states of the scans."
  (:autoregressive t)
  (mamba tokens))

(defrun :steps steps :seed 1337 :checkpoint (:every 500 :keep 2 :best ("val/loss" :min)))
