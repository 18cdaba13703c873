;;; normalized.lisp: inputs brought to mean 0 and deviation 1 and classes weighed by how rare they
;;; are, by numbers of the training split alone.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob classes 10 "Kinds of digits." :type (integer 2))

(defloader digits
  (source (digits))
  (stage :train :split (0 0.8))
  (stage :val   :split (0.8 1))
  (batch 32))

(defparameter *mean* (stage-stat (digits :train) image :mean :axis 0))
(defparameter *std*  (stage-stat (digits :train) image :std :axis 0))

(defun prepare (&key image label)
  (batch :image (/ (- image *mean*) (+ *std* 1e-3)) :label label))

(defmodel net (x)
  (nn:linear (relu (nn:linear x 32)) classes))

(defun objective (&key image label)
  (let* ((count (stage-stat (digits :train) label :count-by classes))
         (rare (/ (mean count) count))
         (y (net image)))
    (metric "accuracy" (= (argmax y :axis 1) label))
    (metric "loss" (weighted-mean (cross-entropy y label) (gather rare label)))))

(defeval val :loader (digits :val) :every 10)

(defun optimizer ()
  (groups (group :rest (optim:adamw :lr 1e-2))))

(defrun :steps 20 :seed 4 :log-every 10 :checkpoint (:every 10))
