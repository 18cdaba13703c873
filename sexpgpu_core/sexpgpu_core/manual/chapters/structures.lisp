;;;; copy-structure
(progn
  (defstruct point x y)
  (let* ((a (make-point :x 1 :y 2)) (b (copy-structure a)))
    (setf (point-x b) 9)
    (list (point-x a) (point-x b)))) ; (1 9)
