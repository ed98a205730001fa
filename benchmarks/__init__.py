"""`make bench`: what the harness costs, and what the instrument can see. See docs/benchmarks.md."""
