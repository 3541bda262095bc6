# SPDX-License-Identifier: Apache-2.0
# Documents of 5, 20 and 105 MB with --memory 128M: resident memory is at most that and 64 MiB (and what an OpenCL driver uses by itself),
# or the job exits with 6, naming the document and a --memory that is enough. The bytes are the same as with unlimited memory. Also
# documents of all lengths on several threads.
# shellcheck shell=sh disable=SC2034,SC2154
unset BANDMILL_DEVICE

# Words of letters drawn, four a word and now and then two spaces, nearly each run of five another; a line of them ends as JSON says it.
"${BM_PYTHON:-python3}" -IS - << 'END'
import random
drawn = (b"abcdefghijklmnopqrstuvwxyz" * 8)[:195] + b" " * 61
def text(n, seed):
    words = random.Random(seed).randbytes(n).translate(drawn)
    return b" \\n".join(words[i:i + 350] for i in range(0, n, 350))
def write(name, *documents):
    with open(name, "wb") as file:
        for id, document in documents:
            file.write(b'{"id":"%s","text":"%s"}\n' % (id, document))
short, long = text(5000000, 1), text(20000000, 2)
write("d5.jsonl", (b"a", short), (b"b", b"and " + short))
write("d20.jsonl", (b"a", long), (b"b", b"and " + long))
write("d105.jsonl", (b"c", (long * 6)[:105000000].rstrip(b"\\")))
write("mixed.jsonl", *((b"%s-%d" % (name, i), document[i * 40000:][:900000 if i % 9 == 0 else 60000 if i % 3 == 0 else 900].rstrip(b"\\"))
                       for name, document in ((b"1", short), (b"2", b"and " + short)) for i in range(1, 91)))
END
: > none.jsonl

# peak COMMAND…: its exit code in $rc, kB resident in $peak
peak() {
    command_line="bandmill $*"
    "${BM_PYTHON:-python3}" -IS -c 'import os, sys
_, status, used = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)
print(used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))' "$PROGRAM" "$@" -q > ../out 2> ../err
    rc=$?
    peak=$(tail -n 1 ../out)
}

# measure DEVICE COMMAND BASELINE: the three files
measure() {
    for file in d5 d20 d105; do
        # What fits in 20 MB fits in 5; what does not is refused alike by all that read.
        case $1.$2.$file in cpu.sign.* | *.d20 | opencl.sign.d105) ;; *) continue ;; esac
        rm -rf out out.partial
        peak "$2" $file.jsonl --device "$1" --threads 2 --memory 128M -o out --force
        echo "$1 $2 $file: exit $rc, $peak kB resident, of which the driver $3 kB"
        checks=$((checks + 2))
        [ "$peak" -le $((192 * 1024 + $3)) ] || fail "$peak kB resident, $3 kB of them the driver's own"
        case $file:$rc in
        d5:0 | d20:0) ;;
        d105:6) says ../err '^bandmill: d105.jsonl:1: .* --memory .*\(at least [0-9]+M\)$' ;;
        *) fail "exit code $rc" ;;
        esac
    done
}
for command in sign dedup pairs; do
    measure cpu $command 0
    [ $command = sign ] || continue # what the others do on a device
    bm $command none.jsonl --device opencl -o out --force -q # so that the compiled kernels are there
    if [ "$rc" = 5 ] && [ "${BANDMILL_REQUIRE_OPENCL:-0}" = 0 ]; then echo "no OpenCL device"; continue; fi
    exits 0
    peak $command none.jsonl --device opencl --threads 2 --memory 128M -o out --force
    exits 0
    measure opencl $command "$peak"
done

