"""Study ``coverage``: how operators behave, and whether the set of them covers whole applications."""
