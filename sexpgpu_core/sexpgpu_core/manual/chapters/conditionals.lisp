;;;; when (test form...)
;;; The forms if the test is true, else nil.
(when (> 2 1) :then) ; :then
;;;; unless (test form...)
;;; The forms if the test is nil, else nil.
(unless (> 2 1) :then) ; nil
;;;; cond ((test form...)...)
;;; The forms of the first clause whose test is true; t is the usual last test.
(let ((n 5)) (cond ((< n 0) :minus) ((= n 0) :zero) (t :plus))) ; :plus
;;;; and (form...)
;;; nil at the first form that is nil, else the last form's values; t of none.
(and 1 2 3) ; 3
(and 1 nil (error "not reached")) ; nil
;;;; or (form...)
;;; The first value that is not nil; nil of none.
(or nil 2 3) ; 2
;;;; case (key (keys form...)...)
;;; The clause that has the key (eql): one key or a list of them, not evaluated; otherwise at the end.
(case :adam ((:sgd :momentum) 1) (:adam 2) (otherwise 3)) ; 2
;;;; ecase (key (keys form...)...)
;;; As case, but E-TYPE (a type-error) if no clause has the key.
(ecase :sgd (:sgd 1) (:adam 2)) ; 1
(ecase :adm (:sgd 1) (:adam 2)) ; E-TYPE
;;;; ccase (place (keys form...)...)
;;; As ecase, of a place.
(let ((x :b)) (ccase x (:a 1) (:b 2))) ; 2
;;;; typecase (object (type form...)...)
;;; The first clause of whose type the object is.
(typecase 1/2 (integer :whole) (number :number) (t :other)) ; :number
;;;; etypecase (object (type form...)...)
;;; As typecase, but E-TYPE if no clause fits.
(etypecase "a" (number :number) (string :string)) ; :string
;;;; ctypecase (place (type form...)...)
;;; As etypecase, of a place.
(let ((x 1)) (ctypecase x (string :string) (integer :integer))) ; :integer
