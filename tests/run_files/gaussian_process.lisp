;;; gaussian_process.lisp: a Gaussian process' length, size and noise by its marginal likelihood, in
;;; Cholesky's way; what its matrix is like is told by its spectrum.
(require "sexpgpu/optim")

(defknob points 6 "Points of a function, a batch.")

(defloader drawn
  (source (none))
  (stage :train)
  (batch points))

(defun prepare ()
  (let* ((x (* 6 (random-uniform (list (batch-rows) 1) :batch 0)))
         (noise (* 0.1 (random-normal (list (batch-rows) 1) :batch 0))))
    (batch :x x :y (+ (sin x) noise))))

(defmodel covariance (x)
  "Each number is e to a parameter, so that it stays positive."
  (defparam length () :init 0)
  (defparam size () :init 0)
  (defparam noise () :init -1)
  ;; allow W-BATCH-DEPENDENCE: a process is of all its points
  (let ((apart (/ (square (per-block (- x (transpose x)))) (exp (* 2 length)))))
    (+ (* (exp size) (exp (* -0.5 apart)))
       (* (exp noise) (eye points)))))

(defun objective (&key x y)
  (let* ((k (covariance x))
         (l (cholesky k))
         (z (solve-triangular l y))
         (half (sum (log (diagonal l)))))
    (metric "least" (reduce-min (eigh k)))
    (multiple-value-bind (u s) (svd k)
      (declare (ignore u))
      (metric "condition" (/ (reduce-max s) (reduce-min s))))
    (metric "again" (- (* 2 half) (logdet k)))
    (/ (+ (* 0.5 (sum (square z))) half) points)))

(defun optimizer ()
  (groups (group :rest (optim:adamw :lr 5e-2))))

(defrun :steps 20 :seed 2 :log-every 5)
