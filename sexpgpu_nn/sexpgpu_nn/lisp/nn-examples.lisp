;;;; linear
(nn:linear x 10)
;;;; bilinear
(nn:bilinear x (relu x) 10)
;;;; embedding
(nn:embedding (cast x :i32) 17 32)
;;;; position-embedding
(nn:position-embedding (reshape x '(-1 8 8)))
;;;; sinusoidal-positions
(+ x (nn:sinusoidal-positions (dim x 0) 64))
;;;; mlp
(nn:mlp x :hidden 128 :dropout 0.1)
;;;; gated-mlp
(nn:gated-mlp x :hidden 128)
;;;; layers
(nn:layers x '(128 64 10))
;;;; highway
(nn:highway x)
;;;; layer-norm
(nn:layer-norm x)
;;;; rms-norm
(nn:rms-norm x)
;;;; group-norm
(nn:group-norm (reshape x '(-1 4 4 4)) 2)
;;;; instance-norm
(nn:instance-norm (reshape x '(-1 4 4 4)))
;;;; batch-norm
(nn:batch-norm x)
;;;; layer-scale
(+ x (nn:layer-scale (nn:mlp x)))
;;;; drop-path
(+ x (nn:drop-path (nn:mlp x) 0.1))
;;;; attention
(nn:attention (reshape x '(-1 8 8)) :heads 2 :causal t)

;;;; cross-attention
(let ((s (reshape x '(-1 8 8))))
  (nn:cross-attention s (relu s) :heads 2))

;;;; transformer-block
(nn:transformer-block (reshape x '(-1 8 8)) :heads 2 :causal t)
;;;; transformer
(nn:transformer (reshape x '(-1 8 8)) 2 :heads 2 :causal t)
;;;; patch-embedding
(nn:patch-embedding (reshape x '(-1 8 8 1)) 4 32)
;;;; pool
(nn:pool (reshape x '(-1 8 8)) :kind :max)
;;;; conv
(nn:conv (reshape x '(-1 8 8 1)) 16 :stride 2)
;;;; conv-transpose
(nn:conv-transpose (reshape x '(-1 8 8 1)) 4)
;;;; depthwise-conv
(nn:depthwise-conv (reshape x '(-1 4 4 4)))
;;;; separable-conv
(nn:separable-conv (reshape x '(-1 4 4 4)) 8)
;;;; residual-block
(nn:residual-block (reshape x '(-1 4 4 4)) 8 :stride 2)
;;;; global-pool
(nn:global-pool (nn:conv (reshape x '(-1 8 8 1)) 16))
;;;; cross-entropy
(nn:cross-entropy (nn:linear x 64) (argmax x :axis 1) :smoothing 0.1)
;;;; binary-cross-entropy
(nn:binary-cross-entropy (nn:linear x 64) (cast (> x 8) :f32))
;;;; mse
(nn:mse (nn:linear x 64) x)
;;;; mae
(nn:mae (nn:linear x 64) x)
;;;; huber
(nn:huber (nn:linear x 64) x :delta 2)
;;;; kl-divergence
(nn:kl-divergence (nn:linear x 64) x :temperature 2)
;;;; gaussian-kl
(nn:gaussian-kl (nn:linear x 8) (nn:linear x 8))
;;;; hinge
(nn:hinge (nn:linear x 64) (where (> x 8) 1.0 -1.0))
;;;; cosine-loss
(nn:cosine-loss (nn:linear x 64) x)
;;;; accuracy
(nn:accuracy (nn:linear x 64) (argmax x :axis 1))
;;;; top-k-accuracy
(nn:top-k-accuracy (nn:linear x 64) (argmax x :axis 1) 5)
;;;; perplexity
(nn:perplexity (nn:cross-entropy (nn:linear x 64) (argmax x :axis 1)))
;;;; bits-per-byte
(nn:bits-per-byte (nn:cross-entropy (nn:linear x 64) (argmax x :axis 1)))
;;;; precision
(nn:precision (> (nn:linear x 64) 0) (> x 8))
;;;; recall
(nn:recall (> (nn:linear x 64) 0) (> x 8))
;;;; f1
(nn:f1 (> (nn:linear x 64) 0) (> x 8))
;;;; psnr
(nn:psnr (nn:linear x 64) x :peak 16)
;;;; time-embedding
(+ x (nn:time-embedding (sum x :axis 1) 64))
;;;; fourier-features
(nn:linear (nn:fourier-features x 32 :scale 0.1) 10)
;;;; lora
(nn:lora x (lambda (x) (nn:linear x 10)) 4 :alpha 8)
;;;; weight-norm
(nn:weight-norm x 10)
;;;; spectral-norm
(nn:spectral-norm x 10)

;;;; ada-layer-norm
(let ((s (reshape x '(-1 8 8))))
  (nn:ada-layer-norm s (mean s :axis 1)))

;;;; latent-attention
(nn:latent-attention (reshape x '(-1 8 8)) :heads 2 :rank 4 :rope-size 2 :causal t)
;;;; linear-attention
(nn:linear-attention (reshape x '(-1 8 8)) :heads 2 :causal t)
;;;; alibi
(nn:attention (reshape x '(-1 8 8)) :heads 2 :position-bias (nn:alibi 2 8))
;;;; relative-bias
(nn:attention (reshape x '(-1 8 8)) :heads 2 :position-bias (nn:relative-bias 2 8))

;;;; decoder-block
(let ((s (reshape x '(-1 8 8))))
  (nn:decoder-block s (relu s) :heads 2))

;;;; attention-pool
(nn:attention-pool (reshape x '(-1 8 8)) :heads 2)
;;;; causal-conv
(nn:causal-conv (reshape x '(-1 8 8)) 16 :dilation 2)
;;;; bottleneck-block
(nn:bottleneck-block (reshape x '(-1 4 4 4)) 2 :stride 2)
;;;; squeeze-excite
(nn:squeeze-excite (nn:conv (reshape x '(-1 8 8 1)) 16))
;;;; inverted-residual
(nn:inverted-residual (reshape x '(-1 4 4 4)) 8 :stride 2 :squeeze 4)
;;;; convnext-block
(nn:convnext-block (reshape x '(-1 4 4 4)) :kernel 3)

;;;; unet-block
(let ((h (reshape x '(-1 4 4 4))))
  (nn:unet-block h 8 (mean h :axis '(1 2)) :groups 2))

;;;; rnn
(nn:rnn (reshape x '(-1 8 8)) 16)
;;;; lstm
(nn:lstm (reshape x '(-1 8 8)) 16)
;;;; gru
(nn:gru (reshape x '(-1 8 8)) 16)
;;;; bidirectional
(nn:bidirectional #'nn:lstm (reshape x '(-1 8 8)) 16)
;;;; stacked
(nn:stacked #'nn:gru (reshape x '(-1 8 8)) 16 2 :dropout 0.1)
;;;; rg-lru
(nn:rg-lru (reshape x '(-1 8 8)))
;;;; min-gru
(nn:min-gru (reshape x '(-1 8 8)) 16)

;;;; selective-scan
(let ((s (reshape x '(-1 8 8))) (a (tensor '((-1.0 -2.0)))))
  (nn:selective-scan s (softplus s) (broadcast-to a '(8 2)) (nn:linear s 2) (nn:linear s 2)))

;;;; mamba
(nn:mamba (reshape x '(-1 8 8)) :state-size 4)
;;;; mamba2
(nn:mamba2 (reshape x '(-1 8 8)) :state-size 4 :head-size 8 :chunk 4)
;;;; moe
(nn:moe (reshape x '(-1 8 8)) :experts 4 :hidden 16)

;;;; graph-conv
(let ((edges (tensor '((0 1 2 1 2 0) (1 2 0 0 1 2)))))
  (nn:graph-conv (nn:linear x 16) edges 10))

;;;; graph-attention
(let ((edges (tensor '((0 1 2 1 2 0) (1 2 0 0 1 2)))))
  (nn:graph-attention (nn:linear x 16) edges 10 :heads 2))

;;;; dot-interaction
(nn:linear (nn:dot-interaction (reshape x '(-1 8 8))) 1)
;;;; factorization-machine
(nn:factorization-machine (reshape (nn:linear x 64) '(-1 8 8)))

;;;; vector-quantize
(multiple-value-bind (y index loss) (nn:vector-quantize (nn:linear x 8) 16)
  (declare (ignorable index))
  (+ (nn:mse (nn:linear y 64) x) loss))

;;;; focal
(nn:focal (nn:linear x 64) (cast (> x 8) :f32))
;;;; gaussian-nll
(nn:gaussian-nll (nn:linear x 64) (nn:linear x 64) x)
;;;; poisson-nll
(nn:poisson-nll (nn:linear x 64) x)
;;;; reparameterize
(nn:linear (nn:reparameterize (nn:linear x 8) (nn:linear x 8)) 64)
;;;; triplet
(nn:triplet (nn:linear x 8) (nn:linear x 8) (nn:linear x 8))
;;;; info-nce
(nn:info-nce (nn:linear x 8) (nn:linear x 8) :symmetric t)
;;;; dice
(nn:dice (nn:linear x 64) (cast (> x 8) :f32))

;;;; dpo
(flet ((score (x) (sum (nn:linear x 4) :axis 1)))
  (nn:dpo (score x) (score (- x)) (sum x :axis 1) (sum (- x) :axis 1)))

;;;; load-balance
(nn:load-balance (softmax (nn:linear x 4)))
;;;; router-z-loss
(nn:router-z-loss (nn:linear x 4))

;;;; ctc
(let ((size (cast (ones (list (dim x 0))) :i32)))
  (nn:ctc (nn:linear (reshape x '(-1 8 8)) 4)
          (broadcast-to (tensor '((1 2))) (list (dim x 0) 2))
          (* 8 size)
          (* 2 size)))

;;;; confusion
(cast (nn:confusion (argmax (nn:linear x 64) :axis 1) (argmax x :axis 1) 64) :f32)
;;;; r-squared
(nn:r-squared (nn:linear x 64) x)
;;;; iou
(nn:iou (argmax (nn:linear x 64) :axis 1) (argmax x :axis 1) 64)
;;;; auc
(nn:auc (flatten (nn:linear x 1)) (> (flatten (slice x :axis 1 :start 0 :end 1)) 8))
;;;; average-precision
(nn:average-precision (flatten (nn:linear x 1)) (> (flatten (slice x :axis 1 :start 0 :end 1)) 8))
;;;; recall-at
(nn:recall-at (nn:linear x 8) (nn:linear x 8) 3)
;;;; correlation
(nn:correlation (flatten (nn:linear x 1)) (sum x :axis 1) :kind :spearman)
