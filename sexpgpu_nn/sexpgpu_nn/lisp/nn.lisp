;;; sexpgpu/nn: layers, blocks, losses and metrics. Channels are last, sequences are (b n d).
;;; A name with % before it is core's builtin of that name.

(provide linear bilinear embedding position-embedding sinusoidal-positions mlp gated-mlp layers
         highway layer-norm rms-norm group-norm instance-norm batch-norm layer-scale drop-path
         attention cross-attention transformer-block transformer patch-embedding pool conv
         conv-transpose depthwise-conv separable-conv residual-block global-pool cross-entropy
         binary-cross-entropy mse mae huber kl-divergence gaussian-kl hinge cosine-loss accuracy
         top-k-accuracy perplexity bits-per-byte f1 precision recall psnr)

;;; Linear, embedding, feed-forward

(defmodel linear (x out &key (bias t) (init (lecun)))
  "x w + b: (... d) to (... out)."
  (defparam w ((dim x -1) out) :init init)
  (let ((y (matmul x w)))
    (if bias (progn (defparam b (out)) (+ y b)) y)))

(defmodel bilinear (x y out &key (bias t) (init (lecun)))
  "x' W y + b: (... dx), (... dy) to (... out)."
  (defparam w ((dim x -1) (dim y -1) out) :init init)
  (let ((z (einsum "...i,ijo,...j->...o" x w y)))
    (if bias (progn (defparam b (out)) (+ z b)) z)))

(defmodel embedding (ids vocab width &key (init (normal 0.02)) padding-id)
  "Rows of a table: ids (...) to (... width). The row of padding-id counts as 0."
  (defparam w (vocab width) :init init)
  (let ((rows (gather w ids)))
    (if padding-id (where (unsqueeze (/= ids padding-id) -1) rows 0.0) rows)))

(defmodel position-embedding (x &key (length (dim x 1)) (init (normal 0.02)))
  "x + w, the first n rows of it: (b n d)."
  (defparam w (length (dim x -1)) :init init)
  (+ x (slice w :axis 0 :end (dim x 1))))

(defun sinusoidal-positions (n width &key (base 10000))
  "(n width): sines, then cosines (Vaswani et al. 2017)."
  (let* ((half (/ width 2))
         (rate (exp (* (iota half :dtype :f32) (- (/ (log base) half)))))
         (angle (outer (iota n :dtype :f32) rate)))
    (concat (sin angle) (cos angle) :axis -1)))

