;;; saved_outputs.lisp: an autoencoder whose passes save what it gives: pictures that are drawn, and
;;; codes of the held out digits by the weights of the best checkpoint.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defloader digits
  (source (digits))
  (stage :train :split (0 0.8))
  (stage :val   :split (0.8 1))
  (batch 32))

(defun prepare (&key image)
  (batch :image (/ image 16.0)))

(defmodel encoder (x) (nn:linear (tanh (nn:linear x 32)) 4))
(defmodel decoder (z) (sigmoid (nn:linear (tanh (nn:linear z 32)) 64)))

(defun objective (&key image)
  (metric "loss" (mean (square (- image (decoder (encoder image)))))))

(defeval val   :loader (digits :val) :every 10)
(defeval draws :output draw :at (0 :end) :save (:png :columns 4))
(defeval codes :loader (digits :val) :output code :weights (:best "val/loss") :save t)

(defun optimizer ()
  (groups (group :rest (optim:adamw :lr 1e-2))))

(defoutput draw (&key (z :shape (6 4) :dtype :f32 :random (normal 1)))
  (metric "ink" (mean (decoder z)))
  (reshape (decoder z) (list 6 8 8)))

(defoutput code (&key image)
  (metric "length" (mean (sqrt (sum (square (encoder image)) :axis 1))))
  (encoder image))

(defrun :steps 30 :seed 2 :log-every 10 :checkpoint (:keep 1 :best ("val/loss" :min)))
