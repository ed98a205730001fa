#!/bin/sh
# Runs every test; each runner prints its own summary. Usage: test.sh BUILD_FOLDER
# All runners run even when one fails; the exit status tells whether one did.
set -u
build=$1
failed=
step() {
    name=$1
    shift
    echo "== $name"
    start=$(date +%s)
    "$@" || failed="$failed '$name'"
    echo "== $name: $(($(date +%s) - start)) s"
}

native_tests() {
    .venv/bin/meson test -C "$1" --no-rebuild --num-processes 2 || { grep -E "^\[  FAILED|Failure|ERROR: |SUMMARY: |runtime error" "$1/meson-logs/testlog.txt" >&2; return 1; }
}

# Skip these checks, because each doubles the compile time. The address sanitizer still stops null pointers and most wrong casts. The
# fuzzers still check alignment, on input that is not ours. `UBSAN_SKIP= make test` runs all checks.
UBSAN_SKIP=${UBSAN_SKIP--fno-sanitize=null,vptr,alignment}

# -O1 keeps the sanitizers fast. Libraries are not instrumented; calls to them are. Eight sources are compiled at a time, which halves the time of
# the product's own.
sanitized() {
    kind=$1
    folder=$build-$2
    shift 2
    scripts/build.sh "$folder" -Dtests=true -Db_sanitize="$kind" -Db_lundef=false -Doptimization=1 -Dunity=on -Dunity_size=8 "$@" && native_tests "$folder"
}

with_clang() (
    export CXX=clang++-14
    "$@"
)

fuzz_all() {
    seconds=$1
    status=0
    # Start three fuzzers per core: each has one thread, and its seconds are wall-clock time.
    targets=$(.venv/bin/python tests/fuzz/run.py --list) || return 1
    # shellcheck disable=SC2016  # the inner shell expands what stands in single quotes
    echo "$targets" | xargs -P $((3 * $(nproc))) -I{} sh -c '
        log="'"$build"'/fuzz-{}.log"
        if [ -f tests/fuzz/{}_fuzz.py ]; then set -- tests/fuzz/{}_fuzz.py --seconds "'"$seconds"'"; else set -- tests/fuzz/run.py {} "'"$seconds"'"; fi
        if .venv/bin/python "$@" >"$log" 2>&1; then tail -n 2 "$log"; else tail -n 40 "$log"; exit 1; fi' || status=1
    return $status
}

step "native tests" native_tests "$build"
step "native tests, address and undefined behaviour sanitizers" sanitized address,undefined asan -Dcpp_args="$UBSAN_SKIP"
# Threads share only the harness and the engines' sessions, so a few operators of different kinds are enough.
# Clang builds these tests, so that the second compiler is tried too.
step "native tests, Clang and thread sanitizer" with_clang sanitized thread tsan -Donly=sha256,crc,lpm,aes,memcpy
# Run these after the sanitizers: one of them compares two builds.
# Start one process more than there are cores, because the tests wait a lot: for a window's time to pass, for a worker to hang long enough.
step "python and browser tests" .venv/bin/python -m pytest -q -n $(($(nproc) + 1)) --dist worksteal --durations 15 tests
step "fuzzing" fuzz_all "${SECONDS_PER_FUZZER:-25}"
if [ -n "$failed" ]; then
    echo "test: failed:$failed" >&2
    exit 1
fi
echo "test: everything passed"
