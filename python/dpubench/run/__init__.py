"""The course of a run that every study shares: its record, its listener, its end, and several targets in turns."""
