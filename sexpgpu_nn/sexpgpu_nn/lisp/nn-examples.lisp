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
