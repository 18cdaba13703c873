;;; Convolution

(require "sexpgpu/nn/norms" :import (batch-norm))

(provide conv conv-transpose depthwise-conv separable-conv residual-block global-pool)

(defun kernel-shape (x kernel)
  (if (listp kernel) kernel (make-list (- (rank x) 2) :initial-element kernel)))

(defmodel conv (x out &key (kernel 3) (stride 1) (padding :same) (dilation 1) (groups 1) (bias t)
                (init (he)))
  "Spatial axes by the rank of x: (b n... i) to (b m... out)."
  (let ((shape (append (kernel-shape x kernel) (list (/ (dim x -1) groups) out))))
    (defparam w shape :init init)
    (let ((y (%conv x w :stride stride :padding padding :dilation dilation :groups groups)))
      (if bias (progn (defparam b (out)) (+ y b)) y))))

(defmodel conv-transpose (x out &key (kernel 4) (stride 2) (padding :same) (bias t))
  "Grows the spatial axes by stride."
  (let ((shape (append (kernel-shape x kernel) (list (dim x -1) out))))
    (defparam w shape :init (he))
    (let ((y (%conv-transpose x w :stride stride :padding padding)))
      (if bias (progn (defparam b (out)) (+ y b)) y))))

(defmodel depthwise-conv (x &key (kernel 3) (stride 1) (bias t))
  "A kernel of its own a channel."
  (let* ((c (dim x -1)) (shape (append (kernel-shape x kernel) (list 1 c))))
    (defparam w shape :init (he))
    (let ((y (%conv x w :stride stride :padding :same :groups c)))
      (if bias (progn (defparam b (c)) (+ y b)) y))))

(defmodel separable-conv (x out &key (kernel 3) (stride 1) (bias t))
  "A depthwise convolution, then one of size 1 (Chollet 2017)."
  (conv (depthwise-conv x :kernel kernel :stride stride :bias nil :name "depthwise") out
        :kernel 1
        :bias bias
        :name "pointwise"))

(defmodel residual-block (x out &key (stride 1) (norm #'batch-norm) (activation #'relu))
  "The basic block of He et al. 2015."
  (let* ((y (conv x out :stride stride :bias nil :name "conv"))
         (y (funcall activation (funcall norm y :name "norm")))
         (y (conv y out :bias nil :name "conv-2"))
         (y (funcall norm y :name "norm-2"))
         (same (and (eql stride 1) (eql out (dim x -1)))))
    (funcall activation
             (+ y (if same x (conv x out :kernel 1 :stride stride :bias nil :name "shortcut"))))))

(defun global-pool (x &key (kind :mean))
  "(b n... c) to (b c) over the spatial axes."
  (let ((axes (loop for i from 1 below (1- (rank x)) collect i)))
    (ecase kind
      (:mean (mean x :axis axes))
      (:max (reduce-max x :axis axes)))))
