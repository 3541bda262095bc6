#!/usr/bin/env bash
# test.sh [STEP...] -- install what the tests need, build, and run everything. The last line is that of the last ctest run. Steps:
#
#   all (default)  clang asan tsan release
#   quick          release build, without the long comparisons (labels reference, identity, stats)
#   release        gcc, the whole suite
#   clang          clang with -Werror, build only
#   asan           the suite under AddressSanitizer and UndefinedBehaviorSanitizer
#   tsan           what runs on several threads, under ThreadSanitizer
#
# With CI=true nothing may be skipped for want of a device or a Python package.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

steps=("$@")
((${#steps[@]} > 0)) || steps=(all)
[[ ${steps[*]} == all ]] && steps=(clang asan tsan release)
for step in "${steps[@]}"; do
    case $step in
    quick | release | clang | asan | tsan) ;;
    *)
        sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        [[ $step == -h || $step == --help ]] && exit 0
        exit 2
        ;;
    esac
done

scripts/install-deps.sh --tests

export BANDMILL_REQUIRE_PYTHON=1 BM_PYTHON=$root/.venv/bin/python BANDMILL_PYTHON=$root/.venv/bin/python
if [[ ${CI:-} == true && -e $root/.venv/vendors/intel.icd ]]; then
    export BANDMILL_REQUIRE_OPENCL=2
fi
export OCL_ICD_VENDORS=$root/.venv/vendors LD_LIBRARY_PATH=$root/.venv/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# Nothing of an earlier run decides: the programs that OpenCL builds are cached in the build folder.
mkdir -p "$root/build/cache/pocl" "$root/build/cache/home"
export POCL_CACHE_DIR=$root/build/cache/pocl XDG_CACHE_HOME=$root/build/cache/home

say() { printf '== %s (%d s)\n' "$1" "$SECONDS"; }
# run_tests DIR [ctest options]
run_tests() {
    local dir=$1
    shift
    ctest --test-dir "$dir" --output-on-failure --parallel "$(nproc)" "$@"
}

for step in "${steps[@]}"; do
    say "$step: build"
    case $step in
    release | quick)
        scripts/build.sh build/release -DCMAKE_BUILD_TYPE=Release -DBM_TESTS=ON
        say "$step: tests"
        if [[ $step == quick ]]; then
            run_tests build/release -LE 'reference|identity|stats'
        else
            run_tests build/release
        fi
        ;;
    clang)
        scripts/build.sh build/clang -DCMAKE_BUILD_TYPE=Release -DBM_TESTS=ON -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++
        ;;
    asan)
        scripts/build.sh build/asan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBM_TESTS=ON -DBM_SANITIZE=address,undefined
        say "$step: tests"
        # A test asks for more memory than there is: that is an answer, not the end.
        ASAN_OPTIONS=allocator_may_return_null=1 LSAN_OPTIONS=suppressions=$root/scripts/lsan.supp:print_suppressions=0 run_tests build/asan
        ;;
    tsan)
        scripts/build.sh build/tsan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBM_TESTS=ON -DBM_SANITIZE=thread -- bandmill race_pipeline
        say "$step: tests"
        # Criterion does not start under ThreadSanitizer: the program and plain programs only.
        run_tests build/tsan -R '^(race_pipeline|cli_(dedup|bad_records|bad_files|interrupt))$'
        ;;
    esac
done
