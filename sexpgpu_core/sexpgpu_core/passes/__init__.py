"""Graph to graph: each pass a small function of its own, all through one rebuilding walk."""
