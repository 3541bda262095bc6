# SPDX-License-Identifier: Apache-2.0
# No device signs by the scheme cws: with one that was asked for the native CPU signs, one line says so, and the files are those of --device cpu.
# shellcheck shell=sh disable=SC2034,SC2154
printf '{"id":"%s","text":"%s"}\n' a 'one two three four five six' b 'one two three four five seven' c 'one two eight nine ten' > in.jsonl
bm sign in.jsonl --weights tfidf --shingle word:2 --device cpu -o cpu; exits 0
checks=$((checks + 1))
! grep -q 'cws' ../err || fail "more is said than there is to say"
device=$("$PROGRAM" devices 2>/dev/null | sed -n 's/^\(opencl:[0-9.]*\) .*/\1/p' | head -n 1)
if [ -z "$device" ]; then
    [ -z "${BANDMILL_REQUIRE_OPENCL:-}" ] || fail "no OpenCL device"
else
    bm sign in.jsonl --weights tfidf --shingle word:2 --device "$device" -o device; exits 0
    says ../err '^bandmill: scheme cws is signed on the CPU$'
    checks=$((checks + 1))
    [ "$(grep -c 'signed on the CPU' ../err)" -eq 1 ] || fail "it is not said once"
    for file in signatures.npy n_shingles.npy; do
        holds "device/$file" < "cpu/$file"
    done
fi
