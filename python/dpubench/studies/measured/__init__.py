"""Code that studies of figures measured in rounds inherit. A study adds what it measures, and overrides what it does better. This is no study."""
