"""Study ``coverage``: the behaviour of operators, and whether the set of them covers whole applications."""
