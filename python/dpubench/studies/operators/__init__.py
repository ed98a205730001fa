"""Study ``operators``: how fast is each basic operator, at which packet size and thread count (DPUBench, Wang et al. 2023)."""
