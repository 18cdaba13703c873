;;;; +
(+ 1 2 3) ; 6
;;;; -
(- 10 3 2) ; 5
(- 5) ; -5
;;;; *
(* 2 3 4) ; 24
;;;; /
(/ 1 3) ; 1/3
(/ 6 3) ; 2
;;;; 1+
(1+ 41) ; 42
;;;; 1-
(1- 43) ; 42
;;;; abs
(abs -3/2) ; 3/2
;;;; signum
(signum -2.5) ; -1.0
;;;; max
(max 3 1 4) ; 4
;;;; min
(min 3 1 4) ; 1
;;;; =
(= 1 1.0) ; t
;;;; /=
(/= 1 2 1) ; nil
;;;; <
(< 1 2 3) ; t
;;;; >
(> 3 2 2) ; nil
;;;; <=
(<= 1 1 2) ; t
;;;; >=
(>= 3 2 2) ; t
;;;; zerop
(zerop 0.0) ; t
;;;; plusp
(plusp 0) ; nil
;;;; minusp
(minusp -1) ; t
;;;; evenp
(evenp 4) ; t
;;;; oddp
(oddp 4) ; nil
;;;; floor
(floor 7 2) ; 3; 1
(floor -7 2) ; -4; 1
;;;; ceiling
(ceiling 7 2) ; 4; -1
;;;; truncate
(truncate -7 2) ; -3; -1
;;;; round
(round 5/2) ; 2; 1/2
;;;; ffloor
(ffloor 7 2) ; 3.0; 1
;;;; fceiling
(fceiling 7 2) ; 4.0; -1
;;;; ftruncate
(ftruncate -7 2) ; -3.0; -1
;;;; fround
(fround 7 2) ; 4.0; -1
;;;; mod
(mod -7 3) ; 2
;;;; rem
(rem -7 3) ; -1
;;;; gcd
(gcd 12 18) ; 6
;;;; lcm
(lcm 4 6) ; 12
;;;; exp
(exp 0) ; 1.0
;;;; expt
(expt 2 100) ; 1267650600228229401496703205376
(expt 4 -1) ; 1/4
;;;; log
(log 8 2) ; 3.0
;;;; sqrt
(sqrt 16) ; 4.0
;;;; isqrt
(isqrt 17) ; 4
;;;; sin
(sin 0.0) ; 0.0
;;;; cos
(cos 0.0) ; 1.0
;;;; tan
(tan 0.0) ; 0.0
;;;; asin
(asin 0.0) ; 0.0
;;;; acos
(acos 1.0) ; 0.0
;;;; atan
(atan 0.0 1.0) ; 0.0
;;;; sinh
(sinh 0.0) ; 0.0
;;;; cosh
(cosh 0.0) ; 1.0
;;;; tanh
(tanh 0.0) ; 0.0
;;;; asinh
(asinh 0.0) ; 0.0
;;;; acosh
(acosh 1.0) ; 0.0
;;;; atanh
(atanh 0.0) ; 0.0
;;;; numerator
(numerator 6/4) ; 3
;;;; denominator
(denominator 6/4) ; 2
;;;; rational
(rational 0.5) ; 1/2
;;;; rationalize
(rationalize 0.1) ; 1/10
;;;; float
(float 1/4) ; 0.25
;;;; conjugate
(conjugate 3) ; 3
;;;; numberp
(numberp 1/2) ; t
;;;; realp
(realp 1.5) ; t
;;;; complexp
(complexp 1) ; nil
;;;; rationalp
(rationalp 1/2) ; t
;;;; integerp
(integerp 1.0) ; nil
;;;; floatp
(floatp 1.0) ; t
;;;; decode-float
(decode-float 10.0) ; 0.625; 4; 1.0
;;;; integer-decode-float
(integer-decode-float 1.0) ; 4503599627370496; -52; 1
;;;; scale-float
(scale-float 1.5 3) ; 12.0
;;;; float-sign
(float-sign -2.0 3.0) ; -3.0
;;;; float-radix
(float-radix 1.0) ; 2
;;;; float-digits
(float-digits 1.0) ; 53
;;;; float-precision
(float-precision 0.0) ; 0
;;;; random
(< -1 (random 10) 10) ; t
;;;; make-random-state
(let ((s (make-random-state))) (= (random 99 (make-random-state s)) (random 99 s))) ; t
;;;; random-state-p
(random-state-p *random-state*) ; t
;;;; parse-integer
(parse-integer "42 apples" :junk-allowed t) ; 42; 2
(parse-integer "ff" :radix 16) ; 255; 2
;;;; logand
(logand 12 10) ; 8
;;;; logior
(logior 12 10) ; 14
;;;; logxor
(logxor 12 10) ; 6
;;;; logeqv
(logeqv 12 10) ; -7
;;;; lognand
(lognand 12 10) ; -9
;;;; lognor
(lognor 12 10) ; -15
;;;; logandc1
(logandc1 12 10) ; 2
;;;; logandc2
(logandc2 12 10) ; 4
;;;; logorc1
(logorc1 12 10) ; -5
;;;; logorc2
(logorc2 12 10) ; -3
;;;; lognot
(lognot 5) ; -6
;;;; ash
(ash 1 10) ; 1024
(ash 1024 -3) ; 128
;;;; integer-length
(integer-length 255) ; 8
;;;; logcount
(logcount 255) ; 8
;;;; logbitp
(logbitp 1 2) ; t
;;;; logtest
(logtest 5 4) ; t
;;;; boole
(boole boole-and 12 10) ; 8
;;;; byte
(ldb (byte 4 4) 165) ; 10
;;;; byte-size
(byte-size (byte 4 2)) ; 4
;;;; byte-position
(byte-position (byte 4 2)) ; 2
;;;; ldb
(ldb (byte 4 0) 165) ; 5
;;;; ldb-test
(ldb-test (byte 4 0) 16) ; nil
;;;; mask-field
(mask-field (byte 4 4) 165) ; 160
;;;; dpb
(dpb 15 (byte 4 4) 1) ; 241
;;;; deposit-field
(deposit-field 255 (byte 4 4) 1) ; 241
