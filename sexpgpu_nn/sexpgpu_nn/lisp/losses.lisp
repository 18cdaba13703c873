;;; Losses: scalars, weighted-mean over :weights

(provide cross-entropy binary-cross-entropy mse mae huber kl-divergence gaussian-kl hinge
         cosine-loss)

(defun reduced (values weights)
  (if (null weights) (mean values) (weighted-mean values weights)))

(defun cross-entropy (logits labels &key (axis -1) weights (smoothing 0) ignore-index (z-loss 0)
                      class-weights)
  "The mean over labels that are not ignored."
  (let ((values (%cross-entropy logits labels
                                :axis axis
                                :smoothing smoothing
                                :ignore-index ignore-index
                                :z-loss z-loss
                                :class-weights class-weights)))
    (when ignore-index
      (let ((kept (cast (/= labels ignore-index) :f32)))
        (setq weights (if (null weights) kept (* weights kept)))))
    (reduced values weights)))

(defun binary-cross-entropy (logits targets &key weights (smoothing 0) (positive-weight 1))
  "From logits."
  (reduced (%binary-cross-entropy logits targets
                                  :smoothing smoothing
                                  :positive-weight positive-weight)
           weights))

(defun mse (x y &key weights)
  "The mean squared difference."
  (reduced (square (- x y)) weights))

(defun mae (x y &key weights)
  "The mean absolute difference."
  (reduced (abs (- x y)) weights))

(defun huber (x y &key (delta 1) weights)
  "Quadratic below delta, linear above."
  (let* ((r (abs (- x y))) (near (min r delta)))
    (reduced (* near (- r (* 0.5 near))) weights)))

(defun kl-divergence (logits target-logits &key (axis -1) (temperature 1) weights)
  "KL(target, model) of logits; for distillation."
  (let* ((s (/ 1 temperature))
         (p (log-softmax (* s target-logits) :axis axis))
         (q (log-softmax (* s logits) :axis axis)))
    (reduced (sum (* (exp p) (- p q)) :axis axis) weights)))

(defun gaussian-kl (mean log-variance &key weights)
  "To N(0, 1), summed over the last axis."
  (reduced (* 0.5 (sum (- (+ (square mean) (exp log-variance)) 1 log-variance) :axis -1)) weights))

(defun hinge (x targets &key (margin 1) weights)
  "Targets -1, 1."
  (reduced (relu (- margin (* x targets))) weights))

(defun cosine-loss (x y &key (axis -1) weights)
  "1 - cosine."
  (reduced (- 1 (sum (* (normalize x :axis axis) (normalize y :axis axis)) :axis axis)) weights))
