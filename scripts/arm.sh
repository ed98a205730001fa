#!/bin/sh
# Compiles the native half for 64-bit Arm on another machine, runs its tests under an emulator, and lists the engines that Arm has.
# Usage: arm.sh BUILD_FOLDER. An emulated run shows only whether results are right; its times mean nothing.
set -eu
build=$1
if [ "$(uname -m)" = aarch64 ]; then
    echo "arm: this machine is one: 'make test' shows the same without an emulator" >&2
    exit 1
fi
scripts/cross.sh aarch64 "$build" -Dtests=true

echo "== engines on aarch64"
# Take the emulator's command, with its libraries and processor, from Meson's cross file: Meson runs the tests with it.
eval "$(sed -n "s/^exe_wrapper = \[\(.*\)\]/set -- \1/p" "$build/cross.ini" | tr -d ,)"
"$@" "$build/native/dpubench-operators" --list | .venv/bin/python -c '
import json, sys
for operator in json.loads(sys.stdin.readline())["catalog"]["operators"]:
    for engine in operator["engines"]:
        print("{:12} {:16} {}".format(operator["name"], engine["name"], engine["reason"] or engine["library"] or "here"))'

echo "== bundle for aarch64"
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
.venv/bin/dpubench bundle --arch aarch64 --build "$build" -o "$unpacked/bundle.tar.gz"
tar xzf "$unpacked/bundle.tar.gz" -C "$unpacked"
lib=$(echo "$unpacked"/*/lib)
for program in dpubench-operators dpubench-server dpubench-applications dpubench-workloads dpubench-tool dpubench-link; do
    # The emulator gets no sysroot here, so that a program starts only if the bundle holds all that it needs.
    qemu-aarch64 -L /nonexistent -cpu "$5" "$lib"/ld-linux-aarch64.so.1 --library-path "$lib" "$lib/$program" --list >"$unpacked/bundle.json"
    "$@" "$build/native/$program" --list >"$unpacked/build.json"
    .venv/bin/python - "$unpacked/bundle.json" "$unpacked/build.json" "$program" <<'END'
import json, re, sys
# Ignore the folders in which the programs looked for drivers: they differ.
bundle, build = (re.sub(r"(no librte_\w+\.so in )[^(]*", r"\1", json.dumps(json.load(open(name))["catalog"])) for name in sys.argv[1:3])
sys.exit(0 if bundle == build else f"arm: {sys.argv[3]} of the bundle does not list what its build lists")
END
done

echo "== every engine of the quick plan from the bundle, under qemu-aarch64"
.venv/bin/dpubench run --plan quick --target "qemu:aarch64,bundle=$unpacked/bundle.tar.gz" --results "$unpacked/results"

# The tracing plugin and the model come from this machine's own build.
if [ -e "${build%-aarch64}/native/libdpubench-trace.so" ]; then
    echo "== traces of every engine from the bundle"
    XDG_CACHE_HOME="$unpacked/cache" DPUBENCH_PROGRAMS="$(realpath "${build%-aarch64}/native")" PYTHONPATH=python \
        .venv/bin/python tests/arm_traces.py "$unpacked/bundle.tar.gz"
else
    echo "arm: no traces: ${build%-aarch64} holds no tracing plugin; \`make build\` makes one where libzstd is installed"
fi

echo "== native tests under qemu-aarch64"
.venv/bin/meson test -C "$build" --no-rebuild --num-processes 2 --timeout-multiplier 10 || {
    grep -E '^\[  FAILED|Failure|ERROR: |SUMMARY: |qemu: ' "$build/meson-logs/testlog.txt" >&2
    exit 1
}
# Meson reports whole test programs only. GoogleTest's counts show how many tests ran in each.
grep -E '^\[  (PASSED|SKIPPED) |tests? suites? ran' "$build/meson-logs/testlog.txt"
