"""Data: declared loaders to batches. Which examples a batch holds is a pure function of its place.

`kinds.SOURCES` is core's table of source kinds, `loader.Loader` what staging and the loop use.
Headers are pure Python; NumPy is imported where an array is made.
"""
