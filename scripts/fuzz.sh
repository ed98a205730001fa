#!/bin/sh
# Every fuzzer in turn. Usage: fuzz.sh SECONDS
set -eu
for target in a64 capture frame job prefixes reassembly rules trace; do
    .venv/bin/python tests/fuzz/run.py "$target" "$1"
done
.venv/bin/python tests/fuzz/plan_fuzz.py --seconds "$1"
