"""Code shared by the studies that simulate traces of real programs on models of processors (``cores``, ``coverage``). It is not a study itself."""
