;;;; setf (place value ...)
;;; Assigns places: variables, (car x), (aref v i), (gethash k h), slots, what defsetf defines.
(let ((v (vector 1 2 3))) (setf (aref v 0) 9 (aref v 1) 8) v) ; #(9 8 3)
;;;; psetf (place value ...)
;;; As setf, all values computed first.
(let ((a 1) (b 2)) (psetf a b b a) (list a b)) ; (2 1)
;;;; psetq (name value ...)
;;; As setq, all values computed first.
(let ((a 1) (b 2)) (psetq a b b a) (list a b)) ; (2 1)
;;;; incf (place [by])
;;; Adds to a place, 1 by default; the new value.
(let ((counts (list 1 2))) (incf (second counts) 10) counts) ; (1 12)
;;;; decf (place [by])
;;; Takes from a place, 1 by default; the new value.
(let ((n 5)) (decf n 2)) ; 3
;;;; push (item place)
;;; Puts an item before the list of a place.
(let ((all '(2 3))) (push 1 all) all) ; (1 2 3)
;;;; pushnew (item place &key key test test-not)
;;; As push, unless the item is there.
(let ((all '(1 2))) (pushnew 2 all) (pushnew 3 all) all) ; (3 1 2)
;;;; pop (place)
;;; Takes the first element off the list of a place.
(let ((all (list 1 2 3))) (list (pop all) all)) ; (1 (2 3))
;;;; remf (place indicator)
;;; Takes a property off the plist of a place; whether it was there.
(let ((plist (list :a 1 :b 2))) (and (remf plist :a) plist)) ; (:b 2)
;;;; rotatef (place...)
;;; Gives each place the next one's value, the last the first one's; nil.
(let ((a 1) (b 2) (c 3)) (rotatef a b c) (list a b c)) ; (2 3 1)
;;;; shiftf (place... value)
;;; As rotatef, but the last gets the value and the first one's old value is returned.
(let ((a 1) (b 2)) (list (shiftf a b 3) a b)) ; (1 2 3)
