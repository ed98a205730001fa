"""The parts of a report that the pages of all studies share: frame, style, script, facts on machines, words."""
