;;; sexpgpu/nn: layers, blocks, losses and metrics, each in the file of its family. Channels are
;;; last, sequences are (b n d). In these files a name with % before it is core's builtin.

(require "sexpgpu/nn/linear" :import :all)
(require "sexpgpu/nn/norms" :import :all)
(require "sexpgpu/nn/attention" :import :all)
(require "sexpgpu/nn/blocks" :import :all)
(require "sexpgpu/nn/convolution" :import :all)
(require "sexpgpu/nn/losses" :import :all)
(require "sexpgpu/nn/metrics" :import :all)

(provide linear bilinear embedding position-embedding sinusoidal-positions mlp gated-mlp layers
         highway layer-norm rms-norm group-norm instance-norm batch-norm layer-scale drop-path
         attention cross-attention transformer-block transformer patch-embedding pool conv
         conv-transpose depthwise-conv separable-conv residual-block global-pool cross-entropy
         binary-cross-entropy mse mae huber kl-divergence gaussian-kl hinge cosine-loss accuracy
         top-k-accuracy perplexity bits-per-byte f1 precision recall psnr)
