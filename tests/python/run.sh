#!/bin/sh
# run.sh PART BUILD PROGRAM -- the tests (package; spark and spark_executors for those that need Java), types or form of the Python package that stands in
# BUILD/bandmill. Where it was not built: a message and 77, or a failure where BANDMILL_REQUIRE_PYTHON=1.
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${BANDMILL_PYTHON:-$root/.venv/bin/python}
if [ ! -x "$python" ] || [ ! -e "$2/bandmill/_native.abi3.so" ]; then
    echo "skipped: the Python package is not in $2 (cmake -DBM_PYTHON=ON; scripts/test.sh)"
    [ "${BANDMILL_REQUIRE_PYTHON:-0}" = 1 ] && exit 1
    exit 77
fi
case $1 in
package) PYTHONPATH=$2 BANDMILL_PROGRAM=$3 exec "$python" -m pytest -p no:cacheprovider -c "$root/python/pyproject.toml" --ignore "$root/python/tests/test_spark.py" "$root/python/tests" ;;
spark | spark_executors)
    which="not on_executors_of_their_own"
    [ "$1" = spark ] || which="on_executors_of_their_own"
    PYTHONPATH=$2 BANDMILL_PROGRAM=$3 "$python" -m pytest -p no:cacheprovider -c "$root/python/pyproject.toml" -rs -W ignore -k "$which" "$root/python/tests/test_spark.py"
    status=$?
    [ $status -eq 5 ] && exit 77 # nothing to run with
    exit $status
    ;;
types) cd "$root/python" && exec "$python" -m mypy --cache-dir "$2/mypy" ;;
form) cd "$root/python" && "$python" -m ruff check --no-cache . && exec "$python" -m ruff format --no-cache --check . ;;
esac
