"""Code that studies of figures measured in rounds inherit: a study adds what it measures, and overrides what it does better. It is no study itself."""
