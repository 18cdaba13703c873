;;;; with-output-to-string ((stream) form...)
;;; What the forms write to the stream, as a string.
(with-output-to-string (s) (format s "~a-" 1) (princ 2 s)) ; "1-2"
;;;; with-input-from-string ((stream string &key index start end) form...)
;;; The forms with a stream that gives the characters of a string.
(with-input-from-string (s "1 (a b)") (list (read s) (read s))) ; (1 (a b))
;;;; print-unreadable-object ((object stream &key type identity) form...)
;;; Writes #<...> around what the forms write.
(with-output-to-string (s) (print-unreadable-object ('net s) (princ "net" s))) ; "#<net>"
;;;; with-standard-io-syntax (form...)
;;; The forms with the standard's printing and reading: upper case, readable, nothing cut.
(with-standard-io-syntax (prin1-to-string 'loss)) ; "LOSS"
