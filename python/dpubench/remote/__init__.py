"""The way to another machine: the system's OpenSSH client, and ``dpubench-agent`` at the other end of it. docs/architecture.md, "The agent"."""
