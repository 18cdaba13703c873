;;; Reads a file of one form a line and prints a line of values for each: double floats, lower case.
(setf sb-ext:*evaluator-mode* :interpret)
(defun one-line (text)
  (with-output-to-string (out)
    (loop for c across text
          do (case c
               (#\\ (write-string "\\\\" out))
               (#\Newline (write-string "\\n" out))
               (t (write-char c out))))))
(with-open-file (forms (second sb-ext:*posix-argv*) :external-format :utf-8)
  (let ((*read-default-float-format* 'double-float)
        (*print-case* :downcase)
        (*print-pretty* nil)
        (out *standard-output*))
    (loop for form = (read forms nil forms)
          until (eq form forms)
          do (let ((values (handler-bind ((warning #'muffle-warning))
                             (let ((*standard-output* (make-broadcast-stream))
                                   (*error-output* (make-broadcast-stream))
                                   (*gensym-counter* 1))
                               (multiple-value-list
                                (handler-case (eval form) (sb-sys:interactive-interrupt () :stop)))))))
               (format out "~{~a~^ ; ~}~%"
                       (mapcar (lambda (v) (one-line (prin1-to-string v))) values))))))
