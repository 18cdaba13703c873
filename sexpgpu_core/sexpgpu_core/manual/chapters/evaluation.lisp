;;;; eval
(eval (list '+ 1 2)) ; 3
;;;; macroexpand-1
(progn
  (defmacro twice (form) `(progn ,form ,form))
  (macroexpand-1 '(twice (go-on)))) ; (progn (go-on) (go-on)); t
;;;; macroexpand
(macroexpand '(car x)) ; (car x); nil
;;;; macro-function
(macro-function 'car) ; nil
;;;; constantp
(constantp 3) ; t
;;;; get-setf-expansion
(length (multiple-value-list (get-setf-expansion '(car x)))) ; 5
;;;; compile
(funcall (compile nil '(lambda (x) (* 2 x))) 21) ; 42
;;;; compiler-macro-function
(compiler-macro-function 'car) ; nil
;;;; syntax-error
(progn
  (defmacro repeated (&whole call count form)
    (unless (integerp count) (syntax-error call count "wants a number, not ~s" count))
    `(progn ,@(loop repeat count collect form)))
  (repeated :two 1)) ; E-FORM-SHAPE
