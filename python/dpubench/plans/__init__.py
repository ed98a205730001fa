"""Plans: the declared experiment as YAML, validated with file, line and the nearest valid word."""
