;;; generation.lisp: an LSTM whose rows go on from batch to batch, and whose outputs go on from call to
;;; call: they take its state and return it.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob width 24 "Of the LSTM and of the embedding." :type (integer 1))

(defloader text
  (source (python-stdlib :limit 4000))
  (windows 9 :stride 8)
  (stage :train :split (0 0.8) :order :streams)
  (stage :val   :split (0.8 1) :order :streams :batch 6)
  (batch 8))

(defun prepare (&key tokens)
  (batch :inputs (slice tokens :axis 1 :end -1) :targets (slice tokens :axis 1 :start 1)))

(defmodel writer (tokens)
  (defstate h (width) :init 0 :per :row)
  (defstate c (width) :init 0.1 :per :row)
  (multiple-value-bind (all last)
      (nn:lstm (nn:embedding tokens 256 width) width :state (list h c))
    (setf h (first last)
          c (second last))
    (nn:linear all 256)))

(defun objective (&key inputs targets)
  (metric "loss" (nn:cross-entropy (writer inputs) targets)))

(defeval val :loader (text :val) :every 10)

(defeval scored :loader (text :val) :output scores :at (:end) :save t)

(defun optimizer ()
  (groups (group :rest (optim:adamw :lr 3e-3))))

(defoutput next (&key tokens) "What sample goes on with." (:autoregressive t) (:state t)
  (writer tokens))

(defoutput scores (&key inputs) "Of a batch, and the states after it." (:state t)
  (writer inputs))

(defoutput step (&key (token :shape (2 1) :dtype :i32)) "A token of each of two texts." (:state t)
  (batch :likeliest (argmax (writer token) :axis 2)))

(defrun :steps 20 :seed 1 :log-every 1 :checkpoint (:every 20))
