;;;; dotimes ((name count [result]) form...)
;;; The forms with the name 0 to below count.
(let ((sum 0)) (dotimes (i 4 sum) (incf sum i))) ; 6
;;;; dolist ((name list [result]) form...)
;;; The forms with the name each element in turn.
(let ((all '())) (dolist (x '(1 2 3) all) (push (* x x) all))) ; (9 4 1)
;;;; do (((name start [step])...) (test result...) form...)
;;; Steps all names at once until the test is true.
(do ((i 0 (1+ i)) (sum 0 (+ sum i))) ((= i 4) sum)) ; 6
;;;; do* (((name start [step])...) (test result...) form...)
;;; As do, one name after the other.
(do* ((i 0 (1+ i)) (square 0 (* i i))) ((> i 3) square)) ; 16
;;;; loop (clause... | form...)
;;; The standard's whole loop: for, with, while, collect, sum, into, finally and the rest.
(loop for x in '(1 2 3) for i from 0 when (oddp x) collect (list i x)) ; ((0 1) (2 3))
(loop for (name . value) in '((a . 1) (b . 2)) sum value into total finally (return total)) ; 3
(let ((n 0)) (loop (incf n) (when (= n 3) (return n)))) ; 3
;;;; loop-finish ()
;;; Inside loop: ends it as if a clause had, so finally runs and what was collected is returned.
(loop for x in '(1 2 3 4) when (= x 3) do (loop-finish) collect x) ; (1 2)
;;;; return ([value])
;;; Leaves the innermost loop, dolist, dotimes, do or prog.
(dolist (x '(1 2 3)) (when (> x 1) (return (* 10 x)))) ; 20
;;;; prog ((binding...) tag-or-form...)
;;; let, block nil and tagbody in one.
(prog ((n 0)) next (incf n) (when (< n 3) (go next)) (return n)) ; 3
;;;; prog* ((binding...) tag-or-form...)
;;; As prog, binding as let* does.
(prog* ((a 1) (b (+ a 1))) (return (list a b))) ; (1 2)