(defmodel mlp (x &key (hidden (* 4 (dim x -1))) (out (dim x -1)) (activation #'gelu) (bias t)
               (dropout 0) linear)
  "The feed-forward part of a transformer: up, activation, down."
  (let* ((linear (or linear #'linear))
         (h (funcall activation (funcall linear x hidden :bias bias :name "up")))
         (y (funcall linear h out :bias bias :name "down")))
    (dropout y dropout)))

(defmodel gated-mlp (x &key hidden (out (dim x -1)) (activation #'silu) bias linear)
  "SwiGLU (Shazeer 2020). hidden nil: 8/3 d rounded up to a multiple of 64."
  (let* ((linear (or linear #'linear))
         (width (or hidden (* 64 (ceiling (* 8/3 (dim x -1)) 64))))
         (gate (funcall activation (funcall linear x width :bias bias :name "gate")))
         (up (funcall linear x width :bias bias :name "up")))
    (funcall linear (* gate up) out :bias bias :name "down")))

(defmodel layers (x sizes &key (activation #'relu) last-activation (bias t) (dropout 0))
  "A plain MLP of the sizes given."
  (loop for (size . more) on sizes
        do (setq x (linear x size :bias bias))
           (cond (more (setq x (dropout (funcall activation x) dropout)))
                 (last-activation (setq x (funcall last-activation x)))))
  x)

(defmodel highway (x &key (activation #'relu))
  "A gate between x and a layer of it (Srivastava et al. 2015)."
  (let ((gate (sigmoid (linear x (dim x -1) :name "gate")))
        (y (funcall activation (linear x (dim x -1) :name "map"))))
    (+ (* gate y) (* (- 1 gate) x))))

;;; Norms

(defmodel layer-norm (x &key (eps 1e-5) (weight t) (bias t))
  "Over the last axis (Ba et al. 2016)."
  (let ((d (dim x -1)) g h)
    (when weight (setq g (gain d)))
    (when bias (setq h (offset d)))
    (%layer-norm x :weight g :bias h :eps eps)))

(defun gain (d)
  (defparam weight (d) :init 1)
  weight)

(defun offset (d)
  (defparam bias (d))
  bias)

(defmodel rms-norm (x &key (eps 1e-6) (weight t))
  "Over the last axis, no mean taken off (Zhang, Sennrich 2019)."
  (%rms-norm x :weight (if weight (gain (dim x -1)) nil) :eps eps))

(defmodel group-norm (x groups &key (eps 1e-5) (weight t) (bias t))
  "Over places and the channels of a group, per example (Wu, He 2018)."
  (let ((d (dim x -1)))
    (%group-norm x groups
                 :weight (if weight (gain d) nil)
                 :bias (if bias (offset d) nil)
                 :eps eps)))

(defmodel instance-norm (x &key (eps 1e-5) (weight t) (bias t))
  "Group norm with a group a channel."
  (let ((d (dim x -1)))
    (%group-norm x d :weight (if weight (gain d) nil) :bias (if bias (offset d) nil) :eps eps)))

(defmodel batch-norm (x &key (eps 1e-5) (momentum 0.1) (weight t) (bias t) sync)
  "Over all axes but the last, of the block's rows; running values in :eval."
  (when sync (error "batch-norm :sync is for several ranks, which come later"))
  (let* ((d (dim x -1)) (axes (loop for i below (1- (rank x)) collect i)) g h)
    (when weight (setq g (gain d)))
    (when bias (setq h (offset d)))
    (defstate mean (d) :init 0)
    (defstate variance (d) :init 1)
    (multiple-value-bind (m v)
        (if (eq (ctx :mode) :train)
            (let ((m (per-block (mean x :axis axes))) (v (per-block (variance x :axis axes))))
              (setf mean (lerp mean m momentum))
              (setf variance (lerp variance v momentum))
              (values m v))
            (values mean variance))
      (let ((y (* (- x m) (rsqrt (+ v eps)))))
        (when weight (setq y (* y g)))
        (if bias (+ y h) y)))))

(defmodel layer-scale (x &key (init 1e-5))
  "A learned factor a channel (Touvron et al. 2021)."
  (defparam scale ((dim x -1)) :init init)
  (* x scale))

(defun drop-path (x rate)
  "Drops the whole row's branch in training (Huang et al. 2016)."
  (if (or (eql rate 0) (eq (ctx :mode) :eval))
      x
      (let* ((row (slice (flatten x :start 1) :axis 1 :end 1))
             (keep (random-bernoulli nil (- 1 rate) :like (stop-gradient row)))
             (shape (cons (dim x 0) (make-list (1- (rank x)) :initial-element 1))))
        (where (reshape keep shape) (* x (/ 1 (- 1 rate))) 0.0))))

;;; Attention and blocks

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

;;; Convolution

(defun kernel-shape (x kernel)
  (if (listp kernel) kernel (make-list (- (rank x) 2) :initial-element kernel)))

(defmodel conv (x out &key (kernel 3) (stride 1) (padding :same) (dilation 1) (groups 1) (bias t)
                (init (he)))
  "Spatial axes by the rank of x: (b n... i) to (b m... out)."
  (let ((shape (append (kernel-shape x kernel) (list (/ (dim x -1) groups) out))))
    (defparam w shape :init init)
    (let ((y (%conv x w :stride stride :padding padding :dilation dilation :groups groups)))
      (if bias (progn (defparam b (out)) (+ y b)) y))))

(defmodel conv-transpose (x out &key (kernel 4) (stride 2) (padding :same) (bias t))
  "Grows the spatial axes by stride."
  (let ((shape (append (kernel-shape x kernel) (list (dim x -1) out))))
    (defparam w shape :init (he))
    (let ((y (%conv-transpose x w :stride stride :padding padding)))
      (if bias (progn (defparam b (out)) (+ y b)) y))))

(defmodel depthwise-conv (x &key (kernel 3) (stride 1) (bias t))
  "A kernel of its own a channel."
  (let* ((c (dim x -1)) (shape (append (kernel-shape x kernel) (list 1 c))))
    (defparam w shape :init (he))
    (let ((y (%conv x w :stride stride :padding :same :groups c)))
      (if bias (progn (defparam b (c)) (+ y b)) y))))

(defmodel separable-conv (x out &key (kernel 3) (stride 1) (bias t))
  "A depthwise convolution, then one of size 1 (Chollet 2017)."
  (conv (depthwise-conv x :kernel kernel :stride stride :bias nil :name "depthwise") out
        :kernel 1
        :bias bias
        :name "pointwise"))

(defmodel residual-block (x out &key (stride 1) (norm #'batch-norm) (activation #'relu))
  "The basic block of He et al. 2015."
  (let* ((y (conv x out :stride stride :bias nil :name "conv"))
         (y (funcall activation (funcall norm y :name "norm")))
         (y (conv y out :bias nil :name "conv-2"))
         (y (funcall norm y :name "norm-2"))
         (same (and (eql stride 1) (eql out (dim x -1)))))
    (funcall activation
             (+ y (if same x (conv x out :kernel 1 :stride stride :bias nil :name "shortcut"))))))

(defun global-pool (x &key (kind :mean))
  "(b n... c) to (b c) over the spatial axes."
  (let ((axes (loop for i from 1 below (1- (rank x)) collect i)))
    (ecase kind
      (:mean (mean x :axis axes))
      (:max (reduce-max x :axis axes)))))

;;; Losses: scalars, weighted-mean over :weights

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

;;; Metrics

(defun accuracy (logits labels &key (axis -1) ignore-index weights)
  "The share of labels that the greatest logit names."
  (let ((hit (= (argmax logits :axis axis) labels)))
    (when ignore-index
      (let ((kept (cast (/= labels ignore-index) :f32)))
        (setq weights (if (null weights) kept (* weights kept)))))
    (if (null weights) (mean hit) (weighted-mean (cast hit :f32) weights))))

(defun top-k-accuracy (logits labels k &key (axis -1) weights)
  "The share of labels among the k greatest logits."
  (let* ((places (nth-value 1 (top-k logits k :axis axis)))
         (hit (any (= places (unsqueeze labels axis)) :axis axis)))
    (if (null weights) (mean hit) (weighted-mean (cast hit :f32) weights))))

(defun perplexity (loss)
  "exp of a mean loss, over the whole pass."
  (exp loss))

(defun bits-per-byte (loss &key (bytes-per-token 1))
  "A loss in nats a token as bits a byte."
  (* loss (/ 1 (* (log 2) bytes-per-token))))

(defun share (part whole)
  (/ (sum (cast part :f32)) (sum (cast whole :f32))))

(defun precision (predictions targets)
  "Of bool operands: true positives of all predicted."
  (share (logical-and predictions targets) predictions))

(defun recall (predictions targets)
  "Of bool operands: true positives of all there are."
  (share (logical-and predictions targets) targets))

(defun f1 (predictions targets)
  "Of bool operands: the harmonic mean of precision and recall."
  (/ (* 2.0 (sum (cast (logical-and predictions targets) :f32)))
     (+ (sum (cast predictions :f32)) (sum (cast targets :f32)))))

(defun psnr (x y &key (peak 1))
  "One an example."
  (let ((error (mean (flatten (square (- x y)) :start 1) :axis 1)))
    (* 10 (log10 (/ (square (cast peak (dtype x))) error)))))
