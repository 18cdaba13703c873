;;;; symbolp
(symbolp nil) ; t
;;;; keywordp
(keywordp :loss) ; t
;;;; symbol-name
(symbol-name 'loss) ; "LOSS"
;;;; symbol-package
(symbol-package (make-symbol "X")) ; nil
;;;; symbol-value
(progn (defvar *peak* 3) (symbol-value '*peak*)) ; 3
;;;; symbol-function
(funcall (symbol-function '+) 1 2) ; 3
;;;; symbol-plist
(let ((s (make-symbol "S"))) (setf (get s :color) :red) (symbol-plist s)) ; (:color :red)
;;;; get
(let ((s (make-symbol "S"))) (setf (get s :color) :red) (get s :color)) ; :red
;;;; remprop
(let ((s (make-symbol "S"))) (setf (get s :color) :red) (and (remprop s :color) t)) ; t
;;;; make-symbol
(symbol-name (make-symbol "width")) ; "width"
;;;; copy-symbol
(symbol-name (copy-symbol 'width)) ; "WIDTH"
;;;; gensym
(let ((a (gensym)) (b (gensym))) (eq a b)) ; nil
;;;; gentemp
(symbolp (gentemp "UNIT")) ; t
;;;; intern
(nth-value 0 (intern "WIDTH" :keyword)) ; :width
;;;; find-symbol
(find-symbol "NO-SUCH-NAME") ; nil; nil
;;;; boundp
(boundp '*no-such-name*) ; nil
;;;; set
(progn (defvar *depth* 1) (set '*depth* 2) *depth*) ; 2
;;;; makunbound
(progn (defvar *gone* 1) (makunbound '*gone*) (boundp '*gone*)) ; nil
;;;; proclaim
(progn (proclaim '(special *here*)) (let ((*here* 1)) (symbol-value '*here*))) ; 1
;;;; find-package
(find-package "NO-SUCH-PACKAGE") ; nil
;;;; package-name
(package-name (find-package :keyword)) ; "KEYWORD"
;;;; logical-pathname
(logical-pathname "data.txt") ; E-TYPE
