"""What studies share that simulate traces of real programs on models of processors (``cores``, ``coverage``): no study itself."""
