;;; digits.lisp: a small network on scikit-learn's 8x8 handwritten digits.
;;;   sexpgpu run examples/digits.lisp
;;;   sexpgpu predict examples/digits.lisp --output scores --in image=images.npy -o scores.npz
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob width  256  "Units of a hidden layer." :type (integer 1))
(defknob rate   0.4  "Dropout."                 :type (float 0 (1)))
(defknob lr     1e-3 "Peak learning rate."      :type (float (0) 1))
(defknob epochs 60   "Passes over the digits."  :type (integer 1))

(defvariant smoke "A second or two." :epochs 3)
(defvariant gpu   "Wider; the digits are all that there are." :width 2048)

(defloader digits
  (source (digits))
  (split-by :hash)
  (stage :train :split (0 0.8))
  (stage :val   :split (0.8 1) :batch 64)
  (batch 64))

(defun prepare (&key image label)
  (batch :pixels (/ image 16) :label label))  ; pixels are 0 to 16

(defmodel classifier (pixels)
  (nn:layers pixels (list width width 10) :dropout rate))

(defun objective (&key pixels label)
  (let ((logits (classifier pixels)))
    (metric "accuracy" (nn:accuracy logits label))
    (metric "loss" (nn:cross-entropy logits label))))

(defeval val :loader (digits :val) :every 100 :at (:end))
(deftarget "val/accuracy" :above 0.97)

(defun optimizer ()
  (groups
    (group (select :rank (<= 1))
           (optim:adamw :lr (optim:warmup-cosine lr :warmup 20) :weight-decay 0))
    (group :rest (optim:adamw :lr (optim:warmup-cosine lr :warmup 20) :weight-decay 0.01))))

(defoutput scores (&key pixels)
  "Shares of the ten digits, and the likeliest."
  (let ((share (softmax (classifier pixels))))
    (batch :share share :digit (argmax share :axis 1))))

(defrun :epochs epochs :seed 1 :checkpoint (:best ("val/accuracy" :max) :keep 1))
