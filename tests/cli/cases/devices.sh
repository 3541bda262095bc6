# SPDX-License-Identifier: Apache-2.0
# Devices: the native CPU is always available and loads no OpenCL. If a device that was named cannot be used, the exit code is 5.
# shellcheck shell=sh disable=SC2034,SC2154
printf '{"id":"a","text":"one two three four five six"}\n' > a.jsonl
unset BANDMILL_DEVICE

bm devices; exits 0; says ../out '^cpu +native '
bm devices --json; exits 0; says ../out '"spec":"cpu".*"usable":true'; silent ../err
bm devices --self-test; exits 0; says ../out '^cpu .*self-test passed, [1-9][0-9]* answers'

# --device cpu opens no OpenCL library; the default does look for one
LD_DEBUG=files bm sign a.jsonl --device cpu -o out
exits 0
checks=$((checks + 1))
! grep -qi 'libOpenCL' ../err || fail "--device cpu loads OpenCL"

# no platform: zero OpenCL devices, said in one line; asked for by name: 5
mkdir vendors
export OCL_ICD_VENDORS="$PWD/vendors" OPENCL_VENDOR_PATH="$PWD/vendors"
bm devices; exits 0
[ "$(grep -c . ../out)" -eq 2 ] || fail "more than the native CPU"
[ "$(wc -l < ../err)" -eq 1 ] || fail "not one line on why"
for device in opencl gpu opencl:0.0 no-such-name; do
    bm sign a.jsonl --device "$device" -o "out.$device"; refused 5 ".*$device"; absent "out.$device"
done
for how in '--device auto' '-v'; do
    # shellcheck disable=SC2086
    bm sign a.jsonl -o auto $how --force; exits 0; says ../err '^bandmill: (debug: )?using the CPU \(.+\)$' # and why
done
bm sign a.jsonl -o auto --force; exits 0; ! grep -q 'using the CPU' ../err || fail "a line on devices that nobody asked for"
bm sign a.jsonl -o auto.json --json; exits 0; silent ../err
bm sign a.jsonl -o auto.quiet -q; exits 0; silent ../err; silent ../out
unset OCL_ICD_VENDORS OPENCL_VENDOR_PATH

# each instruction set that is here gives the same bytes; one that is not here is refused
for isa in scalar avx2 avx512 neon; do
    BANDMILL_CPU=$isa bm sign a.jsonl --device cpu -o "out.$isa"
    if [ "$rc" -eq 0 ]; then
        holds "out.$isa/signatures.npy" < out/signatures.npy
    else
        refused 2 ".*$isa"
    fi
done
