# SPDX-License-Identifier: Apache-2.0
# A limit on the memory for data (ulimit -d) at which drivers abort that were listed before: each device is first opened in a child process,
# so such a driver counts as a device that failed, and no job dies of it.
# shellcheck shell=sh disable=SC2034,SC2154
[ -z "${sanitizer:-}" ] || skip "a sanitizer maps more than any limit leaves"
venv=$(dirname "$(dirname "${BM_PYTHON:-/}")")
[ ! -d "$venv/vendors" ] || export OCL_ICD_VENDORS="$venv/vendors" LD_LIBRARY_PATH="$venv/lib"
export BANDMILL_CACHE_DIR="$PWD/../cache" BANDMILL_DEVICE=
echo '{"text":"one two three four five six"}' > in.jsonl
bm dedup in.jsonl --device opencl -o first -q
[ "$rc" = 0 ] || skip "no OpenCL device is here"
bm devices; exits 0
for kib in 60000 100000 140000 180000; do
    command_line="ulimit -d $kib; bandmill dedup --device opencl"
    # shellcheck disable=SC2016
    sh -c 'ulimit -d "$0" && exec "$@"' $kib "$PROGRAM" dedup in.jsonl --device opencl -o out -q > ../out 2> ../err
    rc=$?
    checks=$((checks + 1))
    case $rc in
    0 | 5 | 6) ;;
    *) fail "exit code $rc, expected 0, 5 or 6" ;;
    esac
    rm -rf out
done
