"""A native program under control: job in, events out, limits."""
