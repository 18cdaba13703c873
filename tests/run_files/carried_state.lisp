;;; carried_state.lisp: a recurrent network whose row goes on where the batch before ended; a pass has
;;; rows of its own; passes read averaged weights.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob blocks 1 "Microbatches of a step." :type (integer 1))

(defloader text
  (source (python-stdlib :limit 4000))
  (windows 9 :stride 8)
  (stage :train :split (0 0.8) :order :streams)
  (stage :val   :split (0.8 1) :order :streams :batch 6)
  (batch 8))

(defun prepare (&key tokens)
  (batch :inputs (slice tokens :axis 1 :end -1) :targets (slice tokens :axis 1 :start 1)))

(defmodel reader (tokens)
  (defparam table (256 16) :init (normal 0.3))
  (defparam w (16 16) :init (normal 0.3))
  (defstate h (16) :init 0 :per :row)
  (multiple-value-bind (last all)
      (scan (lambda (h x) (let ((new (tanh (+ x (matmul h w))))) (values new new)))
            h
            (gather table tokens)
            :axis 1)
    (setf h last)
    (nn:linear all 256)))

(defun objective (&key inputs targets)
  (metric "loss" (nn:cross-entropy (reader inputs) targets)))

(defeval val :loader (text :val) :every 5 :weights :ema)

(defun optimizer ()
  (groups :ema 0.8 (group :rest (optim:sgd :lr 0.1))))

(defrun :steps 15 :seed 1 :microbatches blocks :log-every 1 :checkpoint (:every 4 :keep 9))
