"""`make bench`: the costs of the harness, and the sensitivity of the instrument. See docs/benchmarks.md."""
