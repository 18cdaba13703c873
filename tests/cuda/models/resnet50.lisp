;;; resnet50.lisp: ResNet-50 on pictures of 224 x 224, 256 a step, bf16 (He et al. 2015). The
;;; pictures are made up: what is looked at is the program, not the loss.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob side       224        "Rows and columns of a picture." :type (integer 8))
(defknob width      64         "Channels of the stem."          :type (integer 4))
(defknob blocks     '(3 4 6 3) "Bottlenecks at each size."      :type list)
(defknob classes    1000       "Of ImageNet."                   :type (integer 2))
(defknob batch-size 256        "Pictures in a step."            :type (integer 1))
(defknob precision  :bf16      "What products are made in."     :type symbol)

(defvariant small "For the emulated device."
  :side 32 :width 8 :blocks '(1 1) :classes 10 :batch-size 4)

(defloader pictures
  (source (synthetic (lambda (i)
                       (list :image (make-array (list side side 3)
                                                :element-type '(unsigned-byte 8)
                                                :initial-element (mod i 256))
                             :label (mod i classes)))
                     :examples 512))
  (stage :train :order :random)
  (batch batch-size))

(defun prepare (&key image label)
  (batch :image (/ (cast image :f32) 255) :label label))

(defmodel resnet (image)
  "A stem, then sizes of bottlenecks, each after the first half as large and twice as wide."
  ;; allow W-BATCH-DEPENDENCE: batch norm is by the batch's own statistics
  (let ((x (relu (nn:batch-norm (nn:conv image width :kernel 7 :stride 2 :bias nil)))))
    (setq x (max-pool x 3 :stride 2 :padding 1))
    (loop for count in blocks
          for size from 0
          do (dotimes (i count)
               ;; allow W-BATCH-DEPENDENCE: in the blocks too
               (setq x (nn:bottleneck-block x (* width (expt 2 size))
                                            :stride (if (and (> size 0) (eql i 0)) 2 1)
                                            :name (path size i)))))
    (nn:linear (nn:global-pool x) classes)))

(defun objective (&key image label)
  (let ((logits (resnet image)))
    (metric "accuracy" (nn:accuracy logits label))
    (metric "loss" (nn:cross-entropy logits label))))

(defun momentum (decay)
  (optim:sgd :lr (optim:warmup-cosine 0.1 :warmup 1000) :momentum 0.9 :weight-decay decay))

(defun optimizer ()
  (groups
    (group (select :rank (<= 1)) (momentum 0))
    (group :rest                 (momentum 1e-4))))

(defrun :steps 10000 :seed 1 :precision precision)
