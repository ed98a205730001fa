"""Give names to machines that are measured, look at what is there, remove what was put there."""
