# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154
# bench/kernel_tune: what it refuses, and on PoCL that every row signs right and that the rows it writes are used by the next run.
tune() {
    command_line="kernel_tune $*"
    "$KERNEL_TUNE" "$@" > ../out 2> ../err
    rc=$?
    set_waiting_aside
}
# fails CODE 'ERE': that exit code, nothing on stdout, and one line.
fails() {
    exits "$1"
    silent ../out
    says ../err "^kernel_tune: $2"
}
tune --device cpu
fails 5 'no OpenCL device to tune'
tune --device no-such-device
fails 5 'no device matches'
tune --repeats 101 --device opencl
fails 2 '--repeats: 101 \(expected'
tune in.jsonl
fails 2 'in\.jsonl \(no inputs are expected'
tune --probe "$top/none" --device opencl
exits 5

device=$("$PROGRAM" devices | sed -n 's/^\(opencl:[0-9.]*\) .*(Portable Computing Language).*/\1/p' | head -n 1)
if [ -z "$device" ]; then
    [ -z "${BANDMILL_REQUIRE_OPENCL:-}" ] || fail "no PoCL device"
else
    export TMPDIR="$top/tmp" BANDMILL_CACHE_DIR="$top/cache"
    mkdir "$TMPDIR"
    tune --device "$device" --repeats 1 --min-seconds 0.002 -v
    exits 0
    cp ../out rows.csv
    says rows.csv '^device,vendor,type,shape,lanes,acc,each,group,tile,pack,whole,part,batch,lend,unroll$'
    says rows.csv '^[^#,*][^,]*,Portable Computing Language,cpu,cpu(,[0-9]+){11}$'
    says rows.csv '^# driver .*128 permutations: [0-9.]+ M shingles/s in the kernels, [0-9.]+ from the host'
    says ../err "^kernel_tune: $device: [1-9][0-9]+ rows tried, 0 left out"
    says ../err "^kernel_tune: $device: .*,cpu,cpu,4,.* M shingles/s"
    checks=$((checks + 1))
    [ -z "$(ls -A "$TMPDIR")" ] || fail "left over: $(ls -A "$TMPDIR")"

    # The present row alone.
    tune --device "$device" --repeats 1 --min-seconds 0.002 --seconds 0 --json
    exits 0
    says ../out '"tried": \[\]'
    says ../out '"better": false'
    says ../out '"kernel_mshingles_s": [0-9]'
    silent ../err

    # The next run: other numbers are another program, and the same bytes.
    for i in 1 2 3 4 5 6; do echo "{\"text\":\"one two three four five six seven $i\"}"; done > in.jsonl
    bm sign in.jsonl --device cpu -q -o right
    exits 0
    rm -rf "$BANDMILL_CACHE_DIR"
    n=0
    for lanes in 16 8 4; do
        n=$((n + 1))
        awk -F, -v lanes=$lanes 'BEGIN { OFS = "," } /^[^#]/ && !/^device/ { $5 = lanes } { print }' rows.csv > "lanes$lanes.csv"
        export BANDMILL_TUNING="$PWD/lanes$lanes.csv"
        bm sign in.jsonl --device "$device" -q -o "s$lanes"
        exits 0
        checks=$((checks + 2))
        cmp -s "s$lanes/signatures.npy" right/signatures.npy || fail "other signatures"
        [ "$(ls "$BANDMILL_CACHE_DIR"/opencl/*.clbin | wc -l)" -eq $n ] || fail "the row with $lanes lanes was not used"
    done

    # A file that is no such file is an error and not another device.
    printf '# mine\n\n*,*,cpu,cpu,0,8,4\n' > bad.csv
    export BANDMILL_TUNING=bad.csv
    bm sign in.jsonl --device "$device" -q -o unmade
    refused 2 'bad\.csv:3: not a row of kernel parameters'
    export BANDMILL_TUNING=none.csv
    bm sign in.jsonl --device "$device" -q -o unmade
    refused 2 'none\.csv: cannot read \$BANDMILL_TUNING'
    absent unmade
fi
