"""Archives of the native programs for another machine: made here, kept in the cache, unpacked where they run."""
