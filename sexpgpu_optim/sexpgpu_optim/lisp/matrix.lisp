;;; Optimizers: of whole matrices

(require "sexpgpu/optim/momentum" :import (shrunk with-momentum))
(require "sexpgpu/optim/adaptive" :import (adamw adam-moved corrected root-corrected))

(provide adafactor muon shampoo soap)

(defoptimizer adafactor (&key (lr 1e-2) (decay-rate 0.8) (eps 1e-30) (clip 1) (weight-decay 0)
                         (scale 1e-3) (state-dtype :f32))
  "Squares kept as a row and a column where the rank is 2 or more, no momentum; the step's root
mean square is at most clip. lr is relative to that of the parameter, at least scale; scale nil: lr
is absolute (Shazeer, Stern 2018)."
  (optimizer-update (param grad)
    (let* ((new (expt (+ (group-updates) 1) (- decay-rate)))
           (squares (+ (square grad) eps))
           (v (if (< (rank param) 2) (decaying squares new) (factored squares new)))
           (u (* grad (rsqrt (max v eps))))  ; a product of two eps is 0 in f32
           (rate (if scale (* lr (max (root-mean-square param) scale)) lr)))
      (- (shrunk param lr weight-decay) (* (/ rate (max (/ (root-mean-square u) clip) 1.0)) u)))))

(defun root-mean-square (x)
  (sqrt (mean (square x))))

(defun decaying (squares new)
  (defstate v :like squares)
  (setf v (+ (* (- 1 new) v) (* new squares))))

(defun factored (squares new)
  "row column / mean of row: the matrix of rank 1 that is nearest to the squares."
  (let* ((front (butlast (shape squares) 2))
         (down (append front (list (dim squares -2) 1)))
         (across (append front (list 1 (dim squares -1)))))
    (defstate row down :dtype (dtype squares))
    (defstate column across :dtype (dtype squares))
    (setf row (+ (* (- 1 new) row) (* new (mean squares :axis -1 :keep t))))
    (setf column (+ (* (- 1 new) column) (* new (mean squares :axis -2 :keep t))))
    (matmul (/ row (mean row :axis -2 :keep t)) column)))

(defoptimizer muon (&key (lr 0.02) (momentum 0.95) (nesterov t) (steps 5) (weight-decay 0)
                    (state-dtype :f32) (rest (adamw :state-dtype state-dtype)))
  "The orthogonal factor of a matrix's momentum by Newton-Schulz, longer where it has more columns
than rows; decay is decoupled. What is no matrix is updated by rest (Jordan et al. 2024)."
  (optimizer-update (param grad)
    (if (= (rank param) 2)
        (let ((scale (sqrt (max 1 (/ (dim param 1) (dim param 0)))))
              (m (with-momentum grad
                   momentum
                   nesterov
                   0)))
          (- (shrunk param lr weight-decay) (* lr scale (newton-schulz m :steps steps))))
        (optimizer-apply rest param grad))))

;;; Optimizers: preconditioned from both sides. A side longer than `limit` has no square matrix.

(defun left-squares (g beta2)
  "The moving average of g g'."
  (let ((n (dim g 0)))
    (defstate left (n n) :dtype (dtype g))
    (setf left (+ (* beta2 left) (* (- 1 beta2) (matmul g g :transpose-y t))))))

(defun right-squares (g beta2)
  "The moving average of g' g."
  (let ((n (dim g 1)))
    (defstate right (n n) :dtype (dtype g))
    (setf right (+ (* beta2 right) (* (- 1 beta2) (matmul g g :transpose-x t))))))

(defoptimizer shampoo (&key (lr 1e-3) (beta1 0.9) (beta2 0.99) (eps 1e-8) (weight-decay 0)
                       (limit 1024) (state-dtype :f32))
  "L^-1/4 m R^-1/4 for a matrix, L and R moving averages of g g' and g' g; L^-1/2 m alone where the
other side is longer than limit. Decay is decoupled. What is no matrix is updated by Adam (Gupta et
al. 2018)."
  (optimizer-update (param grad)
    (let* ((matrix (= (rank param) 2))
           (left (and matrix (<= (dim param 0) limit)))
           (right (and matrix (<= (dim param 1) limit)))
           (power (if (and left right) 1/4 1/2))
           (kept (shrunk param lr weight-decay)))
      (if (or left right)
          (let ((step (momentum-mean grad beta1)))
            (when left
              (setq step (matmul (inverse-root (left-squares grad beta2) beta2 eps power) step)))
            (when right
              (setq step (matmul step (inverse-root (right-squares grad beta2) beta2 eps power))))
            (- kept (* (/ lr (corrected beta1)) step)))
          (adam-moved kept grad lr beta1 beta2 eps)))))

(defun momentum-mean (grad beta1)
  (defstate m :like grad)
  (setf m (+ (* beta1 m) (* (- 1 beta1) grad))))

(defun inverse-root (squares beta2 eps power)
  "(squares, corrected, + eps)^-power by eigenvalues."
  (multiple-value-bind (w v) (eigh (* squares (/ 1 (corrected beta2))))
    (matmul (* v (expt (+ (max w 0.0) eps) (- power))) v :transpose-y t)))

(defoptimizer soap (&key (lr 3e-3) (beta1 0.95) (beta2 0.95) (eps 1e-8) (weight-decay 0.01)
                    (limit 1024) (state-dtype :f32))
  "Adam in the bases of Shampoo's eigenvectors, which begin as the axes and follow by one orthogonal
iteration a step; decay is decoupled. What is no matrix is updated by Adam (Vyas et al. 2024)."
  (defstate m :like param)
  (defstate v :like param)
  (optimizer-update (param grad)
    (let* ((matrix (= (rank param) 2))
           (left (if (and matrix (<= (dim param 0) limit)) (left-basis grad beta2)))
           (right (if (and matrix (<= (dim param 1) limit)) (right-basis grad beta2))))
      (setf m (+ (* beta1 m) (* (- 1 beta1) grad)))
      (setf v (+ (* beta2 v) (* (- 1 beta2) (square (turned grad left right)))))
      (let ((step (/ (turned m left right) (+ (root-corrected v beta2) eps))))
        (- (shrunk param lr weight-decay)
           (* (/ lr (corrected beta1)) (turned-back step left right)))))))

(defun turned (x left right)
  "x in the bases that there are."
  (let ((x (if (null left) x (matmul left x :transpose-x t))))
    (if (null right) x (matmul x right))))

(defun turned-back (x left right)
  (let ((x (if (null left) x (matmul left x))))
    (if (null right) x (matmul x right :transpose-y t))))

(defun left-basis (g beta2)
  "The basis of this step, and in its state that of the next."
  (let ((n (dim g 0)))
    (defstate left-axes (n n) :dtype (dtype g))
    (let ((now (where (= (group-updates) 0) (eye n :dtype (dtype g)) left-axes)))
      (setf left-axes (followed (left-squares g beta2) now))
      now)))

(defun right-basis (g beta2)
  (let ((n (dim g 1)))
    (defstate right-axes (n n) :dtype (dtype g))
    (let ((now (where (= (group-updates) 0) (eye n :dtype (dtype g)) right-axes)))
      (setf right-axes (followed (right-squares g beta2) now))
      now)))

(defun followed (squares basis)
  "An orthogonal iteration; the shift keeps directions without a gradient where they are."
  (let ((shift (* 1e-4 (mean (diagonal squares)))))
    (values (qr (+ (matmul squares basis) (* shift basis))))))
