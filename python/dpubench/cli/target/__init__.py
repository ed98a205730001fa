"""Name the machines to measure, check what is there, and remove what dpubench put there."""
