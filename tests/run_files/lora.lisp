;;; lora.lisp: the weights of another network are loaded and stay as they are; small maps beside them
;;; learn (LoRA, Hu et al. 2021).
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob r 2 "Rank of the adapters." :type (integer 1))

(defloader digits
  (source (digits))
  (stage :train :split (0 0.8))
  (stage :val   :split (0.8 1))
  (batch 32))

(defmodel adapted (x out)
  (defparam w ((dim x -1) out))
  (defparam b (out) :init 0)
  (defparam down ((dim x -1) r) :init (normal 0.1))
  (defparam up (r out) :init 0)
  (+ (matmul x w) (matmul (matmul x down) up) b))

(defmodel net (x)
  (adapted (relu (adapted (/ x 16.0) 32 :name "in")) 10 :name "out"))

(load-params "base.safetensors"
  :into "net"
  :map (("layers.0.{p}" "in/{p}") ("layers.1.{p}" "out/{p}"))
  :ignore ("step")
  :missing ("**/down" "**/up"))

(defun objective (&key image label)
  (metric "loss" (nn:cross-entropy (net image) label)))

(defeval val :loader (digits :val) :every 10 :at (0))

(defun optimizer ()
  (groups (group (select :path "**/{w,b}") :frozen)
          (group :rest (optim:adamw :lr 1e-2))))

(defrun :steps 20 :seed 6 :log-every 10 :checkpoint (:every 10))
