;;; packed.lisp: several names share a row; attention stays within a segment, no loss across ends.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defloader names
  (source (text-files "names.txt" :tokenizer :chars))
  (windows 24 :documents (string #\Newline) :pack t)
  (stage :train :split (0 0.7))
  (stage :val   :split (0.7 1))
  (batch 2)
  (counter :tokens (* (ctx :batch) (ctx :window))))

(defmodel reader (tokens segments positions)
  (let* ((x (+ (nn:embedding tokens (loader-info names :vocab) 16)
               (nn:embedding positions 24 16 :name "place")))
         (x (+ x (nn:attention x :heads 2 :causal t :segments segments))))
    (nn:linear x (loader-info names :vocab))))

(defun objective (&key tokens segments positions weights)
  (let ((logits (reader tokens segments positions)))
    (metric "loss" (nn:cross-entropy (slice logits :axis 1 :end -1)
                                     (slice tokens :axis 1 :start 1)
                                     :weights (slice weights :axis 1 :end -1)))))

(defeval val :loader (names :val))

(defun optimizer () (groups (group :rest (optim:adamw :lr 1e-2))))

(defrun :steps 12 :seed 1 :checkpoint (:every 5))