# spans: the same, and the --memory that is named is enough for long texts of which all K-grams are repeated
bm dedup d20.jsonl d5.jsonl --unit span:50 --duplicate-ids number --memory 4G -o spans -q; exits 0
rm -rf out
peak dedup d20.jsonl d5.jsonl --unit span:50 --duplicate-ids number --threads 2 --memory 40M -o out
exits 6
named=$(sed -n 's/.*at least \([0-9]*\)M.*/\1/p' ../err)
for memory in "$named" 128; do
    rm -rf out
    peak dedup d20.jsonl d5.jsonl --unit span:50 --duplicate-ids number --threads 2 --memory "${memory}M" -o out
    exits 0
    echo "spans: $peak kB resident under ${memory}M"
    checks=$((checks + 2))
    [ "$peak" -le $(((memory + 64) * 1024)) ] || fail "spans: $peak kB resident under ${memory}M"
    diff -r out/kept spans/kept > /dev/null && cmp -s out/cuts.tsv spans/cuts.tsv || fail "other spans under ${memory}M"
done
rm -rf out spans

# the --memory that the message names is enough, and gives the same bytes as unlimited memory
bm dedup d20.jsonl d5.jsonl --device cpu --duplicate-ids number --pairs -o all -q; exits 0
rm -rf out
peak dedup d20.jsonl d5.jsonl --device cpu --duplicate-ids number --pairs --threads 2 --memory 40M -o out
exits 6
named=$(sed -n 's/.*at least \([0-9]*\)M.*/\1/p' ../err)
peak dedup d20.jsonl d5.jsonl --device cpu --duplicate-ids number --pairs --threads 2 --memory "${named}M" -o out
checks=$((checks + 1))
[ "$peak" -le $(((named + 64) * 1024)) ] || fail "$peak kB resident under the --memory of ${named}M that was named"
exits 0
for file in kept removed.tsv groups.jsonl pairs.tsv; do
    checks=$((checks + 1))
    diff -r out/$file all/$file > /dev/null || fail "$file differs under the --memory that was named"
done

# documents of all lengths, on more threads than processors, in memory that few of them fit into together
bm sign mixed.jsonl --device cpu --threads 1 -o one -q; exits 0
for threads in 1 2 5; do
    peak sign mixed.jsonl --device cpu --threads $threads --memory 48M -o mixed$threads
    exits 0
    checks=$((checks + 1))
    [ "$peak" -le $((112 * 1024)) ] || fail "$peak kB resident with --memory 48M and $threads threads"
    cmp -s one/signatures.npy mixed$threads/signatures.npy || fail "other signatures with $threads threads"
done

# the second pass of filter holds a record at a time, and says so where it cannot
bm filter all d20.jsonl d5.jsonl --memory 64M -o filtered -q; exits 0
cmp -s filtered/kept/d20.jsonl all/kept/d20.jsonl || fail "filter keeps other bytes"
bm filter all d20.jsonl d5.jsonl --memory 24M --threads 1 -o less -q; exits 6; says ../err '^bandmill: d20.jsonl:1: .*--memory'
absent less

# documents of hashes that were made elsewhere: two of 3,000,000
"${BM_PYTHON:-python3}" -IS -c 'import random, struct
def npy(name, kind, n):
    head = "{\"descr\": \"<%s\", \"fortran_order\": False, \"shape\": (%d,), }" % (kind, n)
    head += " " * (-(len(head) + 11) % 64) + "\n"
    file = open(name, "wb")
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
    return file
file = npy("h.npy", "u8", 6000000)
for i in range(6):
    file.write(random.Random(i).randbytes(8000000))
npy("o.npy", "i8", 3).write(struct.pack("<3q", 0, 3000000, 6000000))'
for memory in 64M 128M; do
    rm -rf out
    peak dedup h.npy --format hashes --offsets o.npy --device cpu --threads 2 --memory $memory -o out
    checks=$((checks + 1))
    [ "$peak" -le $(((${memory%M} + 64) * 1024)) ] || fail "$peak kB resident with --memory $memory"
    if [ $memory = 64M ]; then says ../err '^bandmill: h.npy:1: .* --memory .*at least [0-9]+M'; exits 6; else exits 0; fi
done
