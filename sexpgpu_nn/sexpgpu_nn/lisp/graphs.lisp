;;; Graphs and interactions. Edges (2 e): the first row's node sends to the second's

(require "sexpgpu/nn/linear" :import (linear))

(provide graph-conv graph-attention dot-interaction factorization-machine vector-quantize)

(defun with-loops (edges n)
  "(values from to), each node's edge to itself last."
  (let ((own (iota n)))
    (values (concat (cast (tref edges 0) :i32) own) (concat (cast (tref edges 1) :i32) own))))

(defmodel graph-conv (x edges out &key weights (bias t))
  "The mean of x w over neighbours and the node, each by the roots of both degrees; weights (e) of
the edges (Kipf, Welling 2016)."
  (defparam w ((dim x -1) out) :init (glorot))
  (let* ((n (dim x 0))
         (h (matmul x w))
         (each (if (null weights) (ones (list (dim edges 1))) weights)))
    (multiple-value-bind (from to) (with-loops edges n)
      (let* ((each (concat each (ones (list n))))
             (root (rsqrt (segment-sum each to n)))
             (share (* each (gather root from) (gather root to)))
             (y (segment-sum (* (gather h from) (unsqueeze share -1)) to n)))
        (if bias (progn (defparam b (out)) (+ y b)) y)))))

(defmodel graph-attention (x edges out &key (heads 1) (slope 0.2))
  "Neighbours and the node by a softmax of what both say: (n heads out) flattened (Velickovic et al.
2017)."
  (defparam w ((dim x -1) heads out) :init (glorot))
  (defparam source (heads out) :init (glorot))
  (defparam target (heads out) :init (glorot))
  (let* ((n (dim x 0)) (h (einsum "nd,dho->nho" x w)))
    (multiple-value-bind (from to) (with-loops edges n)
      (let* ((said (+ (gather (sum (* h source) :axis -1) from)
                      (gather (sum (* h target) :axis -1) to)))
             (share (segment-softmax (leaky-relu said :slope slope) to n))
             (y (segment-sum (* (gather h from) (unsqueeze share -1)) to n)))
        (reshape y (list n (* heads out)))))))

(defun dot-interaction (x)
  "Products of each two of f rows: (b f d) to (b f(f-1)/2) (Naumov et al. 2019)."
  (let* ((f (dim x 1))
         (all (reshape (matmul x x :transpose-y t) (list (dim x 0) (* f f))))
         (pairs (loop for i from 1 below f append (loop for j below i collect (+ (* i f) j)))))
    (gather all (tensor pairs) :axis 1)))

(defun factorization-machine (x)
  "The sum of products of all two rows of x: (b f d) to (b) (Rendle 2010)."
  (* 0.5 (sum (- (square (sum x :axis 1)) (sum (square x) :axis 1)) :axis -1)))

(defmodel vector-quantize (x codes &key (decay 0.99) (commitment 0.25))
  "The nearest of codes, which follow what they are given: (values y index loss), the gradient
straight through (van den Oord et al. 2017)."
  (let ((d (dim x -1)))
    (defstate codebook (codes d) :init (normal 1))
    (defstate count (codes) :init 1)
    (let* ((rows (reshape (stop-gradient x) (list -1 d)))
           (far (- (sum (square codebook) :axis -1) (* 2 (matmul rows codebook :transpose-y t))))
           (index (argmin far :axis -1))
           (y (stop-gradient (reshape (gather codebook index) (shape x)))))
      (when (eq (ctx :mode) :train)
        (let ((new (lerp count (segment-sum (ones (list (dim rows 0))) index codes) (- 1 decay)))
              (sums (segment-sum rows index codes)))
          (setf codebook (/ (+ (* decay (unsqueeze count -1) codebook) (* (- 1 decay) sums))
                            (unsqueeze (max new 1e-5) -1)))
          (setf count new)))
      (values (straight-through x y)
              (reshape index (butlast (shape x)))
              (* commitment (mean (square (- x y))))))))
