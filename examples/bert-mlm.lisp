;;; bert-mlm.lisp: BERT's masked language model over characters: what stood at 4 in 10 places?
;;;   sexpgpu run examples/bert-mlm.lisp -s text=data/shakespeare.txt
;;;   sexpgpu predict examples/bert-mlm.lisp --output filled --in tokens=masked.npy -o filled.npz
;;; masked.npy: texts as tokens, by sexpgpu.load(run).encode, -1 at places that are to be guessed.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob text       nil  "A text file; nil is a part of Python's own standard library."
  :type (or null string))
(defknob depth      4    "Transformer blocks."       :type (integer 1 96))
(defknob width      96   "Residual width."           :type (integer 16))
(defknob heads      4    "Attention heads."          :type (integer 1))
(defknob rate       0.0  "Dropout."                  :type (float 0 (1)))
(defknob share      0.4  "Share of places to guess." :type (float (0) 1))
(defknob context    64   "Tokens of context."        :type (integer 1))
(defknob batch-size 16   "Sequences in a step."      :type (integer 1))
(defknob lr         1e-3 "Peak learning rate."       :type (float (0) 1))
(defknob steps      3000 "Steps of the run."         :type (integer 1))

(defvariant smoke "A few seconds on a laptop." :depth 2 :width 32 :batch-size 8 :steps 50)
(defvariant gpu "BERT base; with a tokenizer, Wikipedia and BookCorpus are its public data."
  :depth 12 :width 768 :heads 12 :context 512 :batch-size 96 :lr 1e-4 :rate 0.1 :share 0.15)

(defmacro corpus ()
  "The loader of the text that the knob names."
  `(defloader chars
     (source ,(if text
                  `(text-files ,text :tokenizer :chars)
                  '(python-stdlib :limit 1200000 :tokenizer :chars)))
     (windows context)
     (stage :train :split (0 0.9) :order :random)
     (stage :val   :split (0.9 1) :batch 64)
     (batch batch-size)
     (counter :tokens (* (ctx :batch) (ctx :window)))))

(corpus)

(defun prepare (&key tokens)
  "Of the chosen places 8 in 10 become the mask, which is the token after the last, 1 in 10 any
token; the others stay."
  (let* ((vocab (loader-info chars :vocab))
         (chosen (< (random-uniform nil :like tokens) share))
         (fate (random-uniform nil :like tokens))
         (other (random-int nil 0 vocab :like tokens)))
    (batch :inputs (where chosen
                          (where (< fate 0.8) vocab (where (< fate 0.9) other tokens))
                          tokens)
           :targets tokens
           :chosen (cast chosen :f32))))

(defmodel bert (tokens)
  "Post-norm blocks; the head is a layer, a norm and the embedding again."
  (let ((vocab (loader-info chars :vocab)))
    (defparam wte ((+ vocab 1) width) :init (normal 0.02))
    (defparam bias (vocab))
    (let* ((x (nn:layer-norm (nn:position-embedding (gather wte tokens)) :name "norm"))
           (x (nn:transformer (dropout x rate) depth :heads heads :dropout rate :order :post))
           (x (nn:layer-norm (gelu (nn:linear x width)) :name "norm-2")))
      (+ (matmul x (slice wte :axis 0 :end vocab) :transpose-y t) bias))))

(defun objective (&key inputs targets chosen)
  (let* ((logits (bert inputs)) (right (cast (= (argmax logits :axis -1) targets) :f32)))
    (metric "accuracy" right :weights chosen)
    (metric "loss" (nn:cross-entropy logits targets :weights chosen))))

(defeval val :loader (chars :val) :every 500 :at (:end))

(defun optimizer ()
  (let ((rate (optim:warmup-cosine lr :warmup 100 :floor (/ lr 10))))
    (groups :clip-norm 1.0
      (group (select :rank (<= 1)) (optim:adamw :lr rate :beta2 0.98 :weight-decay 0))
      (group :rest                 (optim:adamw :lr rate :beta2 0.98 :weight-decay 0.01)))))

(defoutput filled (&key tokens)
  "Texts with what is guessed where a token is -1; the three likeliest of each place."
  (let* ((hidden (< tokens 0))
         (share (softmax (bert (where hidden (loader-info chars :vocab) tokens)))))
    (multiple-value-bind (shares guesses) (top-k share 3)
      (batch :filled (where hidden (argmax share :axis -1) tokens)
             :guesses guesses
             :shares shares))))

(defrun :steps steps :seed 1337 :checkpoint (:every 500 :keep 2 :best ("val/loss" :min)))
