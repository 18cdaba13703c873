;;;; handler-case (form (type ([name]) form...)...)
;;; The form's values; if it signals a condition of a type, the values of that clause instead.
(handler-case (/ 1 0) (division-by-zero () :infinite)) ; :infinite
(handler-case (parse-integer "x") (error (c) (type-of c))) ; parse-error
(handler-case 1 (error () 2) (:no-error (x) (list :fine x))) ; (:fine 1)
;;;; handler-bind (((type function)...) form...)
;;; Calls the function where the condition is signalled; if it returns, the next handler is asked.
(handler-bind ((warning #'muffle-warning)) (warn "slow") :went-on) ; :went-on
;;;; ignore-errors (form...)
;;; The forms' values; after an error nil and the condition.
(nth-value 0 (ignore-errors (error "no"))) ; nil
;;;; with-simple-restart ((name format argument...) form...)
;;; The forms with a restart; taking it gives nil and t.
(with-simple-restart (continue "Skip it.") (invoke-restart 'continue)) ; nil; t
;;;; assert (test [(place...) [datum argument...]])
;;; An error unless the test is true; nil.
(assert (= 1 1)) ; nil
(assert (= 64 60) () "width ~d is no multiple of 64" 60) ; E-CONDITION
;;;; check-type (place type [string])
;;; E-TYPE unless the place's value is of the type; nil.
(let ((width 64)) (check-type width (integer 1))) ; nil
(let ((width 0)) (check-type width (integer 1))) ; E-TYPE
