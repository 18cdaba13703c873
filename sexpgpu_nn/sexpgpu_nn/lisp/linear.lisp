;;; Linear, embedding, feed-forward

(provide linear bilinear embedding position-embedding sinusoidal-positions mlp gated-mlp layers
         highway time-embedding fourier-features lora)

(defmodel linear (x out &key (bias t) (init (lecun)))
  "x w + b: (... d) to (... out)."
  (defparam w ((dim x -1) out) :init init)
  (let ((y (matmul x w)))
    (if bias (progn (defparam b (out)) (+ y b)) y)))

(defmodel bilinear (x y out &key (bias t) (init (lecun)))
  "x' W y + b: (... dx), (... dy) to (... out)."
  (defparam w ((dim x -1) (dim y -1) out) :init init)
  (let ((z (einsum "...i,ijo,...j->...o" x w y)))
    (if bias (progn (defparam b (out)) (+ z b)) z)))

(defmodel embedding (ids vocab width &key (init (normal 0.02)) padding-id)
  "Rows of a table: ids (...) to (... width). The row of padding-id counts as 0."
  (defparam w (vocab width) :init init)
  (let ((rows (gather w ids)))
    (if padding-id (where (unsqueeze (/= ids padding-id) -1) rows 0.0) rows)))

(defmodel position-embedding (x &key (length (dim x 1)) (init (normal 0.02)))
  "x + w, the first n rows of it: (b n d)."
  (defparam w (length (dim x -1)) :init init)
  (+ x (slice w :axis 0 :end (dim x 1))))

(defun sinusoidal-positions (n width &key (base 10000))
  "(n width): sines, then cosines (Vaswani et al. 2017)."
  (let* ((half (/ width 2))
         (rate (exp (* (iota half :dtype :f32) (- (/ (log base) half)))))
         (angle (outer (iota n :dtype :f32) rate)))
    (concat (sin angle) (cos angle) :axis -1)))

(defmodel mlp (x &key (hidden (* 4 (dim x -1))) (out (dim x -1)) (activation #'gelu) (bias t)
               (dropout 0) linear)
  "The feed-forward part of a transformer: up, activation, down."
  (let* ((linear (or linear #'linear))
         (h (funcall activation (funcall linear x hidden :bias bias :name "up")))
         (y (funcall linear h out :bias bias :name "down")))
    (dropout y dropout)))

(defmodel gated-mlp (x &key hidden (out (dim x -1)) (activation #'silu) bias linear)
  "SwiGLU (Shazeer 2020). hidden nil: 8/3 d rounded up to a multiple of 64."
  (let* ((linear (or linear #'linear))
         (width (or hidden (* 64 (ceiling (* 8/3 (dim x -1)) 64))))
         (gate (funcall activation (funcall linear x width :bias bias :name "gate")))
         (up (funcall linear x width :bias bias :name "up")))
    (funcall linear (* gate up) out :bias bias :name "down")))

(defmodel layers (x sizes &key (activation #'relu) last-activation (bias t) (dropout 0))
  "A plain MLP of the sizes given."
  (loop for (size . more) on sizes
        do (setq x (linear x size :bias bias))
           (cond (more (setq x (dropout (funcall activation x) dropout)))
                 (last-activation (setq x (funcall last-activation x)))))
  x)

(defmodel highway (x &key (activation #'relu))
  "A gate between x and a layer of it (Srivastava et al. 2015)."
  (let ((gate (sigmoid (linear x (dim x -1) :name "gate")))
        (y (funcall activation (linear x (dim x -1) :name "map"))))
    (+ (* gate y) (* (- 1 gate) x))))

(defun time-embedding (times width &key (base 10000))
  "(b width): sines, then cosines, of diffusion times (b) (Ho et al. 2020)."
  (let* ((half (/ width 2))
         (rate (exp (* (iota half :dtype :f32) (- (/ (log base) half)))))
         (angle (* (unsqueeze (cast times :f32) 1) (unsqueeze rate 0))))
    (concat (sin angle) (cos angle) :axis -1)))

(defmodel fourier-features (x width &key (scale 1))
  "(... width): sines, then cosines, of random projections that stay (Tancik et al. 2020)."
  (let ((shape (list (dim x -1) (/ width 2))))
    (defstate frequencies shape :init (normal scale))
    (let ((angle (* (* 2 pi) (matmul x frequencies))))
      (concat (sin angle) (cos angle) :axis -1))))

(defmodel lora (x base rank &key (alpha rank) (dropout 0))
  "base(x) + alpha/rank x a b, b from 0; base is a function of x (Hu et al. 2021)."
  (let ((y (funcall base x)))
    (defparam a ((dim x -1) rank))
    (defparam b (rank (dim y -1)) :init 0)
    (+ y (* (/ alpha rank) (matmul (matmul (dropout x dropout) a) b)))))
