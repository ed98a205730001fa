"""Study ``cores``: the line rates that processor organisations sustain for packet-processing kernels, by processor models."""
