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
    .venv/bin/meson test -C "$1" --no-rebuild --print-errorlogs --num-processes 1
}

# Sanitizers see every operator and engine; -O1 keeps them quick. Libraries are not instrumented.
sanitized() {
    kind=$1
    scripts/build.sh "$build-$2" -Dtests=true -Db_sanitize="$kind" -Db_lundef=false -Doptimization=1 -Dbuildtype=custom && native_tests "$build-$2"
}

fuzz_all() {
    seconds=$1
    status=0
    # Two at a time: each is one thread.
    printf '%s\n' capture job prefixes rules plan | xargs -P 2 -I{} sh -c '
        log="'"$build"'/fuzz-{}.log"
        if [ {} = plan ]; then set -- tests/fuzz/plan_fuzz.py --seconds "'"$seconds"'"; else set -- tests/fuzz/run.py {} "'"$seconds"'"; fi
        if .venv/bin/python "$@" >"$log" 2>&1; then tail -n 2 "$log"; else tail -n 40 "$log"; exit 1; fi' || status=1
    return $status
}

step "native tests" native_tests "$build"
step "python and browser tests" .venv/bin/python -m pytest -q tests
step "fuzzing" fuzz_all "${SECONDS_PER_FUZZER:-60}"
step "native tests, address and undefined behaviour sanitizers" sanitized address,undefined asan
step "native tests, thread sanitizer" sanitized thread tsan
if [ -n "$failed" ]; then
    echo "test: failed:$failed" >&2
    exit 1
fi
echo "test: everything passed"
