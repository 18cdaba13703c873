;;; graph.lisp: a graph of two communities, read whole; stages are masks of its nodes
;;; (a graph convolution: Kipf and Welling 2017).
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defloader graph
  (source (npz "graph.npz"))  ; x (n 8), edges (n n), label (n), split (n): 0 train, 1 val
  (whole)
  (stage :train :mask (split 0))
  (stage :val   :mask (split 1)))

(defmodel net (x edges)
  (let ((h (relu (nn:linear (matmul edges x) 16 :name "in"))))
    (nn:linear (matmul edges h) 2 :name "out")))

(defun objective (&key x edges label mask)
  (let ((y (net x edges)))
    (metric "accuracy" (weighted-mean (cast (= (argmax y :axis 1) label) :f32) mask))
    (metric "nodes" (sum mask))
    (metric "loss" (weighted-mean (cross-entropy y label) mask))))

(defeval val :loader (graph :val) :every 10)

(defun optimizer ()
  (groups (group :rest (optim:adamw :lr 2e-2))))

(defrun :steps 30 :seed 2 :log-every 10)
