;;; resnet-mnist.lisp: a narrow ResNet-18 on files of MNIST's format (idx, .gz too), or on an .npz
;;; of `image` (n h w c) and `label` (n), as CIFAR-10 is easily made.
;;;   sexpgpu run examples/resnet-mnist.lisp -s folder=data
;;;   sexpgpu run examples/resnet-mnist.lisp -s arrays=cifar10.npz --variant gpu
;;;   sexpgpu predict examples/resnet-mnist.lisp --output scores --in image=images.npy \
;;;     -o scores.npz
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob folder "data"                "Where the idx files are."      :type string)
(defknob images "*images-idx3-ubyte*" "The files of pictures in it."  :type string)
(defknob labels "*labels-idx1-ubyte*" "The files of labels in it."    :type string)
(defknob arrays nil                   "An .npz instead of idx files." :type (or null string))
(defknob width  8                     "Channels of the first blocks." :type (integer 1))
(defknob blocks 2                     "Residual blocks at a size."    :type (integer 1))
(defknob lr     0.1                   "Peak learning rate."           :type (float (0) 10))
(defknob epochs 6                     "Passes over the pictures."     :type (integer 1))

(defvariant smoke "A few seconds." :width 4 :blocks 1 :epochs 1)
(defvariant gpu
  "ResNet-18's width; the 60,000 pictures of MNIST or of CIFAR-10 are its public data."
  :width 64 :epochs 100)

(defmacro pictures ()
  "The loader of the files that the knobs name."
  `(defloader pictures
     (source ,@(if arrays
                   `((npz ,arrays))
                   `((idx :image ,(format nil "~a/~a" folder images)
                      :label ,(format nil "~a/~a" folder labels)))))
     (stage :train :split (0 0.85))
     (stage :val   :split (0.85 1) :batch 100)
     (batch 50)))

(pictures)

(defun prepare (&key image label)
  (let ((grey (eql (rank image) 3)))
    (batch :image (/ (cast (if grey (unsqueeze image -1) image) :f32) 255) :label label)))

(defmodel resnet (image)
  "Four sizes of blocks, each after the first half as large and twice as wide (He et al. 2015)."
  ;; allow W-BATCH-DEPENDENCE: batch norm is by the batch's own statistics
  (let ((x (relu (nn:batch-norm (nn:conv image width :bias nil)))))
    (dotimes (size 4)
      (dotimes (i blocks)
        ;; allow W-BATCH-DEPENDENCE: in the blocks too
        (setq x (nn:residual-block x (* width (expt 2 size))
                                   :stride (if (and (> size 0) (eql i 0)) 2 1)
                                   :name (path size i)))))
    (nn:linear (nn:global-pool x) 10)))

(defun objective (&key image label)
  (let ((logits (resnet image)))
    (metric "accuracy" (nn:accuracy logits label))
    (metric "loss" (nn:cross-entropy logits label))))

(defeval val :loader (pictures :val) :every 170 :at (:end))
(deftarget "val/accuracy" :above 0.985)

(defun momentum (decay)
  (optim:sgd :lr (optim:warmup-cosine lr :warmup 100)
             :momentum 0.9
             :nesterov t
             :weight-decay decay))

(defun optimizer ()
  (groups
    (group (select :rank (<= 1)) (momentum 0))
    (group :rest                 (momentum 5e-4))))

(defoutput scores (&key image)
  "Shares of the ten digits, and the likeliest."
  (let ((share (softmax (resnet image))))
    (batch :share share :digit (argmax share :axis 1))))

(defrun :epochs epochs :seed 1 :checkpoint (:best ("val/accuracy" :max) :keep 1))
