;;; Norms

(require "sexpgpu/nn/linear" :import (linear))

(provide layer-norm rms-norm group-norm instance-norm batch-norm layer-scale drop-path weight-norm
         spectral-norm ada-layer-norm)

(defmodel layer-norm (x &key (eps 1e-5) (weight t) (bias t))
  "Over the last axis (Ba et al. 2016)."
  (let ((d (dim x -1)) g h)
    (when weight (setq g (gain d)))
    (when bias (setq h (offset d)))
    (%layer-norm x :weight g :bias h :eps eps)))

(defun gain (d)
  (defparam weight (d) :init 1)
  weight)

(defun offset (d)
  (defparam bias (d))
  bias)

(defmodel rms-norm (x &key (eps 1e-6) (weight t))
  "Over the last axis, no mean taken off (Zhang, Sennrich 2019)."
  (%rms-norm x :weight (if weight (gain (dim x -1)) nil) :eps eps))

(defmodel group-norm (x groups &key (eps 1e-5) (weight t) (bias t))
  "Over places and the channels of a group, per example (Wu, He 2018)."
  (let ((d (dim x -1)))
    (%group-norm x groups
                 :weight (if weight (gain d) nil)
                 :bias (if bias (offset d) nil)
                 :eps eps)))

(defmodel instance-norm (x &key (eps 1e-5) (weight t) (bias t))
  "Group norm with a group a channel (Ulyanov et al. 2016)."
  (let ((d (dim x -1)))
    (%group-norm x d :weight (if weight (gain d) nil) :bias (if bias (offset d) nil) :eps eps)))

(defmodel batch-norm (x &key (eps 1e-5) (momentum 0.1) (weight t) (bias t) sync)
  "Over all axes but the last, of the block's rows; running values in :eval (Ioffe, Szegedy 2015)."
  (when sync (error "batch-norm :sync is for several ranks, which come later"))
  (let* ((d (dim x -1)) (axes (loop for i below (1- (rank x)) collect i)) g h)
    (when weight (setq g (gain d)))
    (when bias (setq h (offset d)))
    (defstate mean (d) :init 0)
    (defstate variance (d) :init 1)
    (multiple-value-bind (m v)
        (if (eq (ctx :mode) :train)
            (let ((m (per-block (mean x :axis axes))) (v (per-block (variance x :axis axes))))
              (setf mean (lerp mean m momentum))
              (setf variance (lerp variance v momentum))
              (values m v))
            (values mean variance))
      (let ((y (* (- x m) (rsqrt (+ v eps)))))
        (when weight (setq y (* y g)))
        (if bias (+ y h) y)))))

(defmodel layer-scale (x &key (init 1e-5))
  "A learned factor a channel (Touvron et al. 2021)."
  (defparam scale ((dim x -1)) :init init)
  (* x scale))

(defun drop-path (x rate)
  "Drops the whole row's branch in training (Huang et al. 2016)."
  (if (or (eql rate 0) (eq (ctx :mode) :eval))
      x
      (let* ((row (slice (flatten x :start 1) :axis 1 :end 1))
             (keep (random-bernoulli nil (- 1 rate) :like (stop-gradient row)))
             (shape (cons (dim x 0) (make-list (1- (rank x)) :initial-element 1))))
        (where (reshape keep shape) (* x (/ 1 (- 1 rate))) 0.0))))

(defmodel weight-norm (x out &key (bias t))
  "x g v/|v| + b, a length and a direction a column (Salimans, Kingma 2016)."
  (defparam v ((dim x -1) out))
  (defparam g (out) :init (norm (initial v) :axis 0))
  (let ((y (* (matmul x (normalize v :axis 0)) g)))
    (if bias (progn (defparam b (out)) (+ y b)) y)))

(defmodel spectral-norm (x out &key (steps 1) (bias t))
  "x w/s + b, s the greatest singular value of w by power iteration in training (Miyato et al.
2018)."
  (defparam w ((dim x -1) out))
  (defstate u (out) :init (normal 1))
  (let* ((held (stop-gradient w)) (right (normalize u)) (left (normalize (matmul held right))))
    (dotimes (i (1- steps))
      (setq right (normalize (matmul left held)) left (normalize (matmul held right))))
    (when (eq (ctx :mode) :train) (setf u (normalize (matmul left held))))
    (let ((y (/ (matmul x w) (sum (* left (matmul w right))))))
      (if bias (progn (defparam b (out)) (+ y b)) y))))

(defmodel ada-layer-norm (x c &key (eps 1e-6))
  "(1 + s) norm(x) + t, s and t a linear map of c (b dc) that begins at 0 (Peebles, Xie 2022)."
  (let ((d (dim x -1)) (axes (loop for i from 1 below (1- (rank x)) collect i)))
    (multiple-value-bind (s shift) (split (linear c (* 2 d) :init 0 :name "map") 2 :axis -1)
      (+ (* (%layer-norm x :eps eps) (+ 1 (unsqueeze s axes))) (unsqueeze shift axes)))))
