"""From an expanded plan to a finished run: rounds of fresh processes, the budget, stopping, faults, interruption."""
