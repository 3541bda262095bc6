# SPDX-License-Identifier: Apache-2.0
# Documents whose sequences of shingles have one hash by the formula of kernels/content_hash.h, though they share one shingle of seventeen,
# are no copies: from texts, arrays and signatures, on a device, and in a job that goes on from what it saved. Real copies are.
# shellcheck shell=sh disable=SC2034,SC2154
# Pairs of words whose hashes agree in their lower halves, at the positions of one block: such a choice of eight pairs is found in a minute.
set -- jkviy dcppw homuk fdndb mfaaw jxccd drptj hdnmm
a=$(for word in "$@"; do printf '%s so so so so so so so ' "$word"; done)
set -- aagrv hgxpw obcfr qmamk jkbgj ciqkf reorx mdzoe
b=$(for word in "$@"; do printf '%s so so so so so so so ' "$word"; done)
a=${a% so so so so so so so } b=${b% so so so so so so so }
printf '{"id":"a","text":"%s"}\n{"id":"a again","text":"%s."}\n' "$a" "$a" > a.jsonl
printf '{"id":"b","text":"%s"}\n{"id":"b again","text":"%s!"}\n' "$b" "$b" > b.jsonl
apart() { # removed.tsv is `out`'s, and holds each again, and nothing else
    cut -f 1-4 "$1/removed.tsv" > got
    printf 'id\tkept\tjaccard\treason\na again\ta\t1.000000\tequal\nb again\tb\t1.000000\tequal\n' | holds got
}

bm dedup a.jsonl b.jsonl --shingle word:1 -o out; exits 0; apart out
says out/report.json '"equal": ?2,'
bm pairs a.jsonl b.jsonl --shingle word:1 --threshold .05 --candidates all; exits 0
printf 'id_a\tid_b\tjaccard\na\ta again\t1.000000\na\tb\t0.058824\na\tb again\t0.058824\na again\tb\t0.058824\na again\tb again\t0.058824\nb\tb again\t1.000000\n' \
    | holds ../out

bm sign a.jsonl b.jsonl --shingle word:1 -q -o signed; exits 0
bm dedup signed -q -o read_again; exits 0; apart read_again

# asked together: each gets its own answer
bm index build ix a.jsonl --shingle word:1 -q; exits 0
bm query ix a.jsonl b.jsonl; exits 0
printf 'query\ttarget\tjaccard\na\ta\t1.000000\na\ta again\t1.000000\na again\ta\t1.000000\na again\ta again\t1.000000\n' | holds ../out

# a job that is broken off between the two, and goes on
(
    export BANDMILL_SEAL_SECONDS=0
    cp b.jsonl good.jsonl
    { printf '{"id":"x","text":\n'; cat good.jsonl; } > b.jsonl
    bm dedup a.jsonl b.jsonl --shingle word:1 --batch-docs 1 --threads 1 -o resumed; refused 3 'b\.jsonl:1: .*--resume continues'
    cp good.jsonl b.jsonl
    bm dedup a.jsonl b.jsonl --shingle word:1 --batch-docs 1 --threads 1 -o resumed --resume; exits 0; says ../err 'resuming after 2 documents'
    apart resumed
)

# a device makes the hash of the sequence itself; with sanitizers, parity/ gives devices texts
device=
[ -n "$sanitizer" ] || device=$("$PROGRAM" devices 2>/dev/null | sed -n 's/^\(opencl:[0-9.]*\) .*Portable Computing Language.*/\1/p' | head -n 1)
if [ -n "$device" ]; then
    [ -n "${XDG_CACHE_HOME:-}" ] || export BANDMILL_CACHE_DIR="$PWD/../cache"
    command_line="bandmill dedup --device $device"
    BANDMILL_CL_TEXT=on "$PROGRAM" dedup a.jsonl b.jsonl --shingle word:1 --device "$device" -v -o device > ../out 2> ../err
    rc=$?
    exits 0
    apart device
    says ../err 'texts go to the device'
elif [ -z "$sanitizer" ] && [ -n "${BANDMILL_REQUIRE_OPENCL:-}" ]; then
    echo "no PoCL device, and one is required"
    exit 1
fi

command -v "$PYTHON" > /dev/null || return
# arrays: the halves of a hash at position 0 and of one at position 8 change by the factors of the other's row
"$PYTHON" - << 'END'
import struct
def npy(name, kind, numbers):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }" % (kind, len(numbers))
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\1\0\x76\0" + header.ljust(117).encode() + b"\n" + struct.pack("<%dQ" % len(numbers), *numbers))
def document(first, second):
    return [hash_of(*first), *[0x123456789ABCDEF1] * 7, hash_of(*second)]
def hash_of(x, y): # from its low half, and from both halves xored
    return x | (x ^ y) << 32
a0, a1, b0, b1 = 0x7B1DCDAF, 0xA1B965F5, 0xE220A839, 0x6E789E6B
one, other = document((1, 1), (0xF0000000, 0xFFFFFFFF)), document((1 + a1, 1 + b1), (0xF0000000 - a0, 0xFFFFFFFF - b0))
npy("hashes.npy", "<u8", one + other + other + one)
npy("offsets.npy", "<i8", [0, 9, 18, 27, 36])
END
bm dedup --format hashes hashes.npy --offsets offsets.npy -q -o arrays; exits 0
cut -f 1-4 arrays/removed.tsv > got
printf 'id\tkept\tjaccard\treason\n2\t1\t1.000000\tequal\n3\t0\t1.000000\tequal\n' | holds got

# from signatures, whether the documents are read again or not
bm sign --format hashes hashes.npy --offsets offsets.npy -q -o sig; exits 0
for verify in exact signature none; do
    bm dedup sig --verify $verify -q -o "sig.$verify"
    exits 0
    cut -f 1,2,4 "sig.$verify/removed.tsv" > got
    printf 'id\tkept\treason\n2\t1\tequal\n3\t0\tequal\n' | holds got
done
