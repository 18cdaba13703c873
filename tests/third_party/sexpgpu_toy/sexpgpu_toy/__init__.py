"""A toy plug-in: device, operation, module, source, store, sink, verb, code and page."""
