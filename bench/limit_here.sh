#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# limit_here.sh LIMIT -- print the variant of the program LIMIT (bench/limit.c) with the widest instructions of this processor:
# LIMIT itself is compiled for AVX-512, LIMIT_vbmi2 needs more, LIMIT_avx2 less.
set -eu
has() { grep -qw "$1" /proc/cpuinfo && [ -x "$2" ]; }
if has avx512_vbmi2 "$1_vbmi2"; then
    echo "$1_vbmi2"
elif ! has avx512bw "$1" && has avx2 "$1_avx2"; then
    echo "$1_avx2"
else
    echo "$1"
fi
