"""Save a build, to compare later builds with it, window by window: `dpubench run --against anchor`."""
