;;;; format
(format nil "~a has ~d layer~:p" 'net 2) ; "net has 2 layers"
(format nil "~,3f ~5,'0d ~s" 0.1234 42 "s") ; "0.123 00042 \"s\""
(format nil "~{~a~^, ~}" '(1 2 3)) ; "1, 2, 3"
;;;; princ-to-string
(princ-to-string "a") ; "a"
;;;; prin1-to-string
(prin1-to-string "a") ; "\"a\""
;;;; write-to-string
(write-to-string 255 :base 16) ; "FF"
;;;; princ
(with-output-to-string (s) (princ "a" s)) ; "a"
;;;; prin1
(with-output-to-string (s) (prin1 "a" s)) ; "\"a\""
;;;; print
(length (with-output-to-string (s) (print 1 s))) ; 3
;;;; pprint
(string-trim '(#\Newline) (with-output-to-string (s) (pprint '(1 2) s))) ; "(1 2)"
;;;; write
(with-output-to-string (s) (write 10 :base 2 :stream s)) ; "1010"
;;;; write-string
(with-output-to-string (s) (write-string "abc" s :start 1)) ; "bc"
;;;; write-line
(length (with-output-to-string (s) (write-line "abc" s))) ; 4
;;;; write-char
(with-output-to-string (s) (write-char #\a s)) ; "a"
;;;; terpri
(length (with-output-to-string (s) (terpri s))) ; 1
;;;; fresh-line
(with-output-to-string (s) (fresh-line s)) ; ""
;;;; make-string-output-stream
(let ((s (make-string-output-stream)))
  (princ 12 s)
  (get-output-stream-string s)) ; "12"
;;;; get-output-stream-string
(get-output-stream-string (make-string-output-stream)) ; ""
;;;; finish-output
(finish-output) ; nil
;;;; force-output
(force-output) ; nil
;;;; clear-output
(clear-output) ; nil
;;;; streamp
(streamp (make-string-output-stream)) ; t
;;;; output-stream-p
(output-stream-p (make-string-output-stream)) ; t
;;;; input-stream-p
(input-stream-p (make-string-input-stream "a")) ; t
