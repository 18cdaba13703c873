;;;; definitions always break behind their header
(defun f (x) x) (defun g (x &key (b 1)) "Says." (print x) b)
(defmodel block (x &key (hidden (* 4 (dim x -1))) (out (dim x -1)) (activation #'gelu) (bias t) (dropout 0) linear) x)
(lambda (x) x)
;;;; =>
(defun f (x)
  x)

(defun g (x &key (b 1))
  "Says."
  (print x)
  b)

(defmodel block (x &key (hidden (* 4 (dim x -1))) (out (dim x -1)) (activation #'gelu) (bias t)
                 (dropout 0) linear)
  x)

(lambda (x) x)

;;;; bodies of several forms break, of one may not
(when a b) (when a b c) (dotimes (i 3) (print i)) (dotimes (i 3) (print i) (print i))
(let ((a 1)) a) (let* ((a (first-thing-of-all x)) (b (second-thing-of-all x)) (c (third-thing-of-all x))) a)
(multiple-value-bind (m v) (if (eq (ctx :mode) :train) (let ((m (per-block (mean x :axis axes)))) (values m v)) (values mean variance)) (- x m))
;;;; =>
(when a b)

(when a
  b
  c)

(dotimes (i 3) (print i))

(dotimes (i 3)
  (print i)
  (print i))

(let ((a 1))
  a)

(let* ((a (first-thing-of-all x)) (b (second-thing-of-all x)) (c (third-thing-of-all x)))
  a)

(multiple-value-bind (m v)
    (if (eq (ctx :mode) :train)
        (let ((m (per-block (mean x :axis axes))))
          (values m v))
        (values mean variance))
  (- x m))

;;;; calls stand under their first argument
(one-function (an-argument-that-is long) (another-argument that is) (and-a-third one) (fourth one too))
(funcall linear (reshape y (list b n (* heads e))) d :bias bias :name "out" :more (and more and more))
(list 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37)
(a-function-whose-name-is-so-long-that-nothing-stands-beside-it-any-more-at-all-since-it-fills (f-of-what x) y)
;;;; =>
(one-function (an-argument-that-is long)
              (another-argument that is)
              (and-a-third one)
              (fourth one too))

(funcall linear (reshape y (list b n (* heads e))) d
         :bias bias
         :name "out"
         :more (and more and more))

(list 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34
      35 36 37)

(a-function-whose-name-is-so-long-that-nothing-stands-beside-it-any-more-at-all-since-it-fills
  (f-of-what x)
  y)

;;;; if and cond
(if (zerop (mod width heads)) (/ width heads) (error "~a heads do not divide a width of ~a" heads width))
(cond (a b)) (cond ((null x) 1) (t 2))
(case x (1 'a) ((2 3) (print "a line of some length that ends far on the right") (print "another such") 'b) (t 'c))
;;;; =>
(if (zerop (mod width heads))
    (/ width heads)
    (error "~a heads do not divide a width of ~a" heads width))

(cond (a b))

(cond ((null x) 1)
      (t 2))

(case x
  (1 'a)
  ((2 3) (print "a line of some length that ends far on the right") (print "another such") 'b)
  (t 'c))

;;;; assignments are pairs
(setf a 1) (setf first-place (compute-something-long x y z) second-place (compute-something-else x y z w))
;;;; =>
(setf a 1)
(setf first-place (compute-something-long x y z) second-place (compute-something-else x y z w))

;;;; loops have a clause a line
(loop for i below 10 collect i)
(loop for i from 0 to 10 for j = (some-function-of i) while (and i j) when (oddp i) collect (list i j) into xs else do (print j) (print 2) finally (return xs))
(loop (print "a line of some length that ends far on the right") (print "another such line of its own"))
;;;; =>
(loop for i below 10 collect i)

(loop for i from 0 to 10
      for j = (some-function-of i)
      while (and i j)
      when (oddp i) collect (list i j) into xs
      else do (print j)
              (print 2)
      finally (return xs))

(loop
  (print "a line of some length that ends far on the right")
  (print "another such line of its own"))

;;;; local functions and handlers
(flet ((h (x) (print x) x) (k (z) z)) (h 1))
(handler-case (risky) (error (e) (print e) nil) (:no-error (x) x))
(unwind-protect (work) (clean))
;;;; =>
(flet ((h (x)
         (print x)
         x)
       (k (z) z))
  (h 1))

(handler-case (risky)
  (error (e)
    (print e)
    nil)
  (:no-error (x) x))

(unwind-protect (work) (clean))

;;;; tags stand one column to the left
(tagbody again (print 1) (go again) end (print 2))
;;;; =>
(tagbody
 again
  (print 1)
  (go again)
 end
  (print 2))

;;;; data is filled, lists alone are rows
'(alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau)
'((alpha beta gamma delta epsilon zeta eta) (theta iota kappa lambda mu nu) (xi omicron pi rho sigma))
#(1 2 3)   ' a   #' car   `( a ,@ b , c )   #+sexpgpu   a   #-(or x   y) b   #2A((1 2)   (3 4))
;;;; =>
'(alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau)

'((alpha beta gamma delta epsilon zeta eta)
  (theta iota kappa lambda mu nu)
  (xi omicron pi rho sigma))

#(1 2 3)
'a
#'car
`(a ,@b ,c)
#+sexpgpu a
#-(or x y) b
#2A((1 2) (3 4))

;;;; comments stay with what they belong to
; head


(defun f (x) ; trailing
     ;; about x


  (list x ; the first
        1 #| inline |# 2
  ;; the last
  )) ; behind
;;; far
#| block
   of two |#
(g) (h) ; two
;;;; =>
; head

(defun f (x)  ; trailing
  ;; about x

  (list x  ; the first
        1 #| inline |# 2
        ;; the last
        ))  ; behind

;;; far
#| block
   of two |#
(g)
(h)  ; two

;;;; one empty line is kept
(progn


  (a-form-of-some-length which has arguments)


  (another-form-of-some-length which has arguments and (more of them too)))
;;;; =>
(progn

  (a-form-of-some-length which has arguments)

  (another-form-of-some-length which has arguments and (more of them too)))

;;;; strings of several lines are as they were
(defun f () "one
   two  
three" (format t "~
   a"))
;;;; =>
(defun f ()
  "one
   two  
three"
  (format t "~
   a"))

;;;; the forms of a run file
(require "sexpgpu/nn") (require "x" :as y)
(defknob text nil "A text file; nil is a part of Python's own standard library." :type (or null string))
(defknob batch-size 12 "Sequences." :type (integer 1))
(defknob lr 1e-3 "Rate." :type float)
(defvariant gpt2 "GPT-2 small." :depth 12 :width 768 :heads 12 :context 1024 :batch-size 32 :lr 6e-4)
(defloader chars (source (text-files "a")) (stage :train :split (0 0.9) :order :random) (stage :val :split (0.9 1)) (batch 64))
(defmodel layer (x) (defparam w ((dim x -1) 10) :init (he)) (matmul x w))
(defun optimizer () (groups :clip-norm 1.0 (group (select :rank (<= 1)) (optim:adamw :lr rate)) (group :rest (optim:sgd))))
(defrun :steps 10 :seed 1337 :checkpoint (:every 500 :keep 2 :best ("val/loss" :min)) :log-every 100)
;;;; =>
(require "sexpgpu/nn")
(require "x" :as y)
(defknob text       nil  "A text file; nil is a part of Python's own standard library."
  :type (or null string))
(defknob batch-size 12   "Sequences." :type (integer 1))
(defknob lr         1e-3 "Rate."      :type float)
(defvariant gpt2 "GPT-2 small."
  :depth 12 :width 768 :heads 12 :context 1024 :batch-size 32 :lr 6e-4)

(defloader chars
  (source (text-files "a"))
  (stage :train :split (0 0.9) :order :random)
  (stage :val   :split (0.9 1))
  (batch 64))

(defmodel layer (x)
  (defparam w ((dim x -1) 10) :init (he))
  (matmul x w))

(defun optimizer ()
  (groups :clip-norm 1.0
    (group (select :rank (<= 1)) (optim:adamw :lr rate))
    (group :rest                 (optim:sgd))))

(defrun :steps 10 :seed 1337 :checkpoint (:every 500 :keep 2 :best ("val/loss" :min))
  :log-every 100)

;;;; a macro's own body
(defmacro my-loop (a b &body forms) `(progn ,a ,@forms)) (my-loop 1 2 (print 3) (print 4))
(with-thing (x) (print 1) (print 2)) (define-thing x (print 1) (print 2)) (do-things (x) (print x) x)
(lib:with-thing x (print 1) (print 2))
;;;; =>
(defmacro my-loop (a b &body forms)
  `(progn ,a ,@forms))

(my-loop 1 2
  (print 3)
  (print 4))

(with-thing (x)
  (print 1)
  (print 2))

(define-thing x
  (print 1)
  (print 2))

(do-things (x)
  (print x)
  x)

(lib:with-thing x
  (print 1)
  (print 2))


;;;; classes and methods: qualifiers stand with the name
(defclass dense (layer other) ((width :initarg :width :reader width :initform 3 :documentation "How many units it has.") (depth :initarg :depth)) (:default-initargs :width 4))
(defgeneric size (layer thing) (:documentation "How big.") (:method ((l layer) thing) (list (width l) thing)))
(defmethod size :around ((l dense) (other (eql 'something)) &key test) (print l) (call-next-method))
(defmethod (setf size) (new (l dense)) (print l) (setf (slot-value l 'size) new))
(with-slots (a b) object (print a) (list a b))
;;;; =>
(defclass dense (layer other)
  ((width :initarg :width :reader width :initform 3 :documentation "How many units it has.")
   (depth :initarg :depth))
  (:default-initargs :width 4))

(defgeneric size (layer thing)
  (:documentation "How big.")
  (:method ((l layer) thing) (list (width l) thing)))

(defmethod size :around ((l dense) (other (eql 'something)) &key test)
  (print l)
  (call-next-method))

(defmethod (setf size) (new (l dense))
  (print l)
  (setf (slot-value l 'size) new))

(with-slots (a b) object
  (print a)
  (list a b))
