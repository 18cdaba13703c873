;;; Mixture of experts

(require "sexpgpu/nn/linear" :import (linear))

(provide moe)

(defmodel moe (x &key (experts 8) (top 2) (hidden (* 4 (dim x -1))) (activation #'silu)
               (capacity 1.25) (out :drop))
  "Gated feed-forwards, top of them a token, weighed by the router: (values y probabilities logits),
both of the router (b n experts), for load-balance and router-z-loss. capacity: an expert takes so
many times its even share of a sequence (b n d), first choices first, and drops the rest, so that
what a token gets depends on later ones; nil drops none: every expert computes every token (Shazeer
et al. 2017; Fedus et al. 2021)."
  (let* ((logits (linear x experts :bias nil :name "router")) (p (softmax logits)))
    (multiple-value-bind (weights index) (top-k p top)
      (let ((weights (/ weights (sum weights :axis -1 :keep t))))
        (values (if capacity
                    (sent x weights index experts hidden activation capacity out)
                    (mixed x weights index experts hidden activation))
                p
                logits)))))

(defun mixed (x weights index experts hidden activation)
  "All experts of all tokens as one feed-forward, its units weighed; 0 where not chosen."
  (bind-shape (b n d) x
    (let ((units (* experts hidden))
          (share (sum (* (unsqueeze weights -1) (one-hot index experts :dtype (dtype x))) :axis 2)))
      (multiple-value-bind (gate up down) (expert-weights experts d hidden)
        (flet ((all (w) (matmul x (reshape (permute w '(1 0 2)) (list d units)))))
          (let* ((h (* (funcall activation (all gate)) (all up)))
                 (h (* (reshape h (list b n experts hidden)) (unsqueeze share -1))))
            (matmul (reshape h (list b n units)) (reshape down (list units d)))))))))

(defun sent (x weights index experts hidden activation capacity out)
  "Each expert's tokens gathered, and given back."
  (bind-shape (b n d) x
    (let* ((top (dim index -1))
           (room (min n (ceiling (* capacity top n) experts)))
           (slots (slots-of index experts room))
           (taken (dispatched x slots (* experts room) top out))
           (y (expert-layers (reshape taken (list b experts room d)) hidden activation))
           (back (gather (reshape y (list b (* experts room) d)) slots
                         :axis 1
                         :batch-axes 1
                         :out out))
           (parts (reshape back (list b top n d))))
      (sum (* parts (unsqueeze (transpose weights) -1)) :axis 1))))

(defun slots-of (index experts room)
  "The slot of each choice (b top n): its expert's first and its number there; past all if full."
  (bind-shape (b n top) index
    (let* ((chosen (reshape (transpose index) (list b (* top n))))
           (one (one-hot chosen experts :dtype :i32))
           (number (sum (* one (cumsum one :axis 1 :exclusive t)) :axis -1)))
      (where (< number room) (+ (* chosen room) number) (* experts room)))))

(defun dispatched (x slots count top out)
  "Rows of x (b n d) in their slots (b count d), 0 where a slot is empty."
  (bind-shape (b n d) x
    (let* ((token (mod (iota (* top n)) n))
           (token (broadcast-to (unsqueeze token 0) (shape slots)))
           (from (put-along (full (list b count) n :dtype :i32) slots token :out out)))
      (gather x from :axis 1 :batch-axes 1 :out out))))

(defun expert-layers (x hidden activation)
  "A gated feed-forward an expert: (b experts room d)."
  (multiple-value-bind (gate up down) (expert-weights (dim x 1) (dim x -1) hidden)
    (let ((h (* (funcall activation (einsum "becd,edh->bech" x gate))
                (einsum "becd,edh->bech" x up))))
      (einsum "bech,ehd->becd" h down))))

(defun expert-weights (experts d hidden)
  "(values gate up down)"
  (values (expert-weight experts d hidden :name "gate")
          (expert-weight experts d hidden :name "up")
          (expert-weight experts hidden d :name "down")))

(defmodel expert-weight (experts in out)
  "A matrix an expert."
  (defparam w (experts in out) :init (lecun :batch-axes 1))
  w)
