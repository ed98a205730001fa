"""Study ``operators``: the speed of each basic operator by packet size and thread count (DPUBench, Wang et al. 2023)."""
