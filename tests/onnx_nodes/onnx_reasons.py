"""ONNX operations without a counterpart, and why. Those of `onnx_verdict.MAPPING` are not here."""

from __future__ import annotations

_ROWS = {
    "a shape that the data decide": "NonZero Unique NonMaxSuppression Loop If",
    "text": "StringConcat StringNormalizer StringSplit RegexFullMatch TfIdfVectorizer LabelEncoder",
    "sequences and optional values": "SequenceInsert SequenceMap SplitToSequence "
    "OptionalGetElement OptionalHasElement SequenceAt SequenceConstruct SequenceEmpty "
    "SequenceErase SequenceLength ConcatFromSequence Optional",
    "quantized integers": "QLinearConv QLinearMatMul QuantizeLinear DequantizeLinear "
    "DynamicQuantizeLinear",
    "random numbers of another generator": "Bernoulli RandomUniform RandomNormal "
    "RandomUniformLike RandomNormalLike Multinomial",
    "an optimizer: ours are updates in Lisp": "Adagrad Adam Momentum Gradient",
    "a recurrent layer: a scan of builtins, no builtin": "GRU LSTM RNN Scan",
    "files of pictures": "ImageDecoder",
    "trees of decisions": "TreeEnsemble",
    "the inverse of a pool by places": "MaxUnpool Col2Im",
    "windows of signals": "BlackmanWindow HammingWindow HannWindow STFT MelWeightMatrix",
    "boxes of pictures": "RoiAlign DeformConv",
    "a layer with a state of its own": "CausalConvWithState LinearAttention TensorScatter",
    "functions inside a node": "FlexAttention",
}

REASONS = {name: why for why, names in _ROWS.items() for name in names.split()}
