;;; Attention

(require "sexpgpu/nn/linear" :import (linear))
(require "sexpgpu/nn/norms" :import (rms-norm))

(provide attention cross-attention latent-attention linear-attention alibi relative-bias)

(defun head-width (d heads)
  (if (zerop (mod d heads)) (/ d heads) (error "~a heads do not divide a width of ~a" heads d)))

(defmodel attention (x &key (heads 1) (kv-heads heads) head-size causal window mask segments rope
                     positions qk-norm soft-cap position-bias (dropout 0) (bias t) linear)
  "Multi-head attention, or grouped with fewer kv-heads; q, k, v are one product (Vaswani et al.
2017; Ainslie et al. 2023). rope: t or a base; window: keys back; position-bias (heads n n)."
  (bind-shape (b n d) x
    (let* ((linear (or linear #'linear))
           (e (or head-size (head-width d heads)))
           (parts (list (* heads e) (* kv-heads e) (* kv-heads e)))
           (qkv (funcall linear x (reduce #'+ parts) :bias bias :name "qkv")))
      (multiple-value-bind (q k v) (split qkv parts :axis -1)
        (setq q (reshape q (list b n heads e))
              k (reshape k (list b n kv-heads e))
              v (reshape v (list b n kv-heads e)))
        (when qk-norm (setq q (rms-norm q :name "q-norm") k (rms-norm k :name "k-norm")))
        (when rope
          (let ((base (if (numberp rope) rope 10000)))
            (setq q (rope q :base base :positions positions)
                  k (rope k :base base :positions positions))))
        (let ((y (%attention q k v
                             :causal causal
                             :window window
                             :mask mask
                             :segments segments
                             :bias position-bias
                             :soft-cap soft-cap
                             :dropout dropout)))
          (funcall linear (reshape y (list b n (* heads e))) d :bias bias :name "out"))))))

(defmodel cross-attention (x y &key (heads 1) (kv-heads heads) head-size mask (dropout 0) (bias t)
                           linear)
  "Queries of x, keys and values of y (Vaswani et al. 2017)."
  (bind-shape (b n d) x
    (let* ((linear (or linear #'linear))
           (e (or head-size (head-width d heads)))
           (m (dim y 1))
           (q (funcall linear x (* heads e) :bias bias :name "q"))
           (kv (funcall linear y (* 2 kv-heads e) :bias bias :name "kv")))
      (multiple-value-bind (k v) (split kv 2 :axis -1)
        (let ((z (%attention (reshape q (list b n heads e))
                             (reshape k (list b m kv-heads e))
                             (reshape v (list b m kv-heads e))
                             :mask mask
                             :dropout dropout)))
          (funcall linear (reshape z (list b n (* heads e))) d :bias bias :name "out"))))))

(defmodel latent-attention (x &key (heads 1) (rank 512) (rope-size 64) head-size causal)
  "Keys and values out of one normed vector of size rank a token; rope on a part of rope-size of its
own, one key for all heads (DeepSeek-V2 2024)."
  (bind-shape (b n d) x
    (let* ((e (or head-size (head-width d heads)))
           (whole (+ e rope-size))
           (q (reshape (linear x (* heads whole) :bias nil :name "q") (list b n heads whole)))
           (down (linear x (+ rank rope-size) :bias nil :name "down")))
      (multiple-value-bind (latent shared) (split down (list rank rope-size) :axis -1)
        (let ((up (linear (rms-norm latent :name "norm") (* 2 heads e) :bias nil :name "up"))
              (key (rope (reshape shared (list b n 1 rope-size)))))
          (multiple-value-bind (k v) (split (reshape up (list b n heads (* 2 e))) 2 :axis -1)
            (multiple-value-bind (plain turned) (split q (list e rope-size) :axis -1)
              (let* ((q (concat plain (rope turned) :axis -1))
                     (k (concat k (expand key (list b n heads rope-size)) :axis -1))
                     (v (pad v (list (list 0 rope-size))))
                     (y (slice (%attention q k v :causal causal) :axis -1 :end e)))
                (linear (reshape y (list b n (* heads e))) d :bias nil :name "out")))))))))

(defmodel linear-attention (x &key (heads 1) causal feature)
  "Softmax replaced by products of a feature of q and of k, elu + 1 by default: linear in n; causal
by a scan (Katharopoulos et al. 2020)."
  (bind-shape (b n d) x
    (let ((e (head-width d heads)) (feature (or feature (lambda (x) (+ (elu x) 1)))))
      (multiple-value-bind (q k v)
          (split (reshape (linear x (* 3 d) :bias nil :name "qkv") (list b n (* 3 heads) e)) 3
                 :axis 2)
        (let* ((q (funcall feature q))
               (k (funcall feature k))
               (y (if causal (linear-causal q k v) (linear-whole q k v))))
          (linear (reshape y (list b n d)) d :bias nil :name "out"))))))

(defun linear-whole (q k v)
  (/ (einsum "bnhe,bhef->bnhf" q (einsum "bmhe,bmhf->bhef" k v))
     (unsqueeze (einsum "bnhe,bhe->bnh" q (sum k :axis 1)) -1)))

(defun linear-causal (q k v)
  (bind-shape (b _ h e) q
    (nth-value 1
               (scan (lambda (carry at)
                       (destructuring-bind (s z) carry
                         (destructuring-bind (q k v) at
                           (let ((s (+ s (* (unsqueeze k -1) (unsqueeze v 2)))) (z (+ z k)))
                             (values (list s z)
                                     (/ (einsum "bhe,bhef->bhf" q s)
                                        (unsqueeze (sum (* q z) :axis -1) -1)))))))
                     (list (zeros (list b h e e)) (zeros (list b h e)))
                     (list q k v)
                     :axis 1))))

(defun alibi (heads n)
  "(heads n n): less with distance, by a slope a head: a position-bias (Press et al. 2021)."
  (let ((slope (exp2 (* (- (/ 8 heads)) (+ 1 (iota heads :dtype :f32))))) (at (iota n :dtype :f32)))
    (* (reshape slope (list heads 1 1))
       (- (abs (- (reshape at (list 1 n 1)) (reshape at (list 1 1 n))))))))

(defmodel relative-bias (heads n &key (buckets 32) (limit 128))
  "(heads n n) of learned numbers by distance, exact when near, by its log to limit: a position-bias
of both directions (Raffel et al. 2020)."
  (defparam w (buckets heads) :init (normal 0.02))
  (let ((half (/ buckets 2)))
    (flet ((bucket (distance)
             (let* ((far (abs distance)) (exact (/ half 2)))
               (+ (if (> distance 0) half 0)
                  (if (< far exact)
                      far
                      (min (1- half)
                           (+ exact
                              (floor (* (/ (log (/ far exact)) (log (/ limit exact)))
                                        (- half exact))))))))))
      (let ((table (tensor (loop for i from (- 1 n) below n collect (bucket i)))) (at (iota n)))
        (permute (gather w
                         (gather table
                                 (+ (- (reshape at (list 1 n)) (reshape at (list n 1))) (1- n))))
                 '(2 0 1))))))
