;;; Transformers and pooling

(require "sexpgpu/nn/linear" :import (mlp))
(require "sexpgpu/nn/norms" :import (layer-norm))
(require "sexpgpu/nn/attention" :import (attention))

(provide transformer-block transformer patch-embedding pool)

(defmodel transformer-block (x &key (heads 1) (kv-heads heads) causal (hidden (* 4 (dim x -1)))
                             (norm #'layer-norm) (mlp #'mlp) rope (dropout 0))
  "Pre-norm: attention, then feed-forward, each added to x."
  (let ((y (attention (funcall norm x :name "norm")
                      :heads heads
                      :kv-heads kv-heads
                      :causal causal
                      :rope rope
                      :dropout dropout)))
    (setq x (+ x (dropout y dropout)))
    (let ((z (funcall mlp (funcall norm x :name "norm-2") :hidden hidden)))
      (+ x (dropout z dropout)))))

(defmodel transformer (x depth &rest options &key (part "h") (norm #'layer-norm) &allow-other-keys)
  "depth blocks and a last norm; other keywords as transformer-block."
  (let ((rest (loop for (key value) on options by #'cddr
                    unless (eq key :part) append (list key value))))
    (dotimes (i depth) (setq x (apply #'transformer-block x :name (path part i) rest)))
    (funcall norm x :name "norm")))

(defmodel patch-embedding (x size width &key (bias t))
  "Pictures (b h w c) to (b n width)."
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
