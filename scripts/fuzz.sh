#!/bin/sh
# Runs every fuzzer in turn, each for SECONDS. Usage: fuzz.sh SECONDS
set -eu
targets=$(.venv/bin/python tests/fuzz/run.py --list)
for target in $targets; do
    if [ -f "tests/fuzz/${target}_fuzz.py" ]; then
        .venv/bin/python "tests/fuzz/${target}_fuzz.py" --seconds "$1"
    else
        .venv/bin/python tests/fuzz/run.py "$target" "$1"
    fi
done
