;;;; make-hash-table
(hash-table-count (make-hash-table :test #'equal)) ; 0
;;;; gethash
(let ((table (make-hash-table)))
  (setf (gethash :lr table) 1e-3)
  (gethash :lr table)) ; 0.001; t
(gethash :lr (make-hash-table) :none) ; :none; nil
;;;; remhash
(let ((table (make-hash-table))) (setf (gethash 1 table) 2) (remhash 1 table)) ; t
;;;; clrhash
(hash-table-count (clrhash (make-hash-table))) ; 0
;;;; maphash
(let ((table (make-hash-table)) (sum 0))
  (setf (gethash :a table) 1 (gethash :b table) 2)
  (maphash (lambda (key value) (declare (ignore key)) (incf sum value)) table)
  sum) ; 3
;;;; hash-table-p
(hash-table-p (make-hash-table)) ; t
;;;; hash-table-count
(let ((table (make-hash-table))) (setf (gethash 1 table) 2) (hash-table-count table)) ; 1
;;;; hash-table-size
(hash-table-size (make-hash-table :size 16)) ; 16
;;;; hash-table-test
(hash-table-test (make-hash-table :test 'equal)) ; equal
;;;; hash-table-rehash-size
(hash-table-rehash-size (make-hash-table)) ; 2.0
;;;; hash-table-rehash-threshold
(hash-table-rehash-threshold (make-hash-table)) ; 1.0
;;;; sxhash
(= (sxhash "abc") (sxhash (copy-seq "abc"))) ; t
