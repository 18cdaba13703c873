;;; folds.lisp: cross-validation: five folds of the digits are five points that count as repetitions.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob fold  0    "Which fifth is held out."  :type (integer 0 4))
(defknob lr    1e-2 "Learning rate."            :type (float (0) 1))

(defsweep rates "The rate, judged over folds."
  :grid ((lr (1e-2 3e-3)) (fold (0 1 2 3 4))) :over (fold) :rank ("val/loss" :min))

(defloader digits
  (source (digits))
  (split-by :hash)
  (stage :train :split ((0 (/ fold 5)) ((/ (+ fold 1) 5) 1)))
  (stage :val   :split ((/ fold 5) (/ (+ fold 1) 5)))
  (batch 32))

(defmodel net (x) (nn:linear (/ x 16.0) 10))

(defun objective (&key image label)
  (metric "loss" (nn:cross-entropy (net image) label)))

(defeval val :loader (digits :val))

(defun optimizer ()
  (groups (group :rest (optim:adamw :lr lr))))

(defrun :steps 10 :seed 1)
