"""Study ``counts``: instructions that each engine executes per operation (docs/counts.md). `dpubench run operators --count` makes its runs."""
