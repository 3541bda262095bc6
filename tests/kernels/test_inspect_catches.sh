#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_inspect_catches.sh ROOT faults|programs -- scripts/inspect-kernels.sh --check, which passes the kernels as they are (the test beside this one),
# catches each fault that is planted in a copy of them: a spill, scratch, a remaining call, a narrow read of local memory, too many
# instructions, a kernel or a loop that is gone. Faults of two files are planted together where each has a line of its own. All are in the
# kernels that --few looks at; the part `programs` has those that only show in programs of other schemes or permutations.
set -u
root=$1 part=$2 failures=0 checks=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
kernels=$work/kernels looks=--few

fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n' "$1"
    cat "$work/err"
}
# judged CODE 'ERE'...: what --check says to the kernels of the copy.
judged() {
    local rc code=$1 pattern
    shift
    "$root/scripts/inspect-kernels.sh" --check $looks --kernels "$kernels" > "$work/out" 2> "$work/err"
    rc=$?
    if [ "$rc" = 77 ]; then # a tool is missing
        cat "$work/err"
        exit 77
    fi
    checks=$((checks + 1))
    [ "$rc" = "$code" ] || fail "$what: exit code $rc, expected $code"
    for pattern in "$@"; do
        checks=$((checks + 1))
        grep -qE "^inspect-kernels\.sh: $pattern" "$work/err" || fail "$what: it does not say: $pattern"
    done
}
finish() {
    echo "inspect_catches: $checks checks, $failures failed"
    exit $((failures > 0))
}
# plant WHAT FILE 'sed script': a fresh copy with that change, which must change something. and_plant: the same, in the copy that is there.
plant() {
    rm -rf "$kernels"
    cp -r "$root/kernels" "$kernels"
    and_plant "$@"
}
and_plant() {
    what=$1
    sed -i "$3" "$kernels/$2"
    ! cmp -s "$root/kernels/$2" "$kernels/$2" || fail "$what: nothing was planted"
}

if [ "$part" = programs ]; then
    # Idle lanes: two teams of 23 items, which share a warp. And a scheme's loop that takes longer.
    looks="--only nvidia"
    shape=${BM_KERNEL_SHAPE:-$root/build/release/tests/kernels/kernel_shape}
    printf '#!/bin/sh\n[ "$2" = 91 ] && echo 4 23 2 256 8 46 || exec "%s" "$@"\n' "$shape" > "$work/shape"
    chmod +x "$work/shape"
    export BM_KERNEL_SHAPE=$work/shape
    plant "idle lanes, and two instructions more an op" wide.cl 's/^    return bm_wide_value(a, h, b);/    return bm_wide_value(a, h, b) ^ a;/'
    judged 1 'bm_sign for sm_90: K = 91: 0\.[67][0-9]* of the best' 'bm_sign for sm_90: affine64: 10\.[0-9]* instructions an op'
    finish
fi

# 320 values that live at once through a loop: no compiler has so many registers.
plant "a spill" sign_gpu.cl '/^__kernel/i \
BM_INLINE uint planted(__global const uint4 *in, uint n)\
{\
    uint v[320], sum = 0;\
    _Pragma("unroll") for (uint i = 0; i < 320; ++i) v[i] = in[i].x;\
    for (uint k = 0; k < n; ++k)\
        _Pragma("unroll") for (uint i = 0; i < 320; ++i) v[i] = v[i] * in[k].y + in[k].z;\
    _Pragma("unroll") for (uint i = 0; i < 320; ++i) sum ^= v[i];\
    return sum;\
}
s/^    __global BM_WORD \*words = .*$/&\n    if (layout.z == 77u) words[planted(in, layout.y)] = 1;/'
# An array whose index is known at run time only lies in memory.
and_plant "a spill, and scratch" band_keys.cl 's/^    const size_t doc = split\[at \/ BM_BANDS\];$/    uint v[64];\
    for (uint i = 0; i < 64; ++i) v[split[i] % 64u] = split[i + 1];\
    const size_t doc = v[split[0] % 64u];/'
and_plant "a spill, scratch, and much local memory" sign_gpu.cl 's/tile\[BM_TILE\]/tile[BM_TILE * 4]/'
judged 1 'bm_sign for sm_90: [1-9][0-9]* bytes are spilled' \
    'bm_sign for gfx90a: occupancy 9 %' \
    'bm_split_keys for sm_90: [1-9][0-9]* bytes of scratch' \
    'bm_split_keys for gfx90a: [1-9][0-9]* bytes of scratch' \
    'bm_sign for sm_80: [1-9][0-9]* bytes are spilled' \
    'bm_sign for gfx90a: [1-9][0-9]* bytes (are spilled|of scratch)' \
    'bm_sign for dg2: [1-9][0-9]* bytes (are spilled|of scratch)'

# A word at a time, and so that no compiler may join them.
plant "narrow reads" sign_gpu.cl 's/^        bm_fold_unit(unit\[k \* step\], a, b, m);$/    {\
        volatile __local const uint *w = (volatile __local const uint *)(unit + k * step);\
        bm_fold_unit((uint4)(w[0], w[1], w[2], w[3]), a, b, m);\
    }/'
and_plant "narrow reads, and a call" band_keys.cl 's/^BM_INLINE ulong bm_band_key/static __attribute__((noinline)) ulong bm_band_key/'
judged 1 'bm_split_keys for sm_90: [1-9][0-9]* calls are left' \
    'bm_split_keys for gfx90a: [1-9][0-9]* calls are left' \
    'bm_sign for sm_90: shingles are read in less than 128 bits'

# Half of the reads. From here on NVIDIA alone is looked at.
looks="--few --only nvidia"
plant "some narrow reads" sign_gpu.cl 's/^        bm_fold_unit(unit\[k \* step\], a, b, m);$/    {\
        volatile __local const uint *w = (volatile __local const uint *)(unit + k * step);\
        bm_fold_unit(k % 2 ? unit[k * step] : (uint4)(w[0], w[1], w[2], w[3]), a, b, m);\
    }/'
and_plant "some narrow reads, and no such kernel" band_keys.cl '/^bm_split_begin/s/bm_split_begin/bm_split_other/'
sed -i '/^__kernel.*BM_SPLIT_GROUP/,/^}/d' "$kernels/band_keys.cl"
judged 1 '[0-9]+ kernels and [0-9]+ signature loops seen' \
    'bm_sign for sm_90: shingles are read in less than 128 bits'

plant "one instruction more every fourth op" sign_gpu.cl 's/min(min(a\[j\] \* h\.x + b\[j\], a\[j\] \* h\.y + b\[j\]), m\[j\])/min(min(a[j] * h.x + b[j], (a[j] * h.y + b[j]) ^ a[j]), m[j])/'
judged 1 'bm_sign for sm_90: 1\.[89][0-9]* instructions an op'

plant "a short loop" sign_gpu.cl 's/BM_TURN\([^ ]\| [^ ]\)/2\1/g'
judged 1 'bm_sign for sm_90: 1\.6[0-9]* instructions an op'

plant "no loop" sign_gpu.cl 's/^BM_INLINE void bm_fold_unit(.*/&\n{ (void)h; (void)a; (void)b; (void)m; }\nBM_INLINE void bm_unused(uint4 h, const uint *a, const uint *b, uint *m)/'
judged 1 '[0-9]+ kernels and [0-9]+ signature loops seen'
finish
