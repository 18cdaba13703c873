;;; Transformers and pooling

(require "sexpgpu/nn/linear" :import (mlp))
(require "sexpgpu/nn/norms" :import (layer-norm))
(require "sexpgpu/nn/attention" :import (attention cross-attention))

(provide transformer-block transformer decoder-block patch-embedding pool attention-pool)

(defmodel transformer-block (x &key (heads 1) (kv-heads heads) causal (hidden (* 4 (dim x -1)))
                             (norm #'layer-norm) (mlp #'mlp) rope (dropout 0) (order :pre) window
                             qk-norm position-bias mask)
  "Attention, then feed-forward, each added to x; norms before them, or with order :post after the
sums (Vaswani et al. 2017; Xiong et al. 2020)."
  (flet ((added (x branch name)
           (if (eq order :pre)
               (+ x (dropout (funcall branch (funcall norm x :name name)) dropout))
               (funcall norm (+ x (dropout (funcall branch x) dropout)) :name name))))
    (let ((x (added x
                    (lambda (x)
                      (attention x
                                 :heads heads
                                 :kv-heads kv-heads
                                 :causal causal
                                 :window window
                                 :mask mask
                                 :rope rope
                                 :qk-norm qk-norm
                                 :position-bias position-bias
                                 :dropout dropout))
                    "norm")))
      (added x (lambda (x) (funcall mlp x :hidden hidden)) "norm-2"))))

(defmodel transformer (x depth &rest options &key (part "h") (norm #'layer-norm) (order :pre)
                       &allow-other-keys)
  "depth blocks, and a last norm where the blocks' are before; other keywords as transformer-block."
  (let ((rest (loop for (key value) on options by #'cddr
                    unless (eq key :part) append (list key value))))
    (dotimes (i depth) (setq x (apply #'transformer-block x :name (path part i) rest)))
    (if (eq order :pre) (funcall norm x :name "norm") x)))

(defmodel decoder-block (x y &key (heads 1) (hidden (* 4 (dim x -1))) (norm #'layer-norm)
                         (dropout 0) mask)
  "Causal attention of x (b n d), attention to y (b m dy), feed-forward (Vaswani et al. 2017)."
  (let* ((z (attention (funcall norm x :name "norm") :heads heads :causal t :dropout dropout))
         (x (+ x (dropout z dropout)))
         (z (cross-attention (funcall norm x :name "norm-2") y :heads heads :mask mask))
         (x (+ x (dropout z dropout)))
         (z (mlp (funcall norm x :name "norm-3") :hidden hidden)))
    (+ x (dropout z dropout))))

(defmodel patch-embedding (x size width &key (bias t))
  "Pictures (b h w c) to (b n width) (Dosovitskiy et al. 2020)."
  (defparam w (size size (dim x -1) width))
  (let* ((y (%conv x w :stride size)) (z (reshape y (list (dim y 0) -1 width))))
    (if bias (progn (defparam b (width)) (+ z b)) z)))

(defun pool (x &key mask (kind :mean))
  "(b n d) to (b d): :mean :max :first :last over axis 1."
  (ecase kind
    (:mean
     (if (null mask)
         (mean x :axis 1)
         (let ((w (unsqueeze (cast mask :f32) -1)))
           (/ (sum (* x w) :axis 1) (max (sum w :axis 1) 1.0)))))
    (:max (reduce-max x :axis 1))
    (:first (tref x t 0))
    (:last (tref x t -1))))

(defmodel attention-pool (x &key (heads 1))
  "(b n d) to (b d): a learned query over axis 1 (Lee et al. 2019)."
  (bind-shape (b _ d) x
    (defparam query (1 d) :init (normal 0.02))
    (let ((q (broadcast-to query (list b 1 d))))
      (reshape (cross-attention q x :heads heads :name "attention") (list b d)))))
