"""Study ``headroom``: how much CPU time is left on a device while it transmits at a given rate (docs/headroom-study.md)."""
