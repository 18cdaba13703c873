;;; State-space models

(require "sexpgpu/nn/linear" :import (linear))
(require "sexpgpu/nn/norms" :import (rms-norm))

(provide selective-scan mamba mamba2)

(defun selective-scan (x dt a b c &key skip)
  "y' = c h + skip x of h' = exp(dt a) h + dt b x: x, dt (b n i), a (i s), b, c (b n s) (Gu, Dao
2023)."
  (let* ((h (zeros (list (dim x 0) (dim x -1) (dim a -1)) :dtype (dtype x)))
         (y (nth-value 1
                       (scan (lambda (h at)
                               (destructuring-bind (x dt b c) at
                                 (let* ((kept (exp (* (unsqueeze dt -1) (unsqueeze a 0))))
                                        (new (* (unsqueeze (* dt x) -1) (unsqueeze b 1)))
                                        (h (+ (* kept h) new)))
                                   (values h (einsum "bis,bs->bi" h c)))))
                             h
                             (list x dt b c)
                             :axis 1))))
    (if (null skip) y (+ y (* skip x)))))

(defmodel mamba (x &key (expand 2) (state-size 16) (kernel 4) (dt-rank (ceiling (dim x -1) 16)))
  "Two branches, one through a causal convolution and a selective scan, the other its gate (Gu, Dao
2023)."
  (let* ((d (dim x -1)) (i (* expand d)))
    (multiple-value-bind (u z) (split (linear x (* 2 i) :bias nil :name "in") 2 :axis -1)
      (let ((u (silu (short-conv u kernel :name "conv"))))
        (multiple-value-bind (dt b c)
            (split (linear u (+ dt-rank (* 2 state-size)) :bias nil :name "x")
                   (list dt-rank state-size state-size)
                   :axis -1)
          (defparam a-log (i state-size)
            :init (broadcast-to (log (iota state-size :start 1 :dtype :f32)) (list i state-size)))
          (defparam skip (i) :init 1)
          (let ((y (selective-scan u (steps-of dt i :name "dt") (- (exp a-log)) b c :skip skip)))
            (linear (* y (silu z)) d :bias nil :name "out")))))))

(defmodel short-conv (x kernel)
  "Depthwise, padded on the left: as many products of shifted x as the kernel is long."
  (let* ((i (dim x -1)) (n (dim x 1)) (wide (pad x (list (list (1- kernel) 0) '(0 0)))))
    (defparam w (kernel 1 i) :init (he))
    (defparam b (i))
    (dotimes (j kernel b)
      (setq b (+ b (* (slice wide :axis 1 :start j :end (+ j n)) (tref w j 0)))))))

(defmodel steps-of (x i)
  "The lengths of steps, which begin between 0.001 and 0.1."
  (defparam w ((dim x -1) i))
  (defparam b (i) :init (small-steps i))
  (softplus (+ (matmul x w) b)))

(defun small-steps (n)
  "n numbers whose softplus is between 0.001 and 0.1."
  (let ((dt (exp (random-uniform (list n) :low (log 1e-3) :high (log 0.1)))))
    (+ dt (log (- (expm1 (- dt)))))))

(defmodel mamba2 (x &key (expand 2) (state-size 128) (head-size 64) (kernel 4) (chunk 64))
  "Mamba with one decay a head, as products within chunks of places and a scan over chunks (state
space duality; Dao, Gu 2024)."
  (let* ((d (dim x -1)) (i (* expand d)) (heads (floor i head-size)) (s state-size))
    (defparam dt-bias (heads) :init (small-steps heads))
    (defparam a-log (heads) :init (log (random-uniform (list heads) :low 1 :high 16)))
    (defparam skip (heads) :init 1)
    (multiple-value-bind (z u dt)
        (split (linear x (+ i i s s heads) :bias nil :name "in") (list i (+ i s s) heads) :axis -1)
      (multiple-value-bind (u b c)
          (split (silu (short-conv u kernel :name "conv")) (list i s s) :axis -1)
        (let* ((u (reshape u (list (dim x 0) (dim x 1) heads head-size)))
               (dt (softplus (+ dt dt-bias)))
               (y (chunked-scan u dt (- (exp a-log)) b c chunk))
               (y (reshape (+ y (* (unsqueeze skip -1) u)) (list (dim x 0) (dim x 1) i))))
          (linear (rms-norm (* y (silu z)) :name "norm") d :bias nil :name "out"))))))

(defun chunked-scan (u dt a b c chunk)
  "What selective-scan computes with one a of a head: u (b n h p), dt (b n h), a (h), b, c (b n s)."
  (let* ((n (dim u 1)) (q (min chunk n)) (more (mod (- n) q)))
    (flet ((parts (x)
             (let ((wide (if (eql more 0) x (concat x (filling x more) :axis 1))))
               (reshape wide (list* (dim x 0) (floor (+ n more) q) q (cddr (shape x)))))))
      (let* ((y (of-chunks (parts (* u (unsqueeze dt -1))) (parts (* dt a)) (parts b) (parts c)))
             (y (reshape y (list (dim u 0) (+ n more) (dim u 2) (dim u 3)))))
        (slice y :axis 1 :end n)))))

(defun filling (x more)
  "Zeros for more places after x (b n ...)."
  (zeros (list* (dim x 0) more (cddr (shape x))) :dtype (dtype x)))

(defun of-chunks (u rate b c)
  "u (b k q h p) times dt, rate (b k q h) the logs of what a place keeps, b, c (b k q s)."
  (let* ((q (dim u 2))
         (sums (cumsum rate :axis 2))
         (total (tref sums t t -1))
         (by-head (permute sums '(0 1 3 2)))
         (apart (- (unsqueeze by-head -1) (unsqueeze by-head -2)))
         (kept (exp (where (causal-mask q) apart -1e30)))
         (pairs (* (unsqueeze (einsum "bkis,bkjs->bkij" c b) 2) kept))
         (within (einsum "bkhij,bkjhp->bkihp" pairs u))
         (late (exp (- (unsqueeze total 2) sums)))
         (made (einsum "bkjs,bkjhp->bkhsp" b (* u (unsqueeze late -1))))
         (before (states-before made (exp total)))
         (across (einsum "bkis,bkhsp->bkihp" c before)))
    (+ within (* across (unsqueeze (exp sums) -1)))))

(defun states-before (made kept)
  "The state (b k h s p) at the begin of each chunk, of what chunks make and the share they keep."
  (nth-value 1
             (scan (lambda (h at)
                     (destructuring-bind (made kept) at
                       (values (+ (* h (unsqueeze (unsqueeze kept -1) -1)) made) h)))
                   (zeros-like (tref made t 0))
                   (list made kept)
                   :axis 1)))
