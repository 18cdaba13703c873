;;; sexpgpu/nn: layers, blocks, losses and metrics, each in the file of its family. Channels are
;;; last, sequences are (b n d). In these files a name with % before it is core's builtin.

(require "sexpgpu/nn/linear" :import :all)
(require "sexpgpu/nn/norms" :import :all)
(require "sexpgpu/nn/attention" :import :all)
(require "sexpgpu/nn/blocks" :import :all)
(require "sexpgpu/nn/convolution" :import :all)
(require "sexpgpu/nn/recurrent" :import :all)
(require "sexpgpu/nn/statespace" :import :all)
(require "sexpgpu/nn/mixtures" :import :all)
(require "sexpgpu/nn/graphs" :import :all)
(require "sexpgpu/nn/losses" :import :all)
(require "sexpgpu/nn/metrics" :import :all)

(provide linear bilinear embedding position-embedding sinusoidal-positions mlp gated-mlp layers
         highway time-embedding fourier-features lora layer-norm rms-norm group-norm instance-norm
         batch-norm layer-scale drop-path weight-norm spectral-norm ada-layer-norm attention
         cross-attention latent-attention linear-attention alibi relative-bias transformer-block
         transformer decoder-block patch-embedding pool attention-pool conv conv-transpose
         depthwise-conv separable-conv residual-block global-pool causal-conv bottleneck-block
         squeeze-excite inverted-residual convnext-block unet-block rnn lstm gru bidirectional
         stacked min-gru rg-lru selective-scan mamba mamba2 moe graph-conv graph-attention
         dot-interaction factorization-machine vector-quantize cross-entropy binary-cross-entropy
         mse mae huber kl-divergence gaussian-kl hinge cosine-loss focal gaussian-nll poisson-nll
         reparameterize triplet info-nce dice dpo load-balance router-z-loss ctc accuracy
         top-k-accuracy perplexity bits-per-byte precision recall f1 psnr confusion r-squared iou
         auc average-precision recall-at correlation)
