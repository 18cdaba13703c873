;;;; length
(length '(a b c)) ; 3
;;;; elt
(elt #(10 20 30) 1) ; 20
;;;; subseq
(subseq "validation" 0 3) ; "val"
;;;; copy-seq
(copy-seq #(1 2 3)) ; #(1 2 3)
;;;; make-sequence
(make-sequence 'vector 3 :initial-element 0) ; #(0 0 0)
;;;; concatenate
(concatenate 'string "val" "/" "loss") ; "val/loss"
(concatenate 'list #(1 2) '(3)) ; (1 2 3)
;;;; reverse
(reverse '(1 2 3)) ; (3 2 1)
;;;; nreverse
(nreverse (list 1 2 3)) ; (3 2 1)
;;;; fill
(fill (list 1 2 3 4) 0 :start 2) ; (1 2 0 0)
;;;; replace
(replace (list 1 2 3 4) '(8 9) :start1 1) ; (1 8 9 4)
;;;; map
(map 'vector #'* #(1 2 3) #(4 5 6)) ; #(4 10 18)
;;;; map-into
(map-into (list 0 0 0) #'+ '(1 2 3) '(10 20 30)) ; (11 22 33)
;;;; reduce
(reduce #'+ '(1 2 3 4)) ; 10
(reduce #'* '(2 3) :initial-value 10) ; 60
;;;; every
(every #'evenp '(2 4 6)) ; t
;;;; some
(some (lambda (x) (and (> x 2) (* x x))) '(1 2 3)) ; 9
;;;; notany
(notany #'evenp '(1 3)) ; t
;;;; notevery
(notevery #'evenp '(2 3)) ; t
;;;; count
(count 1 '(1 2 1)) ; 2
;;;; count-if
(count-if #'evenp '(1 2 4)) ; 2
;;;; count-if-not
(count-if-not #'evenp '(1 2 4)) ; 1
;;;; find
(find 2 '((1 . :a) (2 . :b)) :key #'car) ; (2 . :b)
;;;; find-if
(find-if #'evenp '(1 2 4)) ; 2
;;;; find-if-not
(find-if-not #'oddp '(1 3 6)) ; 6
;;;; position
(position :val '(:train :val :test)) ; 1
;;;; position-if
(position-if #'evenp '(1 3 4)) ; 2
;;;; position-if-not
(position-if-not #'oddp #(1 3 4)) ; 2
;;;; search
(search "loss" "val/loss") ; 4
;;;; mismatch
(mismatch "train" "trace") ; 3
;;;; sort
(sort (list 3 1 2) #'<) ; (1 2 3)
(sort (list "bb" "a") #'< :key #'length) ; ("a" "bb")
;;;; stable-sort
(stable-sort (list '(1 . a) '(0 . b) '(1 . c)) #'< :key #'car) ; ((0 . b) (1 . a) (1 . c))
;;;; merge
(merge 'list (list 1 4) (list 2 3) #'<) ; (1 2 3 4)
;;;; remove
(remove 1 '(1 2 1 3)) ; (2 3)
;;;; remove-if
(remove-if #'evenp '(1 2 3 4)) ; (1 3)
;;;; remove-if-not
(remove-if-not #'evenp '(1 2 3 4)) ; (2 4)
;;;; delete
(delete 1 (list 1 2 1 3)) ; (2 3)
;;;; delete-if
(delete-if #'evenp (list 1 2 3 4)) ; (1 3)
;;;; delete-if-not
(delete-if-not #'evenp (list 1 2 3 4)) ; (2 4)
;;;; substitute
(substitute 0 1 '(1 2 1)) ; (0 2 0)
;;;; substitute-if
(substitute-if 0 #'minusp '(3 -1 2)) ; (3 0 2)
;;;; substitute-if-not
(substitute-if-not 0 #'plusp '(3 -1 2)) ; (3 0 2)
;;;; nsubstitute
(nsubstitute 0 1 (list 1 2 1)) ; (0 2 0)
;;;; nsubstitute-if
(nsubstitute-if 0 #'minusp (list 3 -1 2)) ; (3 0 2)
;;;; nsubstitute-if-not
(nsubstitute-if-not 0 #'plusp (list 3 -1 2)) ; (3 0 2)
;;;; remove-duplicates
(remove-duplicates '(a b a c b)) ; (a c b)
;;;; delete-duplicates
(delete-duplicates (list 1 2 1)) ; (2 1)
