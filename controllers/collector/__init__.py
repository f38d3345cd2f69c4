"""What Python's garbage collector is spared.

    loading  while modules are imported
    heap     once the caches have their first lists

docs/profiling.md has what it costs otherwise.
"""
