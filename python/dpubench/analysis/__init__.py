"""Statistics and words that the analysis of every study uses."""
