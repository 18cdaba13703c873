;;;; quote (object)
;;; The object itself, not evaluated; 'object is the same.
(quote (+ 1 2)) ; (+ 1 2)
'(+ 1 2) ; (+ 1 2)
;;;; if (test then [else])
;;; Evaluates then if the test is true (anything but nil), else the other; nil without one.
(if (> 2 1) :yes :no) ; :yes
(if nil :yes) ; nil
;;;; progn (form...)
;;; Evaluates the forms in order; the values of the last.
(progn 1 2 3) ; 3
;;;; let (((name value)...) form...)
;;; Binds names for the forms; all values are computed before any name is bound.
(let ((a 1) (b 2)) (+ a b)) ; 3
;;;; let* (((name value)...) form...)
;;; As let, but each value may use the names before it.
(let* ((a 1) (b (+ a 1))) (list a b)) ; (1 2)
;;;; setq (name value ...)
;;; Assigns variables in order; the last value. setf takes any place.
(let ((n 1)) (setq n 2) n) ; 2
;;;; lambda ((parameter...) form...)
;;; A function without a name; it keeps the variables around it.
(funcall (lambda (x &optional (y 10)) (+ x y)) 1) ; 11
;;;; function (name)
;;; The function of a name, or of a lambda; #'name is the same.
(mapcar (function 1+) '(1 2)) ; (2 3)
(mapcar #'1+ '(1 2)) ; (2 3)
;;;; flet (((name (parameter...) form...)...) form...)
;;; Local functions; they do not see each other.
(flet ((twice (x) (* 2 x))) (twice 21)) ; 42
;;;; labels (((name (parameter...) form...)...) form...)
;;; Local functions that may call themselves and each other.
(labels ((fact (n) (if (< n 2) 1 (* n (fact (1- n)))))) (fact 20)) ; 2432902008176640000
;;;; macrolet (((name (parameter...) form...)...) form...)
;;; Local macros.
(macrolet ((twice (x) `(* 2 ,x))) (twice 21)) ; 42
;;;; symbol-macrolet (((name expansion)...) form...)
;;; Names that stand for forms, also in setf.
(let ((pair (list 1 2))) (symbol-macrolet ((x (car pair))) (setf x 9)) pair) ; (9 2)
;;;; block (name form...)
;;; A named exit: return-from inside leaves with a value.
(block search (dolist (x '(1 2 3)) (when (> x 1) (return-from search x)))) ; 2
;;;; return-from (name [value])
;;; Leaves the block of a name; defun makes a block of the function's own.
(progn (defun sign-of (x) (when (< x 0) (return-from sign-of :minus)) :plus) (sign-of -1)) ; :minus
;;;; tagbody (tag-or-form...)
;;; Forms with labels that go jumps to; nil. loop and dotimes read better.
(let ((n 0)) (tagbody next (incf n) (when (< n 3) (go next))) n) ; 3
;;;; go (tag)
;;; Jumps to a tag of the tagbody around.
(let ((n 3)) (tagbody down (decf n) (when (> n 0) (go down))) n) ; 0
;;;; catch (tag form...)
;;; An exit found while running: throw to an equal (eq) tag leaves it, however deep.
(catch :found (mapc (lambda (x) (when (> x 1) (throw :found x))) '(1 2 3))) ; 2
;;;; throw (tag value)
;;; Leaves the newest catch of a tag with the values.
(catch :done (throw :done 42)) ; 42
;;;; unwind-protect (form cleanup...)
;;; The form's values; the cleanups run however the form is left.
(let ((log '())) (catch :out (unwind-protect (throw :out 1) (push :cleaned log))) log) ; (:cleaned)
;;;; multiple-value-call (function form...)
;;; Calls the function with all values of all the forms.
(multiple-value-call #'list (floor 7 2) (values :a :b)) ; (3 1 :a :b)
;;;; multiple-value-prog1 (form form...)
;;; All values of the first form, after the others have run.
(multiple-value-prog1 (floor 7 2) :after) ; 3; 1
;;;; the (type form)
;;; The form's value, checked to be of the type.
(the integer (+ 1 2)) ; 3
(the string 5) ; E-TYPE
;;;; locally (declaration... form...)
;;; Forms under declarations.
(progn (defvar *rate* 1) (locally (declare (special *rate*)) *rate*)) ; 1
;;;; declare (declaration...)
;;; At the head of a body: ignore, ignorable, special, type, ftype mean something.
(funcall (lambda (x unused) (declare (ignore unused)) x) 1 2) ; 1
;;;; eval-when ((situation...) form...)
;;; The forms when :execute, :load-toplevel or :compile-toplevel is among the situations.
(eval-when (:compile-toplevel :load-toplevel :execute) 1) ; 1
;;;; load-time-value (form [read-only])
;;; The form's value, computed once, before what it stands in runs.
(let ((f (lambda () (load-time-value (list 1))))) (eq (funcall f) (funcall f))) ; t
;;;; progv (symbols values form...)
;;; Binds special variables whose names are computed.
(progv '(*a* *b*) '(1 2) (list (symbol-value '*a*) (symbol-value '*b*))) ; (1 2)
