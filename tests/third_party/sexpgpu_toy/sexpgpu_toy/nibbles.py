"""The tokenizer :toy-nibbles: a byte is two tokens of four bits, the high one first."""


class Nibbles:
    def __init__(self, options):
        self.base = options["base"]

    def encode(self, data):
        return [half for byte in data for half in (byte >> 4, byte & 15)]

    def encode_parts(self, parts):
        return map(self.encode, parts)

    def decode(self, ids):
        return bytes(high << 4 | low for high, low in zip(ids[::2], ids[1::2]))
