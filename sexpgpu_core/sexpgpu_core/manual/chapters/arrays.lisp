;;;; make-array
(make-array '(2 3) :initial-element 0) ; #2A((0 0 0) (0 0 0))
(make-array 2 :initial-contents '(a b)) ; #(a b)
;;;; vector
(vector 1 2 3) ; #(1 2 3)
;;;; aref
(aref #2A((1 2) (3 4)) 1 0) ; 3
;;;; svref
(svref #(a b c) 2) ; c
;;;; row-major-aref
(row-major-aref #2A((1 2) (3 4)) 2) ; 3
;;;; array-row-major-index
(array-row-major-index #2A((1 2) (3 4)) 1 1) ; 3
;;;; array-in-bounds-p
(array-in-bounds-p #(1 2) 2) ; nil
;;;; array-dimensions
(array-dimensions #2A((1 2 3) (4 5 6))) ; (2 3)
;;;; array-dimension
(array-dimension #2A((1 2 3) (4 5 6)) 1) ; 3
;;;; array-rank
(array-rank #2A((1 2) (3 4))) ; 2
;;;; array-total-size
(array-total-size (make-array '(2 3))) ; 6
;;;; array-element-type
(array-element-type "text") ; character
;;;; upgraded-array-element-type
(upgraded-array-element-type 'bit) ; bit
;;;; arrayp
(arrayp "text") ; t
;;;; vectorp
(vectorp #2A((1))) ; nil
;;;; simple-vector-p
(simple-vector-p #(1 2)) ; t
;;;; bit-vector-p
(bit-vector-p #*101) ; t
;;;; simple-bit-vector-p
(simple-bit-vector-p #*101) ; t
;;;; adjustable-array-p
(adjustable-array-p (make-array 2 :adjustable t)) ; t
;;;; array-has-fill-pointer-p
(array-has-fill-pointer-p (make-array 4 :fill-pointer 0)) ; t
;;;; fill-pointer
(fill-pointer (make-array 4 :fill-pointer 2)) ; 2
;;;; vector-push
(let ((v (make-array 2 :fill-pointer 0))) (vector-push :a v) v) ; #(:a)
;;;; vector-push-extend
(let ((v (make-array 0 :fill-pointer 0 :adjustable t))) (vector-push-extend :a v) v) ; #(:a)
;;;; vector-pop
(vector-pop (make-array 2 :fill-pointer 2 :initial-contents '(1 2))) ; 2
;;;; adjust-array
(adjust-array #(1 2) 3 :initial-element 0) ; #(1 2 0)
;;;; bit
(bit #*0110 1) ; 1
;;;; sbit
(sbit #*0110 0) ; 0
;;;; bit-and
(bit-and #*1100 #*1010) ; #*1000
;;;; bit-ior
(bit-ior #*1100 #*1010) ; #*1110
;;;; bit-xor
(bit-xor #*1100 #*1010) ; #*0110
;;;; bit-eqv
(bit-eqv #*1100 #*1010) ; #*1001
;;;; bit-nand
(bit-nand #*1100 #*1010) ; #*0111
;;;; bit-nor
(bit-nor #*1100 #*1010) ; #*0001
;;;; bit-andc1
(bit-andc1 #*1100 #*1010) ; #*0010
;;;; bit-andc2
(bit-andc2 #*1100 #*1010) ; #*0100
;;;; bit-orc1
(bit-orc1 #*1100 #*1010) ; #*1011
;;;; bit-orc2
(bit-orc2 #*1100 #*1010) ; #*1101
;;;; bit-not
(bit-not #*1100) ; #*0011
