"""Code shared by the studies ``cores`` and ``coverage``: models of processors, kernels and their traces, simulations (docs/cores.md).

It builds on traces, programs, bundles, inputs, workers and errors. It does not depend on any study.
"""
