;;; physics.lisp: u'' = -u with u(0) = 0 and u'(0) = 1, by a network whose own derivatives are in the
;;; loss; points are drawn.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defloader points
  (source (none))
  (stage :train)
  (batch 64))

(defun prepare ()
  (batch :x (* 3 (random-uniform (list (batch-rows) 1) :batch 0))))

(defmodel u (x) (nn:layers x '(16 16 1) :activation #'tanh))

(defun objective (&key x)
  (let* ((u1 (grad (sum (u x)) x))
         (u2 (grad (sum u1) x))
         (zero (zeros '(1 1)))
         (at-zero (u zero))
         (slope (grad (sum at-zero) zero)))
    (metric "equation" (mean (square (+ u2 (u x)))))
    (+ (mean (square (+ u2 (u x))))
       (sum (square at-zero))
       (sum (square (- slope 1))))))

(defun optimizer ()
  (groups (group :rest (optim:adamw :lr 1e-2))))

(defrun :steps 20 :seed 2 :log-every 10)
