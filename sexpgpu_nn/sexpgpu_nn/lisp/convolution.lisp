;;; Convolution

(require "sexpgpu/nn/linear" :import (linear mlp))
(require "sexpgpu/nn/norms" :import (batch-norm group-norm layer-norm layer-scale))

(provide conv conv-transpose depthwise-conv separable-conv residual-block global-pool causal-conv
         bottleneck-block squeeze-excite inverted-residual convnext-block unet-block)

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
  "The basic block of He et al. 2015; padding is 1 on every side, with a stride too."
  (let* ((y (conv x out :stride stride :padding 1 :bias nil :name "conv"))
         (y (funcall activation (funcall norm y :name "norm")))
         (y (conv y out :bias nil :name "conv-2"))
         (y (funcall norm y :name "norm-2")))
    (funcall activation (+ y (shortcut-of x out stride)))))

(defun global-pool (x &key (kind :mean))
  "(b n... c) to (b c) over the spatial axes."
  (let ((axes (loop for i from 1 below (1- (rank x)) collect i)))
    (ecase kind
      (:mean (mean x :axis axes))
      (:max (reduce-max x :axis axes)))))

(defmodel causal-conv (x out &key (kernel 4) (dilation 1) (bias t))
  "Over sequences, padded on the left: y at t sees x at t and before."
  (defparam w (kernel (dim x -1) out) :init (he))
  (let ((y (%conv x w :padding (list (list (* dilation (1- kernel)) 0)) :dilation dilation)))
    (if bias (progn (defparam b (out)) (+ y b)) y)))

(defun shortcut-of (x out stride)
  "x, or a convolution of size 1 where the shapes differ."
  (if (and (eql stride 1) (eql out (dim x -1)))
      x
      (conv x out :kernel 1 :stride stride :bias nil :name "shortcut")))

(defmodel bottleneck-block (x out &key (stride 1) (expansion 4) (groups 1) (norm #'batch-norm)
                            (activation #'relu))
  "Sizes 1, 3, 1, to expansion times out channels (He et al. 2015); with groups, Xie et al. 2016.
Padding is 1 on every side, with a stride too."
  (let* ((wide (* expansion out))
         (y (conv x out :kernel 1 :bias nil :name "conv"))
         (y (funcall activation (funcall norm y :name "norm")))
         (y (conv y out :stride stride :padding 1 :groups groups :bias nil :name "conv-2"))
         (y (funcall activation (funcall norm y :name "norm-2")))
         (y (funcall norm (conv y wide :kernel 1 :bias nil :name "conv-3") :name "norm-3")))
    (funcall activation (+ y (shortcut-of x wide stride)))))

(defmodel squeeze-excite (x &key (ratio 4) (activation #'relu))
  "A factor a channel, of the means of all (Hu et al. 2017)."
  (let* ((c (dim x -1))
         (axes (loop for i from 1 below (1- (rank x)) collect i))
         (h (funcall activation (linear (global-pool x) (max 1 (floor c ratio)) :name "down"))))
    (* x (unsqueeze (sigmoid (linear h c :name "up")) axes))))

(defmodel inverted-residual (x out &key (stride 1) (expand 6) (kernel 3) squeeze)
  "Up by expand, depthwise, down without activation; squeeze: its ratio (Sandler et al. 2018)."
  (let* ((i (dim x -1)) (y x))
    (unless (eql expand 1)
      (setq y (conv y (* expand i) :kernel 1 :bias nil :name "expand")
            y (relu6 (batch-norm y :name "norm"))))
    (setq y (depthwise-conv y :kernel kernel :stride stride :bias nil :name "depthwise")
          y (relu6 (batch-norm y :name "norm-2")))
    (when squeeze (setq y (squeeze-excite y :ratio squeeze)))
    (setq y (batch-norm (conv y out :kernel 1 :bias nil :name "project") :name "norm-3"))
    (if (and (eql stride 1) (eql out i)) (+ x y) y)))

(defmodel convnext-block (x &key (kernel 7) (scale 1e-6))
  "Depthwise, norm, feed-forward, scale, added to x (Liu et al. 2022)."
  (let ((y (layer-norm (depthwise-conv x :kernel kernel :name "depthwise") :eps 1e-6)))
    (+ x (layer-scale (mlp y) :init scale))))

(defmodel unet-block (x out c &key (groups 32) (dropout 0))
  "Two convolutions with group norms before, c (b dc) of the time between, added to x (Ho et al.
2020)."
  (let* ((axes (loop for i from 1 below (1- (rank x)) collect i))
         (y (conv (silu (group-norm x groups)) out))
         (y (+ y (unsqueeze (linear (silu c) out :name "time") axes)))
         (y (dropout (silu (group-norm y groups)) dropout)))
    (+ (conv y out) (shortcut-of x out 1))))
