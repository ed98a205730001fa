"""Study ``stress``: which kinds of operations are profitable on a device, by stress-ng (docs/stress-study.md)."""
