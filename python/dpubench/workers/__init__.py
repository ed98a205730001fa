"""The control of a native program: job in, events out, limits."""
