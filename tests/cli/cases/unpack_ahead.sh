# SPDX-License-Identifier: Apache-2.0
# Several compressed inputs are unpacked at once. Threads and memory change no byte, message or count: also if one input is damaged,
# truncated, of another format or missing, if empty files lie between them, and for standard input.
# shellcheck shell=sh disable=SC2034,SC2154
for tool in xz bzip2 lz4 zstd gzip; do
    command -v "$tool" > /dev/null || skip "no $tool"
done
mkdir in
i=0
for kind in gz zst gz xz bz2 lz4 zst gz; do
    i=$((i + 1))
    awk -v n=$i 'BEGIN { srand(n); for (i = 0; i < 1500; i++) {
        printf "{\"id\":\"%d-%d\",\"text\":\"", n, i; for (w = 0; w < 25; w++) printf "%x ", rand() * (i % 3 ? 65536 : 9); print "\"}" } }' > plain
    case $kind in
    gz) gzip -1c ;; zst) zstd -1qc ;; xz) xz -0c ;; bz2) bzip2 -1c ;; lz4) lz4 -1qc ;;
    esac < plain > "in/$i.jsonl.$kind"
done
gzip -c < /dev/null > in/0.jsonl.gz
zstd -qc < /dev/null > in/3a.jsonl.zst
mv plain in/9.jsonl
sed -i 's/"id":"8-/"id":"9-/' in/9.jsonl

# same_as_one_thread WHAT OPTIONS...: dedup of in/ with one thread and with others ends alike
same_as_one_thread() {
    what=$1
    shift
    rm -rf one out out.partial
    bm dedup in --threads 1 -q -o out "$@"
    wanted=$rc
    cp ../err wanted
    [ ! -d out ] || mv out one
    for how in '--threads 8' '--threads 2 --memory 64M' '--threads 3 --memory 256M --batch-docs 100'; do
        rm -rf out out.partial
        # shellcheck disable=SC2086
        bm dedup in $how -q -o out "$@"
        exits "$wanted"
        holds ../err < wanted
        [ -d one ] || continue
        rm -f out/report.json one/report.json
        checks=$((checks + 1))
        diff -r one out > ../differ || fail "$what, $how: $(head -n 3 ../differ)"
    done
}

same_as_one_thread whole
same_as_one_thread "kept in gz" --kept gz
# Half of the file, 29 bytes of another, and the rest. What comes of them may be no JSON, and that is met first where batches are small.
for broken in 3.jsonl.gz 2.jsonl.zst 4.jsonl.xz 5.jsonl.bz2 6.jsonl.lz4; do
    cp "in/$broken" whole
    size=$(wc -c < whole)
    { head -c $((size / 2)) whole && printf 'no such bytes, no such bytes' && tail -c +$((size / 2 + 29)) whole; } > "in/$broken"
    same_as_one_thread "$broken damaged" --format lines
    same_as_one_thread "$broken damaged, skipped" --on-error skip
    head -c $((size - 3)) whole > "in/$broken"
    [ "$broken" != 3.jsonl.gz ] || same_as_one_thread "$broken cut"
    cp whole "in/$broken"
done
tar -cf some.tar in/9.jsonl && gzip -c some.tar > in/3.jsonl.gz
same_as_one_thread "a tar among them"
same_as_one_thread "a tar among them, skipped" --on-error skip
