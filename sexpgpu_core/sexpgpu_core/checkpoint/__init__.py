"""Checkpoints: persistent values to folders that are whole or not there, and back, bit for bit.

`folder.Checkpoints` writes, lists, chooses, loads and prunes those of one run; `writer.Writer`
does it beside the steps. What stands in checkpoint.json is the runtime's business.
"""
