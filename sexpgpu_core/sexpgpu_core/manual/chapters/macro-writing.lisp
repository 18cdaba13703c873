;;;; with-gensyms ((name...) form...)
;;; Binds each name to a fresh symbol, for the variables of an expansion.
(progn
  (defmacro swap (a b)
    (with-gensyms (old) `(let ((,old ,a)) (setf ,a ,b ,b ,old))))
  (let ((x 1) (y 2)) (swap x y) (list x y))) ; (2 1)
;;;; once-only ((name...) form...)
;;; In an expansion, makes the forms in the names be evaluated once, in order.
(progn
  (defmacro square-of (x) (once-only (x) `(* ,x ,x)))
  (let ((n 3)) (list (square-of (incf n)) n))) ; (16 4)
