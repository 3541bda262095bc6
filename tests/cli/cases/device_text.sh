# SPDX-License-Identifier: Apache-2.0
# sign sends texts to an OpenCL device: the output has the same bytes as from the native CPU, whatever the documents contain and however
# many of them the host must process itself. The log says which way was chosen.
# shellcheck shell=sh disable=SC2034,SC2154
[ -n "${XDG_CACHE_HOME:-}" ] || export BANDMILL_CACHE_DIR="$PWD/../cache" # not the user's own; the presets say where kernels are kept
unset BANDMILL_CL_SHAPE BANDMILL_CL_LIMIT BANDMILL_CL_ROW BANDMILL_CL_TEXT
device=$("$PROGRAM" devices 2>/dev/null | sed -n 's/^\(opencl:[0-9.]*\) .*Portable Computing Language.*/\1/p' | head -n 1)
if [ -z "$device" ]; then
    [ -n "${BANDMILL_REQUIRE_OPENCL:-}" ] && { echo "no PoCL device, and one is required"; exit 1; }
    skip "no PoCL device"
fi

# in.jsonl: plain, accented, Chinese, repetitive and empty documents, some with a long run of letters, one of 40 KB.
awk 'BEGIN {
    srand(11); long = "x"; while (length(long) < 400) long = long long
    for (i = 0; i < 300; i++) {
        t = ""; n = i % 17 == 0 ? int(rand() * 3) : int(rand() * 150)
        for (j = 0; j < n; j++) t = t (j ? (rand() < 0.1 ? "  " : " ") : "") "w" int(rand() * (i % 5 ? 5000 : 4))
        if (i % 7 == 1) t = t " \303\251t\303\251 \303\211T\303\211 \342\200\224 \344\270\255\346\226\207\345\255\227"
        if (i % 40 == 2) t = t " " long
        if (i % 50 == 3) t = ""
        if (i == 200) for (j = 0; j < 8000; j++) t = t " k" int(rand() * 900)
        printf "{\"id\":\"d%d\",\"text\":\"%s\"}\n", i, t
    }
    printf "{\"id\":\"bad\",\"text\":\"a \377 broken \344\270 text of some words\"}\n"
}' > in.jsonl
# host.jsonl: nearly all of it is beyond the device.
awk 'BEGIN { for (i = 0; i < 30; i++) { t = ""; for (j = 0; j < 900; j++) t = t "y"; printf "{\"id\":%d,\"text\":\"%s %d\"}\n", i, t, i } }' > host.jsonl

# without_run FILE: a report but for its "run".
without_run() { sed '/"run": *{/,$d' "$1"; }

# same SHINGLE INPUT [VARIABLE=VALUE...]: as the native CPU.
same() {
    shingle=$1 input=$2
    shift 2
    [ -d "cpu.$input.$shingle" ] || "$PROGRAM" sign "$input" --shingle "$shingle" --perms 20 --bands 5 --rows 4 --band-keys -q -o "cpu.$input.$shingle"
    rm -rf out
    command_line="$* bandmill sign $input --shingle $shingle --device $device"
    env BANDMILL_CL_TEXT=on "$@" "$PROGRAM" sign "$input" --shingle "$shingle" --perms 20 --bands 5 --rows 4 --band-keys -v \
        --device "${devices:-$device}" -o out > ../out 2> ../err
    rc=$?
    exits 0
    for file in signatures.npy band_keys.npy n_shingles.npy n_bytes.npy content_hash.npy ids.txt sources.tsv; do
        holds out/$file < "cpu.$input.$shingle/$file"
    done
    without_run out/manifest.json > got
    without_run "cpu.$input.$shingle/manifest.json" > right
    holds got < right
}

for shingle in byte:8 char:5 word:2; do
    same "$shingle" in.jsonl
    says out/manifest.json '"form": ?"text"'
    says ../err 'texts go to the device'
    same "$shingle" in.jsonl BANDMILL_CL_LIMIT=65536 # the long document is beyond its buffers
    devices="$device,cpu" same "$shingle" in.jsonl
