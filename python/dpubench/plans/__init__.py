"""Plans: declared experiments in YAML, validated with file, line and the nearest valid word."""
