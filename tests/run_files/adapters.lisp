;;; adapters.lisp: a network whose own weights stay as they are, and small maps beside them that learn
;;; (LoRA, Hu et al. 2021).
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob r 2 "Rank of the adapters." :type (integer 1))

(defloader digits
  (source (digits))
  (stage :train :split (0 0.8))
  (stage :val   :split (0.8 1))
  (batch 32))

(defmodel adapted (x out)
  (defparam w ((dim x -1) out) :init (normal 0.1))
  (defparam down ((dim x -1) r) :init (normal 0.1))
  (defparam up (r out) :init 0)
  (+ (matmul x w) (matmul (matmul x down) up)))

(defmodel net (x)
  (adapted (relu (adapted (/ x 16.0) 32 :name "in")) 10 :name "out"))

(defun objective (&key image label)
  (metric "loss" (nn:cross-entropy (net image) label)))

(defeval val :loader (digits :val))

(defun optimizer ()
  (groups (group (select :path "**/w") :frozen)
          (group :rest (optim:adamw :lr 1e-2))))

(defrun :steps 20 :seed 6 :log-every 10)
