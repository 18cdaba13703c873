;;; vit-mnist.lisp: a vision transformer on files of MNIST's format (idx, .gz too).
;;;   sexpgpu run examples/vit-mnist.lisp -s folder=data
;;;   sexpgpu predict examples/vit-mnist.lisp --output scores --in image=images.npy -o scores.npz
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob folder "data"                "Where the idx files are."     :type string)
(defknob images "*images-idx3-ubyte*" "The files of pictures in it." :type string)
(defknob labels "*labels-idx1-ubyte*" "The files of labels in it."   :type string)
(defknob patch  7                     "Pixels of a patch's side."    :type (integer 1))
(defknob depth  4                     "Transformer blocks."          :type (integer 1))
(defknob width  64                    "Residual width."              :type (integer 16))
(defknob heads  4                     "Attention heads."             :type (integer 1))
(defknob lr     1e-3                  "Peak learning rate."          :type (float (0) 1))
(defknob epochs 10                    "Passes over the pictures."    :type (integer 1))

(defvariant smoke "A few seconds." :depth 1 :width 32 :epochs 1)
(defvariant gpu "ViT-Tiny; the 60,000 pictures of MNIST are its public data."
  :patch 4 :depth 12 :width 192 :heads 3 :epochs 60)

(defloader mnist
  (source (idx :image (format nil "~a/~a" folder images) :label (format nil "~a/~a" folder labels)))
  (stage :train :split (0 0.85))
  (stage :val   :split (0.85 1) :batch 100)
  (batch 50))

(defun prepare (&key image label)
  (batch :image (/ (cast (unsqueeze image -1) :f32) 255) :label label))

(defmodel vit (image)
  (let* ((x (nn:patch-embedding image patch width))
         (x (nn:transformer (nn:position-embedding x) depth :heads heads)))
    (nn:linear (nn:pool x) 10)))

(defun objective (&key image label)
  (let ((logits (vit image)))
    (metric "accuracy" (nn:accuracy logits label))
    (metric "loss" (nn:cross-entropy logits label))))

(defeval val :loader (mnist :val) :every 170 :at (:end))
(deftarget "val/accuracy" :above 0.96)

(defun optimizer ()
  (let ((rate (optim:warmup-cosine lr :warmup 100)))
    (groups :clip-norm 1.0
      (group (select :rank (<= 1)) (optim:adamw :lr rate :weight-decay 0))
      (group :rest                 (optim:adamw :lr rate :weight-decay 0.05)))))

(defoutput scores (&key image)
  "Shares of the ten digits, and the likeliest."
  (let ((share (softmax (vit image))))
    (batch :share share :digit (argmax share :axis 1))))

(defrun :epochs epochs :seed 1 :checkpoint (:best ("val/accuracy" :max) :keep 1))
