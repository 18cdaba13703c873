;;;; read-from-string
(read-from-string "(+ 1 2) rest") ; (+ 1 2); 8
;;;; make-string-input-stream
(read (make-string-input-stream "(a b)")) ; (a b)
;;;; read
(with-input-from-string (s "1 2") (list (read s) (read s))) ; (1 2)
;;;; read-line
(with-input-from-string (s "one") (read-line s)) ; "one"; t
;;;; read-char
(with-input-from-string (s "ab") (read-char s)) ; #\a
(with-input-from-string (s "") (read-char s nil :end)) ; :end
;;;; peek-char
(with-input-from-string (s "  b") (peek-char t s)) ; #\b
;;;; unread-char
(with-input-from-string (s "ab") (unread-char (read-char s) s) (read-char s)) ; #\a
