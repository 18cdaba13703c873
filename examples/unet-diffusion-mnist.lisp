;;; unet-diffusion-mnist.lisp: a model that draws the digit it is told by taking noise away, on files
;;; of MNIST's format (idx, .gz too).
;;;   sexpgpu run examples/unet-diffusion-mnist.lisp -s folder=data
;;;   sexpgpu predict examples/unet-diffusion-mnist.lisp --weights ema --output sheet -o sheet.npz
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob folder   "data"                "Where the idx files are."     :type string)
(defknob images   "*images-idx3-ubyte*" "The files of pictures in it." :type string)
(defknob labels   "*labels-idx1-ubyte*" "The files of labels in it."   :type string)
(defknob width    32                    "Channels at half the size."   :type (integer 8))
(defknob trips    50                    "Steps of sampling."           :type (integer 1))
(defknob guidance 1.0                   "How far past no digit's way." :type (float 0))
(defknob lr       2e-3                  "Peak learning rate."          :type (float (0) 1))
(defknob steps    7000                  "Steps of the run."            :type (integer 1))

(defconstant none 10 "The label of a picture whose digit is not told.")

(defvariant smoke "A few seconds." :width 8 :trips 2 :steps 20)
(defvariant gpu "Wider and longer; the 60,000 pictures of MNIST are its public data."
  :width 64 :trips 200 :lr 5e-4 :steps 40000)

(defloader mnist
  (source (idx :image (format nil "~a/~a" folder images) :label (format nil "~a/~a" folder labels)))
  (stage :train :split (0 0.9))
  (stage :val   :split (0.9 1) :batch 100)
  (batch 16))

(defun prepare (&key image label)
  "Pixels from -1 to 1."
  (batch :image (- (/ (cast (unsqueeze image -1) :f32) 127.5) 1) :label label))

(defun larger (x like)
  "x at the size of a picture before it was halved, beside that picture."
  (concat (interpolate x (list (dim like 1) (dim like 2))) like :axis -1))

(defmodel unet (x time label)
  "What leads from x (b h w 1) at a time (b), 0 to 1, to its digit (b) and noise: see `target`."
  (let* ((c (nn:time-embedding (* 1000 time) (* 4 width)))
         (c (nn:linear (silu (nn:linear c (* 4 width))) (* 4 width)))
         (c (+ c (nn:embedding label (+ none 1) (* 4 width) :init (normal 1))))
         (fine (nn:unet-block (nn:conv x width :kernel 2 :stride 2 :padding 0) width c :groups 8))
         (coarse (nn:unet-block (nn:conv fine width :stride 2 :padding 1) (* 2 width) c :groups 8))
         (coarse (nn:unet-block coarse (* 2 width) c :groups 8))
         (coarse (nn:unet-block coarse (* 2 width) c :groups 8))
         (fine (nn:unet-block (larger coarse fine) width c :groups 8))
         (fine (nn:unet-block fine width c :groups 8)))
    (nn:conv-transpose (silu (nn:group-norm fine 8)) 1 :kernel 2 :stride 2)))

(defun rates (time)
  "Shares of picture and noise at a time (b), each (b 1 1 1): a cosine's (Nichol, Dhariwal 2021)."
  (let ((angle (unsqueeze (* (/ pi 2) (+ 0.01 (* 0.98 time))) '(1 2 3))))
    (values (cos angle) (sin angle))))

(defun target (signal spread image noise)
  "The direction in which noise comes to an image (v of Salimans, Ho 2022)."
  (- (* signal noise) (* spread image)))

(defun objective (&key image label)
  ;; allow W-RANDOM-EVAL: a picture meets the same time in every pass
  (let ((time (random-uniform (list (dim image 0)) :batch 0))
        ;; allow W-RANDOM-EVAL: and the same noise
        (noise (random-normal nil :like image))
        ;; allow W-RANDOM-EVAL: and is told its digit or not
        (label (where (random-bernoulli (list (dim image 0)) 0.1 :batch 0) none label)))
    (multiple-value-bind (signal spread) (rates time)
      (metric "loss"
              (nn:mse (unet (+ (* signal image) (* spread noise)) time label)
                      (target signal spread image noise))))))

(defeval val :loader (mnist :val) :every 1500 :at (:end))

(defun optimizer ()
  (groups :clip-norm 1.0 :ema 0.999
    (group :rest (optim:adam :lr (optim:warmup-cosine lr :warmup 100)))))

(defun direction (x time label)
  "Past that of label, by `guidance` times its way from that of none (Ho, Salimans 2022)."
  (let ((free (unet x time (full (list (dim x 0)) none :dtype :i32))))
    (+ free (* (+ 1 guidance) (- (unet x time label) free)))))

(defun cleaner (x label number)
  "x, less noisy: a step from a time to the next (DDIM; Song et al. 2020), of `trips`."
  (flet ((at (number) (broadcast-to (/ (- trips number) trips) (list (dim x 0)))))
    (multiple-value-bind (signal spread) (rates (at number))
      (multiple-value-bind (next-signal next-spread) (rates (at (+ number 1)))
        (let* ((image (clip (- (* signal x) (* spread (direction x (at number) label))) -1 1))
               (noise (/ (- x (* signal image)) spread)))
          (+ (* next-signal image) (* next-spread noise)))))))

(defun drawn-as (label noise)
  "Pictures of the digits label (b) out of noise (b h w 1)."
  (let ((x (scan (lambda (x number) (values (cleaner x label number) nil))
                 noise
                 (iota trips :dtype :f32))))
    (batch :image (/ (+ 1 (clip x -1 1)) 2))))

(defoutput drawn (&key label)
  "A picture of each label."
  (drawn-as label (random-normal (list (dim label 0) 28 28 1) :batch 0)))

(defoutput sheet (&key (noise :shape (100 28 28 1) :random (normal 1)))
  "Ten rows of the ten digits."
  (drawn-as (mod (iota (dim noise 0)) 10) noise))

(defrun :steps steps :seed 1 :checkpoint (:every 1000 :keep 1))
