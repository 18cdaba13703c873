;;;; *print-case*
;;; How symbols print: :downcase (at the start), :upcase, :capitalize.
(let ((*print-case* :upcase)) (prin1-to-string 'loss)) ; "LOSS"
;;;; *print-base*
;;; The base in which integers and ratios print.
(let ((*print-base* 2)) (prin1-to-string 10)) ; "1010"
;;;; *print-radix*
;;; Whether numbers print with their base.
(let ((*print-radix* t) (*print-base* 16)) (prin1-to-string 255)) ; "#xFF"
;;;; *print-escape*
;;; Whether write prints text that reads back.
(let ((*print-escape* nil)) (write-to-string "a")) ; "a"
;;;; *print-readably*
;;; Whether what cannot be read back is an error to print.
(let ((*print-readably* t)) (prin1-to-string 1/2)) ; "1/2"
;;;; *print-length*
;;; Elements of a list or vector that are shown.
(let ((*print-length* 2)) (prin1-to-string '(1 2 3))) ; "(1 2 ...)"
;;;; *print-level*
;;; Depth to which lists are shown.
(let ((*print-level* 1)) (prin1-to-string '(1 (2)))) ; "(1 #)"
;;;; *print-circle*
;;; Whether shared parts print as #1= and #1#.
(let ((*print-circle* t) (x (list 1))) (prin1-to-string (list x x))) ; "(#1=(1) #1#)"
;;;; *print-array*
;;; Whether the contents of arrays are shown.
(let ((*print-array* t)) (prin1-to-string #(1 2))) ; "#(1 2)"
;;;; *print-gensym*
;;; Whether symbols of no module print with #:.
(let ((*print-gensym* nil)) (prin1-to-string (make-symbol "X"))) ; "x"
;;;; *read-base*
;;; The base in which integers are read.
(let ((*read-base* 16)) (read-from-string "ff")) ; 255; 2
;;;; *gensym-counter*
;;; The number of the next symbol of gensym.
(let ((*gensym-counter* 7)) (symbol-name (gensym "W"))) ; "W7"
;;;; *random-state*
;;; What random draws from: the run's seed makes it.
(random-state-p *random-state*) ; t
;;;; *standard-output*
;;; Where print and its like write: bound to a stream, there.
(with-output-to-string (s) (let ((*standard-output* s)) (princ 12))) ; "12"
;;;; *features*
;;; What #+ and #- ask for.
(and (member :common-lisp *features*) t) ; t
;;;; *macroexpand-hook*
;;; What calls the expander of a macro.
*macroexpand-hook* ; funcall
;;;; pi
;;; The ratio of a circle's circumference to its diameter, a double.
(round (* 100 pi)) ; 314; 0.1592653589793258
;;;; most-positive-fixnum
;;; The largest integer that is a fixnum; larger ones are integers all the same.
most-positive-fixnum ; 4611686018427387903
;;;; most-negative-fixnum
;;; The smallest fixnum.
most-negative-fixnum ; -4611686018427387904
;;;; most-positive-double-float
;;; The largest double.
most-positive-double-float ; 1.7976931348623157e308
;;;; most-negative-double-float
;;; The smallest double.
most-negative-double-float ; -1.7976931348623157e308
;;;; least-positive-double-float
;;; The smallest double above 0.
(< 0 least-positive-double-float 1e-300) ; t
;;;; double-float-epsilon
;;; The smallest double that makes a difference when added to 1.
(> (+ 1.0 double-float-epsilon) 1.0) ; t
;;;; array-rank-limit
;;; What the number of axes of an array is below.
(> array-rank-limit 7) ; t
;;;; array-total-size-limit
;;; What the number of elements of an array is below.
(> array-total-size-limit 1000000) ; t
;;;; char-code-limit
;;; What the code of a character is below.
char-code-limit ; 1114112
;;;; lambda-list-keywords
;;; The words that begin with & in lambda lists.
(and (member '&optional lambda-list-keywords) t) ; t
