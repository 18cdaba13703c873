;;; vae-mnist.lisp: a variational autoencoder on files of MNIST's format (idx, .gz too).
;;;   sexpgpu run examples/vae-mnist.lisp -s folder=data
;;;   sexpgpu predict examples/vae-mnist.lisp --output drawn -o drawn.npz
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob folder "data"                "Where the idx files are."     :type string)
(defknob images "*images-idx3-ubyte*" "The files of pictures in it." :type string)
(defknob hidden 400                   "Units of the hidden layers."  :type (integer 1))
(defknob latent 16                    "Numbers a picture becomes."   :type (integer 1))
(defknob lr     2e-3                  "Peak learning rate."          :type (float (0) 1))
(defknob epochs 40                    "Passes over the pictures."    :type (integer 1))

(defvariant smoke "A few seconds." :hidden 32 :latent 4 :epochs 1)
(defvariant gpu "Wider and longer; the 60,000 pictures of MNIST are its public data."
  :hidden 1024 :latent 32 :epochs 200)

(defloader mnist
  (source (idx :image (format nil "~a/~a" folder images)))
  (stage :train :split (0 0.85))
  (stage :val   :split (0.85 1) :batch 100)
  (batch 100))

(defun prepare (&key image)
  (batch :pixels (/ (cast (flatten image :start 1) :f32) 255)))

(defmodel encoder (pixels)
  "Mean and log variance of z."
  (split (nn:layers pixels (list hidden hidden (* 2 latent))) 2 :axis -1))

(defmodel decoder (z)
  "Logits of the pixels."
  (nn:layers z (list hidden hidden (* 28 28))))

(defun objective (&key pixels)
  "The negative evidence lower bound, nats a picture; in a pass z is its mean."
  (multiple-value-bind (mean log-variance) (encoder pixels)
    (let* ((logits (decoder (nn:reparameterize mean log-variance)))
           (rebuilt (mean (sum (binary-cross-entropy logits pixels) :axis 1)))
           (kl (nn:gaussian-kl mean log-variance)))
      (metric "rebuilt" rebuilt)
      (metric "kl" kl)
      (metric "loss" (+ rebuilt kl)))))

(defeval val :loader (mnist :val) :every 340 :at (:end))
(deftarget "val/loss" :below 110)

(defun optimizer ()
  (groups (group :rest (optim:adam :lr (optim:warmup-cosine lr :warmup 100)))))

(defoutput drawn (&key (z :shape (64 latent) :random (normal 1)))
  "Pictures of numbers drawn from the prior."
  (batch :image (reshape (sigmoid (decoder z)) '(-1 28 28))))

(defoutput rebuilt (&key pixels)
  "Pictures after the way through z, and their z."
  (let ((z (encoder pixels)))
    (batch :image (reshape (sigmoid (decoder z)) '(-1 28 28)) :z z)))

(defrun :epochs epochs :seed 1 :checkpoint (:best ("val/loss" :min) :keep 1))
