#!/bin/sh
# Every test, each runner with its own summary. Usage: test.sh BUILD_FOLDER. All are run even when one fails; the status tells.
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

# Checks left out, since each doubles what compiling takes: a null pointer and most wrong casts end under the address sanitizer all
# the same; alignment is checked where input is not ours, by the fuzzers. `UBSAN_SKIP= make test` has them all.
UBSAN_SKIP=${UBSAN_SKIP--fno-sanitize=null,vptr,alignment}

# -O1 keeps sanitizers quick. Libraries are not instrumented, their calls are.
sanitized() {
    kind=$1
    folder=$build-$2
    shift 2
    scripts/build.sh "$folder" -Dtests=true -Db_sanitize="$kind" -Db_lundef=false -Doptimization=1 "$@" && native_tests "$folder"
}

with_clang() (
    export CXX=clang++-14
    "$@"
)

fuzz_all() {
    seconds=$1
    status=0
    # Three to a core: each is one thread, and the seconds are of a clock on the wall.
    targets=$(.venv/bin/python tests/fuzz/run.py --list) || return 1
    echo "$targets" | xargs -P $((3 * $(nproc))) -I{} sh -c '
        log="'"$build"'/fuzz-{}.log"
        if [ -f tests/fuzz/{}_fuzz.py ]; then set -- tests/fuzz/{}_fuzz.py --seconds "'"$seconds"'"; else set -- tests/fuzz/run.py {} "'"$seconds"'"; fi
        if .venv/bin/python "$@" >"$log" 2>&1; then tail -n 2 "$log"; else tail -n 40 "$log"; exit 1; fi' || status=1
    return $status
}

step "native tests" native_tests "$build"
step "native tests, address and undefined behaviour sanitizers" sanitized address,undefined asan -Dcpp_args="$UBSAN_SKIP"
# What threads share is the harness and the engines' sessions: a few operators of different make show that.
# Built with Clang, so that the second compiler is tried too.
step "native tests, Clang and thread sanitizer" with_clang sanitized thread tsan -Donly=sha256,crc,lpm,aes,memcpy
# After the sanitizers: one of these tests compares two builds.
# One process more than cores, for they wait a lot: for a window's time to pass, for a worker to hang long enough.
step "python and browser tests" .venv/bin/python -m pytest -q -n $(($(nproc) + 1)) --dist worksteal --durations 15 tests
step "fuzzing" fuzz_all "${SECONDS_PER_FUZZER:-60}"
if [ -n "$failed" ]; then
    echo "test: failed:$failed" >&2
    exit 1
fi
echo "test: everything passed"
