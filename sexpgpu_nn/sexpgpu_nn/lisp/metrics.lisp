;;; Metrics

(provide accuracy top-k-accuracy perplexity bits-per-byte precision recall f1 psnr)

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
