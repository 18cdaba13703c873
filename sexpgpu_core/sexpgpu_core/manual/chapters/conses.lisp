;;;; cons
(cons 1 '(2 3)) ; (1 2 3)
;;;; car
(car '(1 2 3)) ; 1
;;;; cdr
(cdr '(1 2 3)) ; (2 3)
;;;; first
(first '(a b c)) ; a
;;;; second
(second '(a b c)) ; b
;;;; third
(third '(a b c)) ; c
;;;; fourth
(fourth '(a b c d)) ; d
;;;; fifth
(fifth '(1 2 3 4 5)) ; 5
;;;; sixth
(sixth '(1 2 3 4 5 6)) ; 6
;;;; seventh
(seventh '(1 2 3 4 5 6 7)) ; 7
;;;; eighth
(eighth '(1 2 3 4 5 6 7 8)) ; 8
;;;; ninth
(ninth '(1 2 3 4 5 6 7 8 9)) ; 9
;;;; tenth
(tenth '(1 2 3 4 5 6 7 8 9 10)) ; 10
;;;; rest
(rest '(a b c)) ; (b c)
;;;; nth
(nth 1 '(a b c)) ; b
;;;; nthcdr
(nthcdr 2 '(a b c)) ; (c)
;;;; last
(last '(a b c)) ; (c)
(last '(a b c) 2) ; (b c)
;;;; butlast
(butlast '(a b c)) ; (a b)
;;;; nbutlast
(nbutlast (list 1 2 3 4) 2) ; (1 2)
;;;; list
(list 1 "two" :three) ; (1 "two" :three)
;;;; list*
(list* 1 2 '(3 4)) ; (1 2 3 4)
;;;; make-list
(make-list 3 :initial-element 0) ; (0 0 0)
;;;; copy-list
(let ((a (list 1 2))) (eq a (copy-list a))) ; nil
;;;; copy-alist
(let* ((a (list (cons :k 1))) (b (copy-alist a))) (setf (cdar b) 2) a) ; ((:k . 1))
;;;; copy-tree
(let* ((a (list (list 1))) (b (copy-tree a))) (setf (caar b) 2) a) ; ((1))
;;;; append
(append '(1 2) '(3) '(4 5)) ; (1 2 3 4 5)
;;;; nconc
(nconc (list 1 2) (list 3)) ; (1 2 3)
;;;; revappend
(revappend '(1 2) '(3 4)) ; (2 1 3 4)
;;;; nreconc
(nreconc (list 1 2) (list 3 4)) ; (2 1 3 4)
;;;; list-length
(list-length '(a b c)) ; 3
;;;; ldiff
(let ((a '(1 2 3 4))) (ldiff a (cddr a))) ; (1 2)
;;;; tailp
(let ((a '(1 2 3))) (tailp (cdr a) a)) ; t
;;;; consp
(consp '(1)) ; t
;;;; atom
(atom 'a) ; t
(atom '(a)) ; nil
;;;; listp
(listp nil) ; t
;;;; null
(null '()) ; t
;;;; endp
(endp nil) ; t
;;;; rplaca
(rplaca (list 1 2) 9) ; (9 2)
;;;; rplacd
(rplacd (list 1 2) '(8 9)) ; (1 8 9)
;;;; caar
(caar '((1 2) 3)) ; 1
;;;; cadr
(cadr '(1 2 3)) ; 2
;;;; cdar
(cdar '((1 2) 3)) ; (2)
;;;; cddr
(cddr '(1 2 3)) ; (3)
;;;; mapcar
(mapcar #'+ '(1 2 3) '(10 20 30)) ; (11 22 33)
;;;; mapc
(let ((sum 0)) (mapc (lambda (x) (incf sum x)) '(1 2 3)) sum) ; 6
;;;; maplist
(maplist #'length '(a b c)) ; (3 2 1)
;;;; mapl
(let ((n 0)) (mapl (lambda (tail) (incf n (length tail))) '(a b c)) n) ; 6
;;;; mapcan
(mapcan (lambda (x) (if (evenp x) (list x))) '(1 2 3 4)) ; (2 4)
;;;; mapcon
(mapcon (lambda (tail) (list (length tail))) '(a b c)) ; (3 2 1)
;;;; member
(member 2 '(1 2 3)) ; (2 3)
(member "b" '("a" "b") :test #'string=) ; ("b")
;;;; member-if
(member-if #'evenp '(1 2 3)) ; (2 3)
;;;; member-if-not
(member-if-not #'oddp '(1 2 3)) ; (2 3)
;;;; assoc
(assoc :b '((:a . 1) (:b . 2))) ; (:b . 2)
;;;; assoc-if
(assoc-if #'evenp '((1 . :a) (2 . :b))) ; (2 . :b)
;;;; assoc-if-not
(assoc-if-not #'evenp '((2 . :b) (1 . :a))) ; (1 . :a)
;;;; rassoc
(rassoc 2 '((:a . 1) (:b . 2))) ; (:b . 2)
;;;; rassoc-if
(rassoc-if #'evenp '((:a . 1) (:b . 2))) ; (:b . 2)
;;;; rassoc-if-not
(rassoc-if-not #'oddp '((:a . 1) (:b . 2))) ; (:b . 2)
;;;; acons
(acons :a 1 '((:b . 2))) ; ((:a . 1) (:b . 2))
;;;; pairlis
(pairlis '(a b) '(1 2)) ; ((a . 1) (b . 2))
;;;; getf
(getf '(:width 64 :depth 2) :depth) ; 2
(getf '(:width 64) :depth 4) ; 4
;;;; get-properties
(get-properties '(:a 1 :b 2 :c 3) '(:c :b)) ; :b; 2; (:b 2 :c 3)
;;;; subst
(subst 'x 'a '(a (b a))) ; (x (b x))
;;;; subst-if
(subst-if 0 #'numberp '(a (1 b) 2)) ; (a (0 b) 0)
;;;; subst-if-not
(subst-if-not 'x (lambda (n) (or (listp n) (oddp n))) '(1 (2 3))) ; (1 (x 3))
;;;; sublis
(sublis '((a . 1) (b . 2)) '(a (b c))) ; (1 (2 c))
;;;; nsubst
(nsubst 'x 'a (list 'a (list 'b 'a))) ; (x (b x))
;;;; nsubst-if
(nsubst-if 0 #'numberp (list 'a 1 'b)) ; (a 0 b)
;;;; nsubst-if-not
(nsubst-if-not 0 #'listp (list 'a 'b)) ; (0 0)
;;;; nsublis
(nsublis '((a . 1)) (list 'a 'b)) ; (1 b)
;;;; tree-equal
(tree-equal '(1 (2)) '(1 (2))) ; t
;;;; adjoin
(adjoin 3 '(1 2)) ; (3 1 2)
(adjoin 2 '(1 2)) ; (1 2)
;;;; union
(sort (union '(1 2) '(2 3)) #'<) ; (1 2 3)
;;;; nunion
(sort (nunion (list 1 2) (list 2 3)) #'<) ; (1 2 3)
;;;; intersection
(intersection '(1 2) '(2 3)) ; (2)
;;;; nintersection
(nintersection (list 1 2) (list 2 3)) ; (2)
;;;; set-difference
(set-difference '(1 2) '(2 3)) ; (1)
;;;; nset-difference
(nset-difference (list 1 2) (list 2 3)) ; (1)
;;;; set-exclusive-or
(sort (set-exclusive-or '(1 2) '(2 3)) #'<) ; (1 3)
;;;; nset-exclusive-or
(sort (nset-exclusive-or (list 1 2) (list 2 3)) #'<) ; (1 3)
;;;; subsetp
(subsetp '(1 2) '(3 2 1)) ; t
