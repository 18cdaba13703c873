;;;; defclass (name (superclass...) ((slot option...)...) option...)
;;; A class; slots take :initarg, :initform, :reader, :writer, :accessor, :type, :allocation.
(progn
  (defclass point () ((x :initarg :x :initform 0 :accessor point-x)))
  (let ((p (make-instance 'point :x 3))) (incf (point-x p)) (point-x p))) ; 4
;;;; defgeneric (name (parameter...) option...)
;;; A function whose methods are chosen by the classes of its arguments.
(progn
  (defgeneric size-of (thing)
    (:method ((n integer)) n)
    (:method ((s string)) (length s)))
  (list (size-of 7) (size-of "abc"))) ; (7 3)
;;;; defmethod (name qualifier... ((parameter class)...) [doc] form...)
;;; A method: for arguments of the classes, or (eql value); :before, :after, :around as qualifiers.
(progn
  (defmethod kind-of ((x number)) :number)
  (defmethod kind-of ((x (eql 0))) (list :zero (call-next-method)))
  (list (kind-of 1) (kind-of 0))) ; (:number (:zero :number))
;;;; define-method-combination (name option...)
;;; How the methods of a generic function are put together: by an operator, or by a form.
(progn
  (define-method-combination all-of :operator list)
  (defgeneric parts (x) (:method-combination all-of))
  (defmethod parts all-of ((x integer)) :integer)
  (defmethod parts all-of ((x number)) :number)
  (parts 1)) ; (:integer :number)
;;;; with-slots ((slot | (name slot)...) object form...)
;;; Names that stand for the slots of an object, also in setf.
(progn
  (defclass point () ((x :initarg :x) (y :initarg :y)))
  (with-slots (x y) (make-instance 'point :x 1 :y 2) (setf x 9) (list x y))) ; (9 2)
;;;; with-accessors (((name accessor)...) object form...)
;;; Names that stand for calls of accessors, also in setf.
(progn
  (defclass point () ((x :initarg :x :accessor point-x)))
  (with-accessors ((x point-x)) (make-instance 'point :x 1) (incf x) x)) ; 2
;;;; call-method (method [(next-method...)])
;;; In an effective method: runs a method, for which the others are the next ones.
(progn
  (define-method-combination first-only () ((all ())) `(call-method ,(first all) ,(rest all)))
  (defgeneric g (x) (:method-combination first-only) (:method ((x integer)) (1+ x)))
  (g 1)) ; 2
;;;; make-method (form)
;;; In an effective method: a form where call-method takes a method.
(progn
  (define-method-combination fixed () ((all ())) (progn all '(call-method (make-method 42) ())))
  (defgeneric g (x) (:method-combination fixed) (:method ((x integer)) x))
  (g 1)) ; 42
;;;; define-compiler-macro (name (parameter...) form...)
;;; Kept and never used: everything is compiled when it is read.
(progn (define-compiler-macro area (h w) `(* ,h ,w)) (functionp (compiler-macro-function 'area))) ; t
