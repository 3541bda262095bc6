# Documents of 5, 20 and 105 MB with --memory 128M: resident at most that and 64 MiB (and what an OpenCL driver takes by itself), or 6, naming
# the document and a --memory that is enough. The same bytes as with all the memory there is; documents of all lengths on several threads.
# shellcheck shell=sh disable=SC2034,SC2154
unset BANDMILL_DEVICE

# text BYTES SEED: words of 1 to 8 letters, nearly each run of five another
text() {
    awk -v n="$1" -v seed="$2" 'BEGIN {
        srand(seed)
        for (i = 0; i < 20000; i++) { w = ""; for (k = int(rand() * 8); k >= 0; k--) w = w sprintf("%c", 97 + int(rand() * 26)); word[i] = w }
        while (bytes < n) { line = ""; for (i = 0; i < 64; i++) line = line word[int(rand() * 20000)] " "; printf "%s\\n", line; bytes += length(line) + 2 }
    }'
}
text 5000000 1 > piece
{ printf '{"id":"a","text":"'; cat piece; printf '"}\n{"id":"b","text":"and '; cat piece; printf '"}\n'; } > d5.jsonl
text 20000000 2 > piece
{ printf '{"id":"a","text":"'; cat piece; printf '"}\n{"id":"b","text":"and '; cat piece; printf '"}\n'; } > d20.jsonl
{ printf '{"id":"c","text":"'; cat piece piece piece piece piece piece | head -c 105000000; printf '"}\n'; } > d105.jsonl
rm piece
: > none.jsonl

# peak COMMAND…: its exit code in $rc, kB resident in $peak
peak() {
    command_line="bandmill $*"
    "${BM_PYTHON:-python3}" -c 'import os, resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)' "$PROGRAM" "$@" -q > ../out 2> ../err
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

# the --memory that is named is enough, and the bytes are those of a job with all the memory there is
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
awk '{ for (i = 1; i <= 90; i++) { n = i % 9 == 0 ? 900000 : i % 3 == 0 ? 60000 : 900
       printf "{\"id\":\"%d-%d\",\"text\":\"%s\"}\n", NR, i, substr($0, 20 + i * 40000, n) } }' d5.jsonl | sed 's/\\"}/"}/' > mixed.jsonl
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
"${BM_PYTHON:-python3}" -c 'import random, struct
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
