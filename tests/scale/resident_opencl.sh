# SPDX-License-Identifier: Apache-2.0
# Resident memory with an OpenCL device: at most --memory, 64 MiB and what the driver uses by itself. That is measured by a second run with
# the same device, the same kernels and an empty input.
# shellcheck shell=sh disable=SC2034,SC2154
peak_of() { sed -n 's/^ *"peak_resident_bytes": *\([0-9]*\),*/\1/p' "$1"; }
unset BANDMILL_DEVICE
"$PLANTED" 60000 > in.jsonl
: > none.jsonl
# once, so that both find the compiled kernels
bm dedup none.jsonl --device opencl --kept no -o warm -q
[ "$rc" = 5 ] && [ "${BANDMILL_REQUIRE_OPENCL:-0}" = 0 ] && skip "no OpenCL device"
exits 0
bm dedup none.jsonl --device opencl --threads 2 --memory 96M --kept no -o alone -q; exits 0
bm dedup in.jsonl --device opencl --threads 2 --memory 96M --temp-dir . --kept no -o out -q; exits 0
bm dedup in.jsonl --device cpu --threads 2 --kept no -o cpu -q; exits 0
holds out/removed.tsv < cpu/removed.tsv
checks=$((checks + 1))
driver=$(($(peak_of alone/report.json) / 1048576))
used=$(($(peak_of out/report.json) / 1048576))
echo "driver alone $driver MiB, the job $used MiB, bound $((96 + 64 + driver)) MiB"
[ $used -le $((96 + 64 + driver)) ] || fail "$used MiB resident with --memory 96M and a driver of $driver MiB"
