# SPDX-License-Identifier: Apache-2.0
# `auto` uses a device only if it makes the job faster, and names each device that it leaves out with the two rates. Other words use the
# devices that they name. A small job does not even open a device. A case of tests/cli/harness.sh, whose program finds the fake OpenCL
# library bench/double first: its devices do nothing, at once or very slowly, so any machine can tell them apart.
# shellcheck shell=sh disable=SC2034,SC2154
i=0
while [ $i -lt 300 ]; do
    echo "{\"text\":\"document $i repeats some words of document $((i / 3)) and adds $((i * 7919 % 1000)) of its own kind\"}"
    i=$((i + 1))
done > some.jsonl
i=0
while [ $i -lt 40 ]; do cat some.jsonl; i=$((i + 1)); done > many.jsonl # 1.2 MB
unset BANDMILL_DEVICE OCL_ICD_VENDORS
LD_LIBRARY_PATH="$(dirname "$PROGRAM")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export LD_LIBRARY_PATH BANDMILL_CACHE_DIR="$PWD/cache" LC_ALL=C
left_out='is not used: a trial gave [0-9.e+]+ MB/s with it, and [0-9.e+]+ MB/s on the CPU$'

# used DEVICES ARGUMENT...: these are what a job uses.
used() {
    expected=$1
    shift
    bm sign --shingle char:5 -v -o out "$@"; exits 0
    checks=$((checks + 1))
    got=$("$PYTHON" -c 'import json; print(*(d["device"] for d in json.load(open("out/manifest.json"))["run"]["devices"]))')
    [ "$got" = "$expected" ] || fail "$* uses $got, expected $expected: $(cat ../err)"
    rm -r out
}
not_said() { checks=$((checks + 1)); ! grep -qE "$1" ../err || fail "stderr says: $1"; }

export BANDMILL_CL_TEXT=trial CL_DOUBLE_HASHES=0 # whatever the size of the job
used opencl:0.0 many.jsonl; not_said 'is not used'
says ../err '(texts|hashes) go to the device: a trial gave'
CL_DOUBLE_HASHES=1e5
used cpu many.jsonl; says ../err "opencl:0\.0 \(Double, Double GPU\) $left_out"; says ../err 'using the CPU \(no GPU shortens the job\)'
used cpu many.jsonl --device cpu,auto; says ../err "opencl:0\.0 .*$left_out"
CL_DOUBLE_UNIFIED=1 used cpu many.jsonl; says ../err "opencl:0\.0 .*$left_out"
for words in gpu opencl:0.0 double gpu,auto; do used opencl:0.0 some.jsonl --device "$words"; not_said 'is not used'; done
used 'cpu opencl:0.0' some.jsonl --device all; not_said 'is not used'
# each for itself: a slow one is left out, the others are taken
export CL_DOUBLE_GPUS=3 CL_DOUBLE_HASHES=0,1e5,0
used 'opencl:0.0 opencl:0.2' many.jsonl
says ../err "opencl:0\.1 .*$left_out"; not_said 'opencl:0\.[02].* is not used'
# hashes alone go to devices where sets are kept
CL_DOUBLE_GPUS=1 CL_DOUBLE_HASHES=1e5
gzip -k many.jsonl
bm dedup many.jsonl.gz -v -o out; exits 0; rm -r out; says ../err "opencl:0\.0 .*$left_out"
bm dedup many.jsonl.gz -v --device gpu -o out; exits 0; rm -r out; not_said 'is not used'

# a job that is over before: without a trial, though the device would be worth it
export BANDMILL_CL_TEXT=auto CL_DOUBLE_HASHES=0 CL_DOUBLE_OPEN=1000
for inputs in some.jsonl many.jsonl; do
    used cpu $inputs; says ../err 'using the CPU \(the job is over before a GPU is ready for it\)'; not_said 'is not used'
done
# of standard input nobody knows how long it is
unset CL_DOUBLE_OPEN
bm sign - --shingle char:5 -v -o out < many.jsonl; exits 0; rm -r out; not_said 'over before'; says ../err 'a trial gave'
bm sign many.jsonl --device auto -o out; exits 0; rm -r out; says ../err '^bandmill: using the CPU \(the job is over before'
# settled by hand: `auto` takes every GPU
export BANDMILL_CL_TEXT=off CL_DOUBLE_HASHES=1e5
used opencl:0.0 some.jsonl
