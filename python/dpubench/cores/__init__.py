"""What the studies ``cores`` and ``coverage`` share: processors as models see them, kernels and their traces, simulations (docs/cores.md).

It stands on traces, programs, bundles, inputs, workers and errors; nothing in it knows a study.
"""
