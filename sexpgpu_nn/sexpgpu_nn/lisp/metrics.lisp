;;; Metrics

(provide accuracy top-k-accuracy perplexity bits-per-byte precision recall f1 psnr confusion
         r-squared iou auc average-precision recall-at correlation)

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

(defun confusion (predictions labels n)
  "(n n) counts: row the label, column the prediction, both (...) below n."
  (let ((cells (+ (* (flatten labels) n) (cast (flatten predictions) (dtype labels)))))
    (reshape (bincount cells (* n n)) (list n n))))

(defun r-squared (x y)
  "1 - squares of y - x over those of y about its mean."
  (- 1 (/ (sum (square (- y x))) (sum (square (- y (mean y)))))))

(defun iou (predictions targets n)
  "(n): of each class, what both name over what either names."
  (let* ((both (one-hot (flatten predictions) n :dtype :f32))
         (true (one-hot (flatten targets) n :dtype :f32))
         (shared (sum (* both true) :axis 0)))
    (/ shared (max (- (+ (sum both :axis 0) (sum true :axis 0)) shared) 1.0))))

(defun auc (scores labels)
  "The share of pairs of a positive and a negative that scores (n) order rightly, ties by half;
labels (n) bool, of all the pass: (nn:auc (over-pass scores) (over-pass labels))."
  (let* ((sorted (sort scores))
         (rank (* 0.5
                  (cast (+ (searchsorted sorted scores) (searchsorted sorted scores :right t))
                        :f32)))
         (y (cast labels :f32))
         (positive (sum y))
         (negative (sum (- 1 y)))
         (above (- (sum (* y (+ rank 0.5))) (* 0.5 (* positive (+ positive 1.0))))))
    (/ above (* positive negative))))

(defun average-precision (scores labels)
  "The mean over the positives of the precision at each one's place by falling scores (n)."
  (let* ((order (argsort scores :descending t))
         (y (cast (gather labels order) :f32))
         (place (+ (iota (dim y 0) :dtype :f32) 1.0)))
    (/ (sum (* y (/ (cumsum y) place))) (sum y))))

(defun recall-at (x y k)
  "The share of rows of x (n d) with the row of y of their number among the k nearest by product."
  (let* ((places (nth-value 1 (top-k (matmul x y :transpose-y t) k)))
         (own (unsqueeze (iota (dim places 0)) 1)))
    (mean (any (= places own) :axis 1))))

(defun correlation (x y &key (kind :pearson))
  "Of x and y (n): :pearson, or :spearman of their ranks, which has no ties."
  (when (eq kind :spearman)
    (setq x (cast (argsort (argsort x)) :f32) y (cast (argsort (argsort y)) :f32)))
  (let ((a (- x (mean x))) (b (- y (mean y))))
    (/ (sum (* a b)) (sqrt (* (sum (square a)) (sum (square b)))))))
