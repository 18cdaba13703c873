;;;; string
(string :loss) ; "LOSS"
;;;; make-string
(make-string 3 :initial-element #\-) ; "---"
;;;; char
(char "abc" 1) ; #\b
;;;; schar
(schar "abc" 2) ; #\c
;;;; stringp
(stringp "a") ; t
;;;; simple-string-p
(simple-string-p "a") ; t
;;;; string-upcase
(string-upcase "loss") ; "LOSS"
;;;; string-downcase
(string-downcase "LOSS") ; "loss"
;;;; string-capitalize
(string-capitalize "layer norm") ; "Layer Norm"
;;;; nstring-upcase
(nstring-upcase (copy-seq "loss")) ; "LOSS"
;;;; nstring-downcase
(nstring-downcase (copy-seq "LOSS")) ; "loss"
;;;; nstring-capitalize
(nstring-capitalize (copy-seq "layer norm")) ; "Layer Norm"
;;;; string-trim
(string-trim " " "  loss ") ; "loss"
;;;; string-left-trim
(string-left-trim "0" "0042") ; "42"
;;;; string-right-trim
(string-right-trim "0" "4200") ; "42"
;;;; string=
(string= "loss" "loss") ; t
(string= "val/loss" "loss" :start1 4) ; t
;;;; string-equal
(string-equal "Loss" 'loss) ; t
;;;; string/=
(string/= "train" "trace") ; 3
;;;; string-not-equal
(string-not-equal "Train" "train") ; nil
;;;; string<
(string< "abc" "abd") ; 2
;;;; string-lessp
(string-lessp "ABC" "abd") ; 2
;;;; string>
(string> "b" "a") ; 0
;;;; string-greaterp
(string-greaterp "B" "a") ; 0
;;;; string<=
(string<= "abc" "abc") ; 3
;;;; string-not-greaterp
(string-not-greaterp "ABC" "abc") ; 3
;;;; string>=
(string>= "a" "b") ; nil
;;;; string-not-lessp
(string-not-lessp "B" "a") ; 0
