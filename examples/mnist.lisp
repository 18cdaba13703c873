;;; mnist.lisp: a convolutional network on files of MNIST's format (idx, .gz too).
;;;   sexpgpu run examples/mnist.lisp -s folder=data
;;;   sexpgpu predict examples/mnist.lisp --output scores --in image=images.npy -o scores.npz
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob folder "data"                "Where the idx files are." :type string)
(defknob images "*images-idx3-ubyte*" "The files of pictures in it." :type string)
(defknob labels "*labels-idx1-ubyte*" "The files of labels in it." :type string)
(defknob width  16                    "Channels of the first convolution." :type (integer 1))
(defknob rate   0.25                  "Dropout." :type (float 0 (1)))
(defknob lr     2e-3                  "Peak learning rate." :type (float (0) 1))
(defknob epochs 4                     "Passes over the pictures." :type (integer 1))

(defvariant smoke "A few seconds." :width 4 :epochs 1)
(defvariant gpu "Wider and longer; the 60,000 pictures of MNIST are its public data."
  :width 64 :epochs 20)

(defloader mnist
  (source (idx :image (format nil "~a/~a" folder images) :label (format nil "~a/~a" folder labels)))
  (stage :train :split (0 0.85))
  (stage :val   :split (0.85 1) :batch 100)
  (batch 50))

(defun prepare (&key image label)
  (batch :image (/ (cast (unsqueeze image -1) :f32) 255) :label label))

(defmodel features (x channels)
  "A convolution, then half the size."
  (max-pool (relu (nn:conv x channels :kernel 3)) 2))

(defmodel network (image)
  (let* ((x (features image width :name "first"))
         (x (features x (* 2 width) :name "second"))
         (x (relu (nn:linear (flatten x :start 1) 128 :init (he)))))
    (nn:linear (dropout x rate) 10)))

(defun objective (&key image label)
  (let ((logits (network image)))
    (metric "accuracy" (nn:accuracy logits label))
    (metric "loss" (nn:cross-entropy logits label))))

(defeval val :loader (mnist :val) :every 170 :at (:end))
(deftarget "val/accuracy" :above 0.97)

(defun optimizer ()
  (groups
    (group (select :rank (<= 1))
           (optim:adamw :lr (optim:warmup-cosine lr :warmup 50) :weight-decay 0))
    (group :rest (optim:adamw :lr (optim:warmup-cosine lr :warmup 50) :weight-decay 0.05))))

(defoutput scores (&key image)
  "Shares of the ten digits, and the likeliest."
  (let ((share (softmax (network image))))
    (batch :share share :digit (argmax share :axis 1))))

(defrun :epochs epochs :seed 1 :checkpoint (:best ("val/accuracy" :max) :keep 1))
