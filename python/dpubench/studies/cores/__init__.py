"""Study ``cores``: which processor organisation sustains which line rate for a packet-processing kernel, by the processor model."""
