"""The path from an expanded plan to a finished run: rounds of fresh processes, budget, stopping, faults, interruption."""
