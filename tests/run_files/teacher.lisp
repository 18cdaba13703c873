;;; teacher.lisp: a student follows its own average, which sees the batch without dropout; a queue
;;; holds what the teacher said of the last 64 examples.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob blocks 1 "Microbatches of a step." :type (integer 1))

(defloader digits
  (source (digits))
  (stage :train :split (0 0.8))
  (stage :val   :split (0.8 1))
  (batch 16))

(defmodel net (x)
  (nn:layers (/ x 16.0) '(24 10) :dropout 0.2))

(defun objective (&key image label)
  (defstate queue (64 10) :init 0 :combine :concat)
  (let* ((student (net image))
         (teacher (with-weights :ema (with-mode :eval (net image))))
         (target (softmax teacher))
         (apart (mean (sum (square (- (softmax student) target)) :axis 1))))
    (setf queue (push-rows queue target))
    (metric "apart" apart)
    (metric "queue" (mean queue))
    (+ (metric "loss" (nn:cross-entropy student label)) (* 0.5 apart))))

(defun evaluate (&key image label)
  (metric "accuracy" (nn:accuracy (net image) label)))

(defeval val :loader (digits :val) :every 10 :weights :ema)

(defun optimizer ()
  (groups :ema 0.9 (group :rest (optim:adamw :lr 1e-2))))

(defrun :steps 20 :seed 4 :microbatches blocks :log-every 5)
