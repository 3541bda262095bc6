#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh SCRIPT [argument…] -- one Python test with the Python of the project's virtual environment ($BANDMILL_PYTHON, else
# .venv). Without one: a message and 77 (skipped), or a failure where BANDMILL_REQUIRE_PYTHON=1.
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${BANDMILL_PYTHON:-$root/.venv/bin/python}
if [ ! -x "$python" ]; then
    echo "skipped: no Python at $python (scripts/test.sh makes it)"
    [ "${BANDMILL_REQUIRE_PYTHON:-0}" = 1 ] && exit 1
    exit 77
fi
exec "$python" "$@"
