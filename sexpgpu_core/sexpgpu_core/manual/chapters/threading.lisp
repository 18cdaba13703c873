;;;; -> (value form...)
;;; Puts the value as the first operand of the first form, that as the first of the next, and so on.
(-> 3 (+ 1) (* 10)) ; 40
;;;; ->> (value form...)
;;; As ->, as the last operand.
(->> '(1 2 3) (mapcar #'1+) (reduce #'+)) ; 9
;;;; as-> (value name form...)
;;; Binds the name to each form's value in turn, wherever the next form puts it.
(as-> 3 x (- 10 x) (list x x)) ; (7 7)
