;;; Losses: scalars, weighted-mean over :weights

(provide cross-entropy binary-cross-entropy mse mae huber kl-divergence gaussian-kl hinge
         cosine-loss focal gaussian-nll poisson-nll reparameterize triplet info-nce dice dpo
         load-balance router-z-loss ctc)

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
  "Quadratic below delta, linear above (Huber 1964)."
  (let* ((r (abs (- x y))) (near (min r delta)))
    (reduced (* near (- r (* 0.5 near))) weights)))

(defun kl-divergence (logits target-logits &key (axis -1) (temperature 1) weights)
  "KL(target, model) of logits; for distillation (Hinton et al. 2015)."
  (let* ((s (/ 1 temperature))
         (p (log-softmax (* s target-logits) :axis axis))
         (q (log-softmax (* s logits) :axis axis)))
    (reduced (sum (* (exp p) (- p q)) :axis axis) weights)))

(defun gaussian-kl (mean log-variance &key weights)
  "To N(0, 1), summed over the last axis (Kingma, Welling 2013)."
  (reduced (* 0.5 (sum (- (+ (square mean) (exp log-variance)) 1 log-variance) :axis -1)) weights))

(defun hinge (x targets &key (margin 1) weights)
  "Targets -1, 1."
  (reduced (relu (- margin (* x targets))) weights))

(defun cosine-loss (x y &key (axis -1) weights)
  "1 - cosine."
  (reduced (- 1 (sum (* (normalize x :axis axis) (normalize y :axis axis)) :axis axis)) weights))

(defun focal (logits targets &key (gamma 2) (alpha 0.25) weights)
  "Binary cross-entropy by alpha and the share still wrong to the gamma (Lin et al. 2017)."
  (let* ((p (sigmoid logits))
         (wrong (+ (* p (- 1 targets)) (* (- 1 p) targets)))
         (side (+ (* alpha targets) (* (- 1 alpha) (- 1 targets))))
         (values (%binary-cross-entropy logits targets)))
    (reduced (* side (* (expt wrong gamma) values)) weights)))

(defun gaussian-nll (mean log-variance y &key weights)
  "- log N(y; mean, variance), with its constant."
  (reduced (* 0.5 (+ log-variance (* (square (- y mean)) (exp (- log-variance))) (log (* 2 pi))))
           weights))

(defun poisson-nll (log-rate y &key weights)
  "- log Poisson(y; rate) less what no rate changes."
  (reduced (- (exp log-rate) (* y log-rate)) weights))

(defun reparameterize (mean log-variance)
  "mean + deviation times a normal draw an element; in :eval the mean (Kingma, Welling 2013)."
  (if (eq (ctx :mode) :eval)
      mean
      (+ mean (* (exp (* 0.5 log-variance)) (random-normal nil :like mean)))))

(defun triplet (anchor positive negative &key (margin 1) weights)
  "Euclidean distances of the last axis (Schroff et al. 2015)."
  (let ((near (norm (- anchor positive) :axis -1 :eps 1e-12))
        (far (norm (- anchor negative) :axis -1 :eps 1e-12)))
    (reduced (relu (+ (- near far) margin)) weights)))

(defun info-nce (x y &key (temperature 0.07) symmetric)
  "Row i of x and of y (b d) belong together, among the rows of the block (Oord et al. 2018)."
  (let* ((x (normalize x))
         (y (normalize y))
         (scores (* (/ 1 temperature) (matmul x y :transpose-y t)))
         (labels (iota (dim scores 1)))
         (loss (mean (%cross-entropy scores labels))))
    (per-block (if symmetric
                   (* 0.5 (+ loss (mean (%cross-entropy (transpose scores) labels))))
                   loss))))

(defun dice (logits targets &key (eps 1) weights)
  "1 - twice the overlap over the sizes, per example (Milletari et al. 2016)."
  (let ((p (flatten (sigmoid logits) :start 1)) (y (flatten targets :start 1)))
    (reduced (- 1 (/ (+ (* 2 (sum (* p y) :axis 1)) eps) (+ (sum p :axis 1) (sum y :axis 1) eps)))
             weights)))

(defun dpo (chosen rejected reference-chosen reference-rejected &key (beta 0.1) weights)
  "Of log-probabilities (b) of the model and a reference (Rafailov et al. 2023)."
  (let ((gain (- (- chosen reference-chosen) (- rejected reference-rejected))))
    (reduced (- (log-sigmoid (* beta gain))) weights)))

(defun load-balance (probabilities &key (top 2))
  "experts times the product of each expert's share of choices and its mean probability, 1 if even:
router probabilities (... experts) (Fedus et al. 2021)."
  (let* ((experts (dim probabilities -1))
         (p (reshape probabilities (list -1 experts)))
         (index (nth-value 1 (top-k (stop-gradient p) top)))
         (chosen (sum (cast (one-hot index experts) :f32) :axis 1)))
    (per-block (* (/ experts top) (sum (* (mean chosen :axis 0) (mean p :axis 0)))))))

(defun router-z-loss (logits)
  "The mean square of the log of the sum of the exponents (Zoph et al. 2022)."
  (mean (square (logsumexp logits :axis -1))))

(defun ctc (logits labels logit-lengths label-lengths &key (blank 0) weights)
  "Logits (b t c), labels (b l): the mean of -log p over examples (Graves et al. 2006)."
  (reduced (ctc-loss logits labels logit-lengths label-lengths :blank blank) weights))
