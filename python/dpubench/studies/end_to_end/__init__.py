"""Study ``end-to-end``: real packets from a client through a server. docs/end-to-end.md holds the contract of its programs."""
