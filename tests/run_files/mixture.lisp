;;; mixture.lisp: two sources by weight, their documents packed into rows; each has its own epochs.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defloader text
  (source (mixture (names 0.7 (text-files "names.txt"))
                   (code  0.3 (python-stdlib :limit 4000))))
  (windows 32 :documents (string #\Newline) :pack t)
  (stage :train :split (0 0.7))
  (stage :val   :split (0.7 1))
  (batch 4)
  (counter :tokens (* (ctx :batch) (ctx :window))))

(defmodel reader (tokens segments positions)
  (let* ((x (+ (nn:embedding tokens 256 16) (nn:embedding positions 32 16 :name "place")))
         (x (+ x (nn:attention x :heads 2 :causal t :segments segments))))
    (nn:linear x 256)))

(defun objective (&key tokens segments positions weights)
  (let ((logits (reader tokens segments positions)))
    (metric "loss" (nn:cross-entropy (slice logits :axis 1 :end -1)
                                     (slice tokens :axis 1 :start 1)
                                     :weights (slice weights :axis 1 :end -1)))))

(defun evaluate (&key tokens segments positions weights source)
  (metric "loss" (nn:cross-entropy (slice (reader tokens segments positions) :axis 1 :end -1)
                                   (slice tokens :axis 1 :start 1)
                                   :weights (slice weights :axis 1 :end -1)))
  (metric "code" (cast source :f32)))

(defeval val :loader (text :val))

(defun optimizer () (groups (group :rest (optim:adamw :lr 1e-2))))

(defrun :steps 12 :seed 1 :checkpoint (:every 5))
