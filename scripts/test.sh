#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test.sh [STEP...] -- install what the tests need, build, and run everything. A step that fails does not keep the others from running: at the
# end all that failed is listed, and the exit code is 1. The last line is ctest's, of all of its runs together. Steps:
#
#   all (default)  gcc-11 release tsan asan, in this order: what OpenCL compilers build in `release` serves the others, in which they are slow
#   quick          release build, without the tests that have the label `long`: they take more than two seconds or so
#   release        gcc, the whole suite; then what uses the corpora beside the repository once more, as in a clone that has none
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
        sed -n '3,15s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        [[ $step == -h || $step == --help ]] && exit 0
        exit 2
        ;;
    esac
done

say() { printf '== %s (%d s)\n' "$1" "$SECONDS"; }
# Tests of ctest that ran and that failed; and the failures, a line each.
ran=0 bad=0 failures=()
failed() {
    failures+=("$1")
    say "failed: $1"
}

trap 'exit 130' INT TERM
# One core unpacks Python packages while the other begins with what needs none.
only=()
[[ ${steps[*]} != quick ]] || only=(--quick)
scripts/install-deps.sh --test-packages "${only[@]}" || failed "packages: scripts/install-deps.sh --test-packages"
scripts/install-deps.sh --test-venv "${only[@]}" &
venv=$!
stop_venv() { [[ -z $venv ]] || kill "$venv" 2> /dev/null || true; }
trap stop_venv EXIT
wait_for_venv() {
    [[ -z $venv ]] || wait "$venv" || failed "Python packages: scripts/install-deps.sh --test-venv"
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

# run_tests STEP [OPTION...]: ctest with these options, whose words are kept to be counted.
run_tests() {
    local step=$1 said=build/${1/quick/release}/tests.log rc=0 name counted='^[0-9]+% tests passed, ([0-9]+) tests failed out of ([0-9]+)'
    # Criterion does not start under ThreadSanitizer: the presets build and run the program and plain programs only.
    # One more than there are cores: some tests wait for a limit of time.
    shift
    ctest --preset "$step" --parallel "$(($(nproc) + 1))" "$@" 2>&1 | tee "$said" || rc=$?
    if [[ $(grep -E "$counted" "$said" | tail -n 1) =~ $counted ]]; then
        bad=$((bad + BASH_REMATCH[1])) ran=$((ran + BASH_REMATCH[2]))
    fi
    ((rc != 0)) || return 0
    local before=${#failures[@]}
    while IFS= read -r name; do
        failures+=("$step: $name${BANDMILL_TEST_CORPORA:+ (without the corpora)}")
    done < <(sed -n '/^The following tests FAILED:/,$s/^[[:space:]]*[0-9]* - //p' "$said")
    ((${#failures[@]} > before)) || failed "$step: ctest ended with $rc"
}

# What uses the corpora beside the repository, in a clone that has none: each test passes, or is skipped with a message.
run_without_corpora() {
    local users
    say "release: tests without the corpora"
    users=$(python3 tests/reference/corpora_users.py build/release) || { failed "release: tests that use the corpora"; return 0; }
    BANDMILL_TEST_CORPORA=$root/build/no-corpora BANDMILL_REQUIRE_CORPORA='' run_tests release --tests-regex "^(${users//$'\n'/|})\$"
}

for step in "${steps[@]}"; do
    if [[ $step == gcc-11 ]] && ! { command -v gcc-11 && command -v g++-11; } > /dev/null; then
        say "$step: left out, it is not installed"
        continue
    fi
    [[ $step == gcc-11 || $step == clang ]] || wait_for_venv
    say "$step: build"
    scripts/build.sh --preset "${step/quick/release}" || { failed "$step: build"; continue; }
    [[ $step != gcc-11 && $step != clang ]] || continue
    say "$step: tests"
    if [[ ${CI:-} == true && -e $root/.venv/vendors/intel.icd ]]; then
        export BANDMILL_REQUIRE_OPENCL=2
    fi
    run_tests "$step"
    [[ $step != release ]] || run_without_corpora
done
wait_for_venv

say "all steps: ${steps[*]}"
if ((${#failures[@]} > 0)); then
    printf '%d failed:\n' "${#failures[@]}"
    printf '    %s\n' "${failures[@]}"
fi
# What failed and is no test of ctest counts as one.
ran=$((ran + ${#failures[@]} - bad)) bad=${#failures[@]}
((ran == 0)) || printf '%d%% tests passed, %d tests failed out of %d\n' "$(((ran - bad) * 100 / ran))" "$bad" "$ran"
((bad == 0))
