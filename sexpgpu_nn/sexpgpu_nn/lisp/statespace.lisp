;;; State-space models

(require "sexpgpu/nn/linear" :import (linear))

(provide selective-scan mamba)

(defun selective-scan (x dt a b c &key skip)
  "y' = c h + skip x of h' = exp(dt a) h + dt b x: x, dt (b n i), a (i s), b, c (b n s) (Gu, Dao
2023)."
  (let* ((h (zeros (list (dim x 0) (dim x -1) (dim a -1)) :dtype (dtype x)))
         (y (nth-value 1
                       (scan (lambda (h at)
                               (destructuring-bind (x dt b c) at
                                 (let* ((kept (exp (* (unsqueeze dt -1) (unsqueeze a 0))))
                                        (new (* (unsqueeze (* dt x) -1) (unsqueeze b 1)))
                                        (h (+ (* kept h) new)))
                                   (values h (einsum "bis,bs->bi" h c)))))
                             h
                             (list x dt b c)
                             :axis 1))))
    (if (null skip) y (+ y (* skip x)))))

(defmodel mamba (x &key (expand 2) (state-size 16) (kernel 4) (dt-rank (ceiling (dim x -1) 16)))
  "Two branches, one through a causal convolution and a selective scan, the other its gate (Gu, Dao
2023)."
  (let* ((d (dim x -1)) (i (* expand d)))
    (multiple-value-bind (u z) (split (linear x (* 2 i) :bias nil :name "in") 2 :axis -1)
      (let ((u (silu (short-conv u kernel :name "conv"))))
        (multiple-value-bind (dt b c)
            (split (linear u (+ dt-rank (* 2 state-size)) :bias nil :name "x")
                   (list dt-rank state-size state-size)
                   :axis -1)
          (defparam a-log (i state-size)
            :init (broadcast-to (log (iota state-size :start 1 :dtype :f32)) (list i state-size)))
          (defparam skip (i) :init 1)
          (let ((y (selective-scan u (steps-of dt i :name "dt") (- (exp a-log)) b c :skip skip)))
            (linear (* y (silu z)) d :bias nil :name "out")))))))

(defmodel short-conv (x kernel)
  "Depthwise, padded on the left."
  (let ((i (dim x -1)))
    (defparam w (kernel 1 i) :init (he))
    (defparam b (i))
    (+ b (conv x w :padding (list (list (1- kernel) 0)) :groups i))))

(defmodel steps-of (x i)
  "The lengths of steps, which begin between 0.001 and 0.1."
  (defparam w ((dim x -1) i))
  (defparam b (i)
    :init (let ((dt (exp (random-uniform (list i) :low (log 1e-3) :high (log 0.1)))))
            (+ dt (log (- (expm1 (- dt)))))))
  (softplus (+ (matmul x w) b)))
