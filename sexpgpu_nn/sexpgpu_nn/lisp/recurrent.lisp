;;; Recurrent: (values y last), y (b n hidden); state nil begins with zeros

(require "sexpgpu/nn/linear" :import (linear))

(provide rnn lstm gru bidirectional stacked min-gru rg-lru)

(defun begun (x hidden state)
  "The first state, (b hidden)."
  (if (null state) (zeros (list (dim x 0) hidden) :dtype (dtype x)) state))

(defmodel rnn (x hidden &key state reverse (activation #'tanh))
  "h' = activation(x w + h u + b); last is h (Elman 1990)."
  (defparam w ((dim x -1) hidden))
  (defparam u (hidden hidden) :init (orthogonal))
  (defparam b (hidden))
  (multiple-value-bind (h y)
      (scan (lambda (h x)
              (let ((new (funcall activation (+ x (matmul h u)))))
                (values new new)))
            (begun x hidden state)
            (+ (matmul x w) b)
            :axis 1
            :reverse reverse)
    (values y h)))

(defmodel lstm (x hidden &key state reverse (forget-bias 1))
  "Gates in order i f g o; last is the list (h c) (Hochreiter, Schmidhuber 1997)."
  (defparam w ((dim x -1) (* 4 hidden)))
  (defparam u (hidden (* 4 hidden)) :init (orthogonal))
  (defparam b ((* 4 hidden))
    :init (concat (zeros (list hidden))
                  (full (list hidden) forget-bias :dtype :f32)
                  (zeros (list (* 2 hidden)))))
  (multiple-value-bind (last y)
      (scan (lambda (carry x)
              (destructuring-bind (h c) carry
                (multiple-value-bind (i f g o) (split (+ x (matmul h u)) 4 :axis -1)
                  (let* ((c (+ (* (sigmoid f) c) (* (sigmoid i) (tanh g))))
                         (h (* (sigmoid o) (tanh c))))
                    (values (list h c) h)))))
            (list (begun x hidden (first state)) (begun x hidden (second state)))
            (+ (matmul x w) b)
            :axis 1
            :reverse reverse)
    (values y last)))

(defmodel gru (x hidden &key state reverse)
  "Gates in order r z n, the reset on h u + c as in cuDNN; last is h (Cho et al. 2014)."
  (defparam w ((dim x -1) (* 3 hidden)))
  (defparam u (hidden (* 3 hidden)) :init (orthogonal))
  (defparam b ((* 3 hidden)))
  (defparam c (hidden))
  (multiple-value-bind (h y)
      (scan (lambda (h x)
              (multiple-value-bind (xr xz xn) (split x 3 :axis -1)
                (multiple-value-bind (hr hz hn) (split (matmul h u) 3 :axis -1)
                  (let* ((z (sigmoid (+ xz hz)))
                         (n (tanh (+ xn (* (sigmoid (+ xr hr)) (+ hn c)))))
                         (new (+ (* (- 1 z) n) (* z h))))
                    (values new new)))))
            (begun x hidden state)
            (+ (matmul x w) b)
            :axis 1
            :reverse reverse)
    (values y h)))

(defmodel bidirectional (fn x hidden)
  "#'rnn, #'lstm or #'gru from both ends, (b n 2hidden); last is the list of theirs."
  (multiple-value-bind (y last) (funcall fn x hidden :name "forward")
    (multiple-value-bind (z first) (funcall fn x hidden :reverse t :name "backward")
      (values (concat y z :axis -1) (list last first)))))

(defmodel stacked (fn x hidden depth &key (part "layer") (dropout 0))
  "depth recurrent layers, dropout between them; last is the list of theirs."
  (let ((all nil))
    (dotimes (i depth (values x (nreverse all)))
      (multiple-value-bind (y last)
          (funcall fn (if (eql i 0) x (dropout x dropout)) hidden :name (path part i))
        (setq x y)
        (push last all)))))

(defmodel min-gru (x hidden &key state)
  "h' = (1 - z) h + z (linear of x), z of x alone, by an associative scan (Feng et al. 2024)."
  (let ((z (sigmoid (linear x hidden :name "z"))))
    (kept-sums (- 1 z) (* z (linear x hidden :name "h")) (begun x hidden state))))

(defun kept-sums (kept new first)
  "h' = kept h + new along axis 1, h at the begin being first: (values h last)."
  (let* ((new (concat (unsqueeze first 1) new :axis 1))
         (kept (concat (ones-like (unsqueeze first 1)) kept :axis 1))
         (found (associative-scan (lambda (before after)
                                    (destructuring-bind (a b) before
                                      (destructuring-bind (c d) after
                                        (list (* a c) (+ (* c b) d)))))
                                  (list kept new)
                                  :axis 1))
         (y (slice (second found) :axis 1 :start 1)))
    (values y (tref y t -1))))

(defmodel rg-lru (x &key (c 8) state)
  "Real-gated: h' = a h + sqrt(1 - a^2) i x, a = sigmoid(lambda)^(c r), gates r and i of x, by an
associative scan; lambda begins where a of an open gate is between 0.9 and 0.999 (De et al. 2024)."
  (let ((d (dim x -1)))
    (defparam lambda (d)
      :init (let ((a (expt (random-uniform (list d) :low 0.9 :high 0.999) (/ 1 c))))
              (- (log a) (log (- 1 a)))))
    (let* ((r (sigmoid (linear x d :name "a")))
           (i (sigmoid (linear x d :name "i")))
           (rate (* (- c) (* r (softplus (- lambda))))))
      (kept-sums (exp rate) (* (sqrt (- (expm1 (* 2 rate)))) (* i x)) (begun x d state)))))
