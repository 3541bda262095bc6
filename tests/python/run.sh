#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh PART BUILD PROGRAM -- the tests (package, checked, interrupts; corpora for those that use the corpora beside the repository; spark, spark_connect,
# spark_files and executors for those that need Java), types or form of the Python package that stands in BUILD/bandmill. Where it was not built: a message and
# 77, or a failure where BANDMILL_REQUIRE_PYTHON=1.
#
# `checked` runs the tests of bandmill.compat in BUILD/checked/bandmill, whose own C (python/tools, and what cffi makes) has AddressSanitizer
# and UndefinedBehaviorSanitizer, and sees what of Python's objects lies beyond their ends or is freed. With BANDMILL_CHECKED=all all tests of
# the package that need no Java, about a minute: by hand, after changes to python/tools or to how options are filled.
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${BANDMILL_PYTHON:-$root/.venv/bin/python}
if [ ! -x "$python" ] || [ ! -e "$2/bandmill/_native.abi3.so" ]; then
    echo "skipped: the Python package is not in $2 (cmake -DBM_PYTHON=ON; scripts/test.sh)"
    [ "${BANDMILL_REQUIRE_PYTHON:-0}" = 1 ] && exit 1
    exit 77
fi
case $1 in
package | corpora)
    export PYTHONPATH="$2" BANDMILL_PROGRAM="$3"
    # Names of these files hold no blanks.
    with_corpora=$(cd "$root/python/tests" && grep -l 'corpora\.FOLDER' test_*.py)
    cd "$root/python/tests" || exit 1
    if [ "$1" = corpora ]; then
        set -- $with_corpora
    else
        set -- --ignore-glob 'test_spark*.py' $(printf -- '--ignore %s ' $with_corpora) .
    fi
    exec "$python" -m pytest -p no:cacheprovider -c "$root/python/pyproject.toml" "$@"
    ;;
checked)
    runtime=$(ldd "$2/checked/bandmill/_native.abi3.so" 2> /dev/null | awk '/lib(asan|stdc\+\+)\.so/ {print $3}' | tr '\n' ' ')
    case $runtime in
    *asan*) ;;
    *)
        echo "skipped: no package with sanitizers in $2/checked (a build by gcc with BM_TESTS)"
        exit 77
        ;;
    esac
    set -- "$2" "$3" "$root/python/tests/test_compat.py" "$root/python/tests/test_compat_sessions.py" "$root/python/tests/test_jobs.py"
    which="(compat and not constructors and not thresholds and not calls_of_sketches) or test_tune"
    if [ "${BANDMILL_CHECKED:-}" = all ]; then
        set -- "$1" "$2" --ignore-glob "$root/python/tests/test_spark*.py" "$root/python/tests"
        which="not no_leak" # freed memory is kept for a while
    fi
    build=$1 program=$2
    shift 2
    fixed="setarch -R" # addresses: some that a kernel chooses are the sanitizer's own
    $fixed true 2> /dev/null || fixed=
    # Python's own memory as the C library's, which the sanitizer watches; reports on the file that the shell has for them.
    LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc PYTHONPATH=$build/checked \
        BANDMILL_PROGRAM=$program exec $fixed "$python" -m pytest --capture=sys -p no:cacheprovider -c "$root/python/pyproject.toml" -k "$which" "$@"
    ;;
interrupts) PYTHONPATH=$2 exec "$python" "$root/tests/python/interrupts.py" ;; # before a release: --interrupts 2000 --uncaught 30
spark | spark_connect | spark_files | executors) # in processes of their own: one has one session
    which="not on_executors" file=test_$1.py
    [ "$1" != executors ] || which=on_executors file=test_spark.py
    PYTHONPATH=$2 BANDMILL_PROGRAM=$3 "$python" -m pytest -p no:cacheprovider -c "$root/python/pyproject.toml" -rs -W ignore -k "$which" \
        "$root/python/tests/$file"
    status=$?
    [ $status -eq 5 ] && exit 77 # nothing to run with
    exit $status
    ;;
types) cd "$root/python" && exec "$python" -m mypy --cache-dir "$2/mypy" ;;
form) cd "$root/python" && "$python" -m ruff check --no-cache . && exec "$python" -m ruff format --no-cache --check . ;;
esac
