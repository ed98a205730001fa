"""Study ``counts``: how many instructions each engine executes per operation (docs/counts.md). `dpubench run operators --count` makes its runs."""
