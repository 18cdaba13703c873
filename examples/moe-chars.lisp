;;; moe-chars.lisp: a character-level GPT whose feed-forwards are mixtures of experts, top k a token.
;;;   sexpgpu run examples/moe-chars.lisp -s text=data/shakespeare.txt
;;;   sexpgpu sample examples/moe-chars.lisp --tokens 200
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob text       nil  "A text file; nil is a part of Python's own standard library."
  :type (or null string))
(defknob depth      4    "Transformer blocks."            :type (integer 1 96))
(defknob width      96   "Residual width."                :type (integer 16))
(defknob heads      4    "Attention heads."               :type (integer 1))
(defknob experts    4    "Feed-forwards of a block."      :type (integer 2))
(defknob top        2    "Experts a token is sent to."    :type (integer 1))
(defknob hidden     192  "Units of an expert."            :type (integer 1))
(defknob balance    1e-2 "Weight of the balance loss."    :type (float 0))
(defknob z          1e-3 "Weight of the router's z-loss." :type (float 0))
(defknob context    64   "Tokens of context."             :type (integer 1))
(defknob batch-size 12   "Sequences in a step."           :type (integer 1))
(defknob lr         1e-3 "Peak learning rate."            :type (float (0) 1))
(defknob steps      2000 "Steps of the run."              :type (integer 1))

(defvariant smoke "A few seconds on a laptop." :depth 2 :width 32 :hidden 32 :steps 50)
(defvariant gpu
  "Eight experts in the blocks of GPT-2 small; with a tokenizer, C4 is its public data."
  :depth 12 :width 768 :heads 12 :experts 8 :hidden 2048 :context 1024 :batch-size 12 :lr 6e-4)

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

(defmodel moe-block (x)
  "(values y router-probabilities router-logits). No capacity: what an expert drops would tell of
later tokens."
  (let ((x (+ x (nn:attention (nn:rms-norm x) :heads heads :causal t :rope t :bias nil))))
    (multiple-value-bind (y p logits)
        (nn:moe (nn:rms-norm x) :experts experts :top top :hidden hidden :capacity nil)
      (values (+ x y) p logits))))

(defmodel gpt (tokens)
  "(values logits balance z): both losses are means over the blocks."
  (let* ((vocab (loader-info chars :vocab))
         (x (nn:embedding tokens vocab width))
         (uneven 0)
         (large 0))
    (dotimes (i depth)
      (multiple-value-bind (y p logits) (moe-block x :name (path "h" i))
        (setq x y
              ;; allow W-BATCH-DEPENDENCE: experts are balanced over the batch
              uneven (+ uneven (/ (nn:load-balance p :top top) depth))
              large (+ large (/ (nn:router-z-loss logits) depth)))))
    (values (nn:linear (nn:rms-norm x) vocab :bias nil :init (normal 0.02)) uneven large)))

(defun objective (&key inputs targets)
  (multiple-value-bind (logits uneven large) (gpt inputs)
    (metric "balance" uneven)
    (metric "z" large)
    (+ (metric "loss" (nn:cross-entropy logits targets)) (* balance uneven) (* z large))))

(defeval val :loader (chars :val) :every 250 :at (:end))

(defun optimizer ()
  (let ((rate (optim:warmup-cosine lr :warmup 100 :floor (/ lr 10))))
    (groups :clip-norm 1.0
      (group (select :rank (<= 1)) (optim:adamw :lr rate :beta2 0.95 :weight-decay 0))
      (group :rest                 (optim:adamw :lr rate :beta2 0.95 :weight-decay 0.1)))))

(defoutput next-token (&key tokens)
  "What sexpgpu sample writes with."
  (:autoregressive t)
  (values (gpt tokens)))

(defrun :steps steps :seed 1337 :checkpoint (:every 500 :keep 2 :best ("val/loss" :min)))
