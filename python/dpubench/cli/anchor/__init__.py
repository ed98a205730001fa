"""Keep a build to measure later ones against, window by window: `dpubench run --against anchor`."""
