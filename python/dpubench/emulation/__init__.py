"""A whole emulated machine: Debian's kernel and programs for another architecture, packed into images that QEMU boots (docs/targets.md)."""
