"""The connection to another machine: the system's OpenSSH client, and ``dpubench-agent`` at its other end (docs/architecture.md, "The agent")."""
