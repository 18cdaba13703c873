;;;; prog1 (form form...)
;;; The first form's value, after the others have run.
(let ((n 1)) (prog1 n (incf n))) ; 1
;;;; prog2 (form form form...)
;;; The second form's value, after all have run.
(prog2 1 2 3) ; 2
;;;; multiple-value-bind ((name...) form form...)
;;; Binds names to the values of a form; nil where there are too few.
(multiple-value-bind (quotient remainder) (floor 17 5) (list quotient remainder)) ; (3 2)
;;;; multiple-value-list (form)
;;; All values of a form in a list.
(multiple-value-list (floor 17 5)) ; (3 2)
;;;; multiple-value-setq ((name...) form)
;;; Assigns the values of a form to variables.
(let (q r) (multiple-value-setq (q r) (floor 17 5)) (list q r)) ; (3 2)
;;;; nth-value (n form)
;;; One of a form's values, by index from 0.
(nth-value 1 (floor 17 5)) ; 2
;;;; let-values ((((name...) form)...) form...)
;;; Binds the values of several forms. Not of the standard.
(let-values (((q r) (floor 17 5)) ((x) 1)) (list q r x)) ; (3 2 1)
;;;; destructuring-bind (pattern list form...)
;;; Binds the parts of a list by a lambda list, which may nest.
(destructuring-bind (kind (h w) &key (dtype :f32)) '(image (8 6) :dtype :i32)
  (list kind h w dtype)) ; (image 8 6 :i32)
