;;; Attention

(require "sexpgpu/nn/linear" :import (linear))
(require "sexpgpu/nn/norms" :import (rms-norm))

(provide attention cross-attention)

(defun head-width (d heads)
  (if (zerop (mod d heads)) (/ d heads) (error "~a heads do not divide a width of ~a" heads d)))

(defmodel attention (x &key (heads 1) (kv-heads heads) head-size causal window mask segments rope
                     positions qk-norm soft-cap (dropout 0) (bias t) linear)
  "Multi-head attention, or grouped with fewer kv-heads; q, k, v are one product."
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
                             :soft-cap soft-cap
                             :dropout dropout)))
          (funcall linear (reshape y (list b n (* heads e))) d :bias bias :name "out"))))))

(defmodel cross-attention (x y &key (heads 1) (kv-heads heads) head-size mask (dropout 0) (bias t)
                           linear)
  "Queries of x, keys and values of y."
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
