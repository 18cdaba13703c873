;;;; funcall
(funcall #'+ 1 2) ; 3
;;;; apply
(apply #'max 1 '(5 3)) ; 5
;;;; identity
(identity 42) ; 42
;;;; constantly
(funcall (constantly 1) 2 3) ; 1
;;;; complement
(remove-if (complement #'evenp) '(1 2 3 4)) ; (2 4)
;;;; values
(values 1 2) ; 1; 2
;;;; values-list
(values-list '(1 2)) ; 1; 2
;;;; functionp
(functionp #'car) ; t
(functionp 'car) ; nil
;;;; compiled-function-p
(compiled-function-p #'car) ; t
;;;; fdefinition
(funcall (fdefinition 'list) 1 2) ; (1 2)
;;;; fboundp
(and (fboundp 'car) t) ; t
;;;; fmakunbound
(progn (defun gone () 1) (fmakunbound 'gone) (fboundp 'gone)) ; nil
;;;; special-operator-p
(and (special-operator-p 'if) t) ; t
;;;; function-lambda-expression
(function-lambda-expression #'car) ; nil; t; nil
;;;; eq
(eq 'a 'a) ; t
(eq (list 1) (list 1)) ; nil
;;;; eql
(eql 3 3) ; t
(eql 3 3.0) ; nil
;;;; equal
(equal '(1 "a") (list 1 "a")) ; t
;;;; equalp
(equalp "Loss" "LOSS") ; t
;;;; not
(not nil) ; t
