;;; lstm-names.lisp: a character-level LSTM that invents names, one a line of a text file.
;;;   sexpgpu run examples/lstm-names.lisp -s names=data/names.txt
;;;   sexpgpu sample examples/lstm-names.lisp --tokens 12 --seed 3    ; one name, to its line's end
;;; The 32,033 names of makemore are its public data.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob names      "data/names.txt" "A text file with a name a line." :type string)
(defknob longest    16               "Letters of a name, with its line's end." :type (integer 1))
(defknob depth      2                "LSTM layers." :type (integer 1))
(defknob width      96               "Units of a layer." :type (integer 1))
(defknob rate       0.2              "Dropout." :type (float 0 (1)))
(defknob batch-size 64               "Names in a step." :type (integer 1))
(defknob lr         4e-3             "Peak learning rate." :type (float (0) 1))
(defknob epochs     8                "Passes over the names." :type (integer 1))

(defvariant smoke "A second or two." :depth 1 :width 16 :batch-size 8 :epochs 1)
(defvariant gpu   "Wide and deep." :depth 3 :width 1024 :batch-size 1024 :epochs 40)

(defloader lines
  (source (text-files names :tokenizer :chars))
  (windows longest :documents (string #\Newline))
  (split-by :hash)
  (stage :train :split (0 0.9))
  (stage :val   :split (0.9 1) :batch 100)
  (batch batch-size)
  (counter :names (ctx :batch)))

(defun prepare (&key tokens weights)
  "Each letter is guessed from those before it, the first from a line's end, which is token 0."
  (let ((before (slice tokens :axis 1 :end -1)))
    (batch :inputs (concat (zeros-like (slice tokens :axis 1 :end 1)) before :axis 1)
           :targets tokens
           :weights weights)))

(defmodel network (tokens)
  (let* ((vocab (loader-info lines :vocab)) (x (nn:embedding tokens vocab width)))
    (nn:linear (dropout (nn:stacked #'nn:lstm x width depth :dropout rate) rate) vocab)))

(defun objective (&key inputs targets weights)
  (metric "loss" (nn:cross-entropy (network inputs) targets :weights weights)))

(defeval val :loader (lines :val) :every 900 :at (:end))
(deftarget "val/loss" :below 2.05)

(defun optimizer ()
  (let ((rate (optim:warmup-cosine lr :warmup 100)))
    (groups :clip-norm 1.0
      (group (select :rank (<= 1)) (optim:adamw :lr rate :weight-decay 0))
      (group :rest                 (optim:adamw :lr rate :weight-decay 0.01)))))

(defoutput next-letter (&key tokens)
  "What sexpgpu sample writes with."
  (:autoregressive t)
  (network tokens))

(defrun :epochs epochs :seed 1 :checkpoint (:best ("val/loss" :min) :keep 1))
