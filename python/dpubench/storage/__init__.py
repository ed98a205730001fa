"""Runs on disk: their directories, and SQL over them."""
