;;;; make-instance
(progn
  (defclass point () ((x :initarg :x :reader point-x)))
  (point-x (make-instance 'point :x 3))) ; 3
;;;; slot-value
(progn
  (defclass point () ((x :initarg :x)))
  (let ((p (make-instance 'point :x 3))) (incf (slot-value p 'x)) (slot-value p 'x))) ; 4
;;;; slot-boundp
(progn (defclass point () (x)) (slot-boundp (make-instance 'point) 'x)) ; nil
;;;; slot-exists-p
(progn (defclass point () (x)) (slot-exists-p (make-instance 'point) 'y)) ; nil
;;;; slot-makunbound
(progn
  (defclass point () ((x :initform 1)))
  (slot-boundp (slot-makunbound (make-instance 'point) 'x) 'x)) ; nil
;;;; slot-missing
(progn
  (defclass point () (x))
  (defmethod slot-missing (class (p point) name operation &optional new)
    (declare (ignore class operation new))
    (list :no name))
  (slot-value (make-instance 'point) 'z)) ; (:no z)
;;;; slot-unbound
(progn
  (defclass point () (x))
  (defmethod slot-unbound (class (p point) name) (declare (ignore class)) (list :unset name))
  (slot-value (make-instance 'point) 'x)) ; (:unset x)
;;;; class-of
(class-name (class-of 3)) ; fixnum
;;;; class-name
(class-name (find-class 'integer)) ; integer
;;;; find-class
(find-class 'no-such-class nil) ; nil
;;;; initialize-instance
(progn
  (defclass area () ((h :initarg :h) (w :initarg :w) cells))
  (defmethod initialize-instance :after ((a area) &key)
    (with-slots (h w cells) a (setf cells (* h w))))
  (slot-value (make-instance 'area :h 2 :w 3) 'cells)) ; 6
;;;; reinitialize-instance
(progn
  (defclass point () ((x :initarg :x)))
  (slot-value (reinitialize-instance (make-instance 'point :x 1) :x 2) 'x)) ; 2
;;;; shared-initialize
(progn
  (defclass point () ((x :initform 5)))
  (slot-value (shared-initialize (allocate-instance (find-class 'point)) t) 'x)) ; 5
;;;; allocate-instance
(progn
  (defclass point () ((x :initform 5)))
  (slot-boundp (allocate-instance (find-class 'point)) 'x)) ; nil
;;;; change-class
(progn
  (defclass point () ((x :initarg :x)))
  (defclass pixel (point) ((color :initform :red)))
  (let ((p (make-instance 'point :x 1)))
    (change-class p 'pixel)
    (list (slot-value p 'x) (slot-value p 'color)))) ; (1 :red)
;;;; update-instance-for-different-class
(progn
  (defclass point () ((x :initarg :x)))
  (defclass pixel (point) (twice))
  (defmethod update-instance-for-different-class :after ((old point) (new pixel) &key)
    (setf (slot-value new 'twice) (* 2 (slot-value old 'x))))
  (slot-value (change-class (make-instance 'point :x 4) 'pixel) 'twice)) ; 8
;;;; update-instance-for-redefined-class
(progn
  (defclass point () ((x :initarg :x)))
  (defmethod update-instance-for-redefined-class :after ((p point) added gone plist &key)
    (declare (ignore gone plist))
    (setf (slot-value p 'x) added))
  (let ((p (make-instance 'point :x 4)))
    (defclass point () ((x :initarg :x) (y :initform 7)))
    (slot-value p 'x))) ; (y)
;;;; make-instances-obsolete
(progn (defclass point () (x)) (class-name (make-instances-obsolete (find-class 'point)))) ; point
;;;; call-next-method
(progn
  (defmethod told ((x number)) (list :number x))
  (defmethod told ((x integer)) (cons :integer (call-next-method)))
  (told 1)) ; (:integer :number 1)
;;;; next-method-p
(progn (defmethod told ((x number)) (next-method-p)) (told 1)) ; nil
;;;; no-applicable-method
(progn
  (defmethod half ((n number)) (/ n 2))
  (half "a")) ; E-CALL-METHOD
(progn
  (defmethod half ((n number)) (/ n 2))
  (defmethod no-applicable-method ((f (eql #'half)) &rest given) (cons :none given))
  (half "a")) ; (:none "a")
;;;; no-next-method
(progn
  (defmethod half ((n number)) (call-next-method))
  (half 4)) ; E-CALL-METHOD
(progn
  (defmethod half ((n number)) (call-next-method))
  (defmethod no-next-method ((f (eql #'half)) method &rest given)
    (declare (ignore method))
    (cons :last given))
  (half 4)) ; (:last 4)
;;;; compute-applicable-methods
(progn
  (defmethod told ((x number)) 1)
  (defmethod told ((x integer)) 2)
  (length (compute-applicable-methods #'told '(1)))) ; 2
;;;; find-method
(progn (defmethod told ((x number)) 1) (find-method #'told '(:after) '(number) nil)) ; nil
;;;; add-method
(progn
  (defmethod told ((x number)) 1)
  (let ((method (find-method #'told '() (list (find-class 'number)))))
    (remove-method #'told method)
    (add-method #'told method)
    (told 5))) ; 1
;;;; remove-method
(progn
  (defmethod told ((x number)) 1)
  (defmethod told ((x integer)) 2)
  (remove-method #'told (find-method #'told '() (list (find-class 'integer))))
  (told 5)) ; 1
;;;; method-qualifiers
(progn
  (defmethod told :after ((x number)) x)
  (method-qualifiers (find-method #'told '(:after) (list (find-class 'number))))) ; (:after)
;;;; function-keywords
(progn
  (defmethod told ((x number) &key scale) (list x scale))
  (function-keywords (find-method #'told '() (list (find-class 'number))))) ; (:scale); nil
;;;; ensure-generic-function
(functionp (ensure-generic-function 'told :lambda-list '(x))) ; t
;;;; invalid-method-error
(progn
  (defmethod told ((x number)) 1)
  (handler-case
      (invalid-method-error (first (compute-applicable-methods #'told '(1))) "no ~a" :qualifier)
    (error () :refused))) ; :refused
;;;; method-combination-error
(handler-case (method-combination-error "no ~a" :primary) (error () :refused)) ; :refused
;;;; print-object
(progn
  (defclass point () ((x :initarg :x)))
  (defmethod print-object ((p point) stream) (format stream "<~a>" (slot-value p 'x)))
  (prin1-to-string (make-instance 'point :x 3))) ; "<3>"
;;;; make-load-form
(progn
  (defclass point () ((x :initarg :x)))
  (defmethod make-load-form ((p point) &optional environment)
    (declare (ignore environment))
    `(make-instance 'point :x ,(slot-value p 'x)))
  (third (make-load-form (make-instance 'point :x 3)))) ; :x
