// The page of study counts has no figures: what it says is in its tables, and common.js has the rest.
