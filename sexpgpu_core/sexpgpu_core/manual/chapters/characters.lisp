;;;; char=
(char= #\a #\a) ; t
;;;; char/=
(char/= #\a #\b #\a) ; nil
;;;; char<
(char< #\a #\b #\c) ; t
;;;; char>
(char> #\b #\a) ; t
;;;; char<=
(char<= #\a #\a) ; t
;;;; char>=
(char>= #\a #\b) ; nil
;;;; char-equal
(char-equal #\a #\A) ; t
;;;; char-not-equal
(char-not-equal #\a #\A) ; nil
;;;; char-lessp
(char-lessp #\A #\b) ; t
;;;; char-greaterp
(char-greaterp #\B #\a) ; t
;;;; char-not-greaterp
(char-not-greaterp #\A #\a) ; t
;;;; char-not-lessp
(char-not-lessp #\A #\a) ; t
;;;; characterp
(characterp #\a) ; t
;;;; character
(character "a") ; #\a
;;;; alpha-char-p
(alpha-char-p #\a) ; t
;;;; alphanumericp
(alphanumericp #\7) ; t
;;;; digit-char-p
(digit-char-p #\7) ; 7
(digit-char-p #\f 16) ; 15
;;;; digit-char
(digit-char 11 16) ; #\B
;;;; graphic-char-p
(graphic-char-p #\Newline) ; nil
;;;; standard-char-p
(standard-char-p #\a) ; t
;;;; upper-case-p
(upper-case-p #\A) ; t
;;;; lower-case-p
(lower-case-p #\A) ; nil
;;;; both-case-p
(both-case-p #\1) ; nil
;;;; char-upcase
(char-upcase #\a) ; #\A
;;;; char-downcase
(char-downcase #\A) ; #\a
;;;; char-code
(char-code #\A) ; 65
;;;; char-int
(char-int #\A) ; 65
;;;; code-char
(code-char 97) ; #\a
;;;; char-name
(char-name #\Space) ; "Space"
;;;; name-char
(name-char "newline") ; #\Newline
