;;; replaced_calls.lisp: adapters inside the attention of a module's blocks, whose own weights keep
;;; their paths and stay as they are (LoRA, Hu et al. 2021).
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob r 2 "Rank of the adapters." :type (integer 1))

(defloader digits
  (source (digits))
  (stage :train :split (0 0.8))
  (stage :val   :split (0.8 1))
  (batch 32))

(defun with-adapter (x out &rest options)
  (let ((y (apply #'nn:linear x out options)))
    (defparam down ((dim x -1) r) :init (normal 0.1))
    (defparam up (r out) :init 0)
    (+ y (matmul (matmul x down) up))))

(defmodel net (image)
  (let ((x (reshape (/ image 16.0) (list (dim image 0) 8 8))))
    (with-call (nn:linear :path "**/attention/*")
      #'with-adapter
      (dotimes (i 2)
        (setq x (+ x (nn:attention (nn:layer-norm x) :heads 2 :name (path "h" i "attention"))))))
    (nn:linear (mean x :axis 1) 10)))

(defun objective (&key image label)
  (metric "loss" (nn:cross-entropy (net image) label)))

(defeval val :loader (digits :val))

(defun optimizer ()
  (groups
    (group (select :path "**/attention/**" :not (:path "**/{down,up}")) :frozen)
    (group :rest (optim:adamw :lr 1e-2))))

(defrun :steps 20 :seed 6 :log-every 10)
