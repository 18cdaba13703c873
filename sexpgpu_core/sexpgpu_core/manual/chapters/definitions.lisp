;;;; defun (name (parameter...) [doc] [declaration...] form...)
;;; Defines a function; its name. A name of the standard is E-REDEFINE.
(progn (defun area (h w) "Cells." (* h w)) (area 2 3)) ; 6
;;;; defmacro (name (parameter...) [doc] form...)
;;; Defines a macro: the forms get the call's operands unevaluated and give the form to evaluate.
(progn (defmacro twice (form) `(progn ,form ,form)) (let ((n 0)) (twice (incf n)) n)) ; 2
;;;; defvar (name [value [doc]])
;;; A special variable; the value only if it has none yet.
(progn (defvar *depth* 4) (defvar *depth* 8) *depth*) ; 4
;;;; defparameter (name value [doc])
;;; A special variable, given the value each time.
(progn (defparameter *width* 64) (let ((*width* 8)) (symbol-value '*width*))) ; 8
;;;; defconstant (name value [doc])
;;; A constant; binding or assigning it is E-REDEFINE.
(progn (defconstant +classes+ 10) (* 2 +classes+)) ; 20
;;;; define-symbol-macro (name expansion)
;;; A global name that stands for a form.
(progn (defvar *pair* (list 1 2)) (define-symbol-macro left (car *pair*)) left) ; 1
;;;; deftype (name (parameter...) [doc] form...)
;;; A name for a type specifier.
(progn (deftype width () '(integer 1 4096)) (typep 0 'width)) ; nil
;;;; defstruct (name-and-options [doc] slot...)
;;; A record type with make-NAME, NAME-p, copy-NAME and an accessor NAME-SLOT for each slot.
(progn (defstruct point x (y 0)) (let ((p (make-point :x 3))) (incf (point-x p)) p)) ; #S(point :x 4 :y 0)
;;;; define-condition (name (parent...) (slot...) option...)
;;; A condition type; slots take :initarg, :initform, :reader; :report says how it prints.
(progn
  (define-condition bad-width (error) ((width :initarg :width :reader width-of))
    (:report (lambda (c s) (format s "bad width ~a" (width-of c)))))
  (handler-case (error 'bad-width :width 7) (bad-width (c) (format nil "~a" c)))) ; "bad width 7"
;;;; define-modify-macro (name (parameter...) function [doc])
;;; A macro that changes a place by a function, as incf does by +.
(progn (define-modify-macro scalef (by) *) (let ((x 3)) (scalef x 2) x)) ; 6
;;;; defsetf (accessor updater | accessor (parameter...) (store...) form...)
;;; Makes (accessor ...) a place of setf.
(progn
  (defun middle (v) (aref v 1))
  (defsetf middle (v) (new) `(setf (aref ,v 1) ,new))
  (let ((v (vector 1 2 3))) (setf (middle v) 9) v)) ; #(1 9 3)
;;;; define-setf-expander (name (parameter...) form...)
;;; As defsetf, by the five values of get-setf-expansion.
(progn
  (define-setf-expander top (v)
    (let ((new (gensym)))
      (values '() '() (list new) `(setf (aref ,v 0) ,new) `(aref ,v 0))))
  (let ((v (vector 1 2))) (setf (top v) 9) v)) ; #(9 2)
;;;; declaim (declaration...)
;;; A global declaration; special and constant-like ones mean something, others are accepted.
(progn (declaim (special *mode*)) (setq *mode* :train) (let ((*mode* :eval)) (symbol-value '*mode*))) ; :eval
