;;; ranking.lisp: a detector of zeros among handwritten digits, judged by how it orders the whole of
;;; the held-out data: an area under the curve is no mean over batches.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defloader digits
  (source (digits))
  (stage :train :split (0 0.8))
  (stage :val   :split (0.8 1) :batch 50)
  (batch 32))

(defmodel net (x)
  (nn:linear (relu (nn:linear (/ x 16.0) 16)) 1))

(defun score (image)
  (squeeze (net image) :axis 1))

(defun objective (&key image label)
  (metric "loss" (mean (binary-cross-entropy (score image) (cast (= label 0) :f32)))))

(defun evaluate (&key image label)
  (let ((s (score image)) (zero (= label 0)))
    (metric "loss" (mean (binary-cross-entropy s (cast zero :f32))))
    (metric "auc" (nn:auc (over-pass s) (over-pass zero)))
    (metric "precision" (nn:average-precision (over-pass s) (over-pass zero)))))

(defeval val :loader (digits :val) :every 10 :at (0))

(deftarget "val/auc" :above 0.9)

(defun optimizer ()
  (groups (group :rest (optim:adamw :lr 1e-2))))

(defrun :steps 20 :seed 4 :log-every 10 :checkpoint (:every 10))
