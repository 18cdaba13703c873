"""A toy plug-in: device, operation, module, source, tokenizer, store, sink, verb, code and page."""
