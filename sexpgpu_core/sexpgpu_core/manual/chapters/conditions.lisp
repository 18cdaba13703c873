;;;; error
(handler-case (error "width ~d" 3) (error (c) (format nil "~a" c))) ; "width 3"
;;;; cerror
(handler-bind ((error #'continue)) (cerror "Go on." "no data") :went-on) ; :went-on
;;;; signal
(handler-case (signal 'simple-condition) (condition () :seen)) ; :seen
(signal 'simple-condition) ; nil
;;;; warn
(handler-case (warn "slow") (warning (c) (format nil "~a" c))) ; "slow"
;;;; make-condition
(type-of (make-condition 'simple-error :format-control "no")) ; simple-error
;;;; muffle-warning
(handler-bind ((warning #'muffle-warning)) (warn "slow") :went-on) ; :went-on
;;;; continue
(with-simple-restart (continue "Skip.") (continue) :not-here) ; nil; t
;;;; invoke-restart
(with-simple-restart (continue "Skip.") (invoke-restart 'continue)) ; nil; t
;;;; find-restart
(with-simple-restart (continue "Skip.") (null (find-restart (quote continue)))) ; nil
;;;; compute-restarts
(with-simple-restart (continue "Skip.")
  (restart-name (first (compute-restarts)))) ; continue
;;;; restart-name
(with-simple-restart (continue "Skip.") (restart-name (find-restart 'continue))) ; continue
;;;; simple-condition-format-control
(handler-case (error "no ~a" 1) (error (c) (simple-condition-format-control c))) ; "no ~a"
;;;; simple-condition-format-arguments
(handler-case (error "no ~a" 1) (error (c) (simple-condition-format-arguments c))) ; (1)
;;;; type-error-datum
(handler-case (car 5) (type-error (c) (type-error-datum c))) ; 5
;;;; type-error-expected-type
(handler-case (car 5) (type-error (c) (type-error-expected-type c))) ; list
;;;; cell-error-name
(handler-case (symbol-value '*none*) (unbound-variable (c) (cell-error-name c))) ; *none*
;;;; arithmetic-error-operation
(handler-case (/ 1 0) (division-by-zero (c) (arithmetic-error-operation c))) ; /
;;;; arithmetic-error-operands
(handler-case (/ 1 0) (division-by-zero (c) (arithmetic-error-operands c))) ; (1 0)
;;;; stream-error-stream
(streamp (handler-case (with-input-from-string (s "") (read-char s))
           (end-of-file (c) (stream-error-stream c)))) ; t
;;;; print-not-readable-object
(print-not-readable-object (make-condition 'print-not-readable :object 1)) ; 1
;;;; package-error-package
(package-error-package (make-condition 'package-error :package :m)) ; :m
;;;; file-error-pathname
(file-error-pathname (make-condition 'file-error :pathname "a")) ; "a"
;;;; unbound-slot-instance
(unbound-slot-instance (make-condition 'unbound-slot :name 'x :instance 1)) ; 1
