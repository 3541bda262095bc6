#!/usr/bin/env bash
# test.sh [STEP...] -- install what the tests need, build, and run everything. The last line is that of the last ctest run. Steps:
#
#   all (default)  gcc-11 release tsan asan, in this order: what OpenCL compilers build in `release` serves the others, in which they are slow
#   quick          release build, without the tests that have the label `long`: they take more than two seconds or so
#   release        gcc, the whole suite
#   asan           clang, the suite under AddressSanitizer and UndefinedBehaviorSanitizer
#   tsan           what runs on several threads, under ThreadSanitizer
#   gcc-11         build only, where it is installed: its warnings are errors, as everywhere
#   clang          the same without sanitizers, with the programs of libFuzzer
#
# A step is a preset of CMakePresets.json: `cmake --preset asan && cmake --build --preset asan && ctest --preset asan` is the same.
# With CI=true nothing may be skipped for want of a device or a Python package.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

steps=("$@")
((${#steps[@]} > 0)) || steps=(all)
[[ ${steps[*]} == all ]] && steps=(gcc-11 release tsan asan)
for step in "${steps[@]}"; do
    case $step in
    quick | release | asan | tsan | gcc-11 | clang) ;;
    *)
        sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        [[ $step == -h || $step == --help ]] && exit 0
        exit 2
        ;;
    esac
done

# One core unpacks Python packages while the other begins with what needs none.
scripts/install-deps.sh --test-packages
scripts/install-deps.sh --test-venv &
venv=$!
stop_venv() { kill "$venv" 2> /dev/null || true; }
trap stop_venv EXIT
wait_for_venv() {
    [[ -z $venv ]] || wait "$venv"
    venv=
}

export BANDMILL_REQUIRE_PYTHON=1
# What OpenCL's compilers make of the kernels, minutes of work, is kept between runs, where the presets say; it is found by the kernels'
# source, options and driver. What is a month old goes.
export HOME=${HOME:-/tmp}
kernels=$HOME/.cache/bandmill-test
mkdir -p "$kernels/pocl" "$kernels/home"
find "$kernels" -type f -mtime +30 -delete

# Tests make many small files and sync them: in memory none waits for a disk, where there is room and nobody said where. Some of `release`
# are on a disk all the same: bm_on_disk in tests/CMakeLists.txt.
if [[ -z ${TMPDIR:-} && -w /dev/shm ]] && (($(df --output=avail -k /dev/shm | tail -n 1) > 8 << 20)); then
    TMPDIR=$(mktemp -d /dev/shm/bandmill-test-XXXXXX)
    chmod a+x "$TMPDIR" # PostgreSQL, in the test of the examples, does not run as root
    export TMPDIR
    trap 'stop_venv; rm -rf "$TMPDIR"' EXIT
fi

say() { printf '== %s (%d s)\n' "$1" "$SECONDS"; }
for step in "${steps[@]}"; do
    if [[ $step == gcc-11 ]] && ! { command -v gcc-11 && command -v g++-11; } > /dev/null; then
        say "$step: left out, it is not installed"
        continue
    fi
    [[ $step == gcc-11 || $step == clang ]] || wait_for_venv
    say "$step: build"
    scripts/build.sh --preset "${step/quick/release}"
    [[ $step != gcc-11 && $step != clang ]] || continue
    say "$step: tests"
    if [[ ${CI:-} == true && -e $root/.venv/vendors/intel.icd ]]; then
        export BANDMILL_REQUIRE_OPENCL=2
    fi
    # Criterion does not start under ThreadSanitizer: the presets build and run the program and plain programs only.
    # One more than there are cores: some tests wait for a limit of time.
    ctest --preset "$step" --parallel "$(($(nproc) + 1))"
done
wait_for_venv