done
same word:2 in.jsonl BANDMILL_CL_SHAPE=gpu
same word:2 host.jsonl
same char:70 in.jsonl # past 60 code points what is not ASCII is left to the host
same char:5 in.jsonl BANDMILL_CL_TEXT=auto
says ../err "hashes go to the device: it is made of the host's own processors"
says out/manifest.json '"form": ?"hashes"'
says out/manifest.json "\"because\": ?\"the device is made of the host's own processors\""
same byte:300 in.jsonl BANDMILL_CL_TEXT=auto
! grep -q device_input out/manifest.json || fail "a choice is reported that was none"
same char:5 in.jsonl BANDMILL_CL_TEXT=trial
says ../err '(texts|hashes) go to the device: a trial gave [0-9]+ MB/s of text'
says out/manifest.json '"hashes_host": ?[1-9]'
same char:5 in.jsonl BANDMILL_CL_TEXT=off
! grep -q device_input out/manifest.json || fail "a choice is reported that was none"
same byte:300 in.jsonl # no shingle that the device could make
! grep -q device_input out/manifest.json || fail "a choice is reported that was none"
same stopword:2 in.jsonl # nor these: the host cuts them
! grep -q device_input out/manifest.json || fail "a choice is reported that was none"

# an index that a device has signed answers as one that the native CPU has
head -n 150 in.jsonl > old.jsonl
for store in sets signatures; do
    for where in cpu "$device"; do
        bm index build "idx.$where.$store" old.jsonl --store $store --device "$where" --threshold .3 --invalid-utf8 replace -q; exits 0
        bm index add "idx.$where.$store" in.jsonl --unique --duplicate-ids number --device "$where" -q; exits 0
        cp ../out "rows.$where"
    done
    holds "rows.$device" < rows.cpu
    [ "$(wc -l < rows.cpu)" -gt 100 ] || fail "few documents were known"
done

# dedup and pairs compare no sets under these: a device may have the texts
awk 'NR % 3 == 0 { print; sub(/"id":"/, "\"id\":\"near-"); sub(/ [^ ]*"}$/, "\"}") } { print }' in.jsonl > near.jsonl
for how in signature:char:5 none:word:2; do
    verify=${how%%:*} shingle=${how#*:}
    for where in cpu "$device" "$device,cpu"; do
        rm -rf "found.$where"
        BANDMILL_CL_TEXT=on bm dedup near.jsonl --shingle "$shingle" --verify "$verify" --threshold .4 --pairs --invalid-utf8 replace \
            --duplicate-ids number --device "$where" --batch-docs 60 -q -o "found.$where"; exits 0
        [ "$where" = cpu ] && continue
        says "found.$where/report.json" '"form": ?"text"'
        for file in pairs.tsv groups.jsonl removed.tsv kept.jsonl; do
            holds "found.$where/$file" < found.cpu/$file
        done
        without_run "found.$where/report.json" > got
        without_run found.cpu/report.json > right
        holds got < right
    done
    [ "$(wc -l < found.cpu/pairs.tsv)" -gt 50 ] || fail "few pairs"
done
for where in cpu "$device"; do # a sample is of hashes
    BANDMILL_CL_TEXT=on bm pairs near.jsonl --shingle word:2 --verify none --threshold .4 --sample 200 --duplicate-ids number \
        --invalid-utf8 replace --device "$where" -q; exits 0
    cp ../out "pairs.$where"
done
holds "pairs.$device" < pairs.cpu
# Sets that are compared are made again of a plain file's texts; what cannot be read by position is hashed at once.
gzip -c near.jsonl > near.jsonl.gz
BANDMILL_CL_TEXT=on bm dedup near.jsonl --shingle word:2 --device cpu --invalid-utf8 replace --duplicate-ids number -q -o exact.cpu; exits 0
for input in near.jsonl near.jsonl.gz; do
    BANDMILL_CL_TEXT=on bm dedup $input --shingle word:2 --device "$device" --invalid-utf8 replace --duplicate-ids number -q \
        -o "exact.${input##*.}"; exits 0
done
grep -q device_input exact.jsonl/report.json || fail "sets that are made again ask for no hashes"
holds exact.jsonl/groups.jsonl < exact.cpu/groups.jsonl
! grep -q device_input exact.gz/report.json || fail "sets that are kept are made of hashes"
