# SPDX-License-Identifier: Apache-2.0
# dedup and pairs from signatures alone, the documents being gone: identical documents and lengths are known from content_hash.npy
# and n_bytes.npy; a directory of an older form, without them, is read as far as it goes. Nine of the eleven words of a are in c:
# a {1..10}; b = a, in other letters and longer; c {1..9,x}; d = c; e apart; f without words.
# shellcheck shell=sh disable=SC2034,SC2154
cat > in.jsonl << 'END'
{"id":"a","text":"one two three four five six seven eight nine ten"}
{"id":"b","text":"One two three four five, six seven eight nine ten!"}
{"id":"e","text":"nothing in common with those others"}
{"id":"c","text":"one two three four five six seven eight nine X"}
{"id":"f","text":"... !"}
{"id":"d","text":"one two three four five six seven eight nine - X - - - -"}
END
bm sign in.jsonl --shingle word:1 -o sig; exits 0
bm inspect sig; exits 0
says ../out '^ *- file: content_hash.npy, bytes: 224, type: <u8, shape: 6, 2$'
says ../out '^ *- file: n_bytes.npy, bytes: 176, type: <u8, shape: 6$'
tail -c 48 sig/n_bytes.npy | od -v -An -tu8 -w8 | tr -d ' ' > ../lengths
printf '48\n50\n35\n46\n5\n56\n' | holds ../lengths

# the texts at hand, and gone: the same documents are identical, under every --verify
set -- --threshold 0.6 --bands 128 --rows 1
bm dedup in.jsonl --shingle word:1 "$@" -o texts; exits 0
for verify in exact signature none; do
    bm dedup sig "$@" --verify $verify -o "from.$verify"; exits 0
    cut -f 1-4 "from.$verify/removed.tsv" | grep equal > ../got
    printf 'b\ta\t1.000000\tequal\n' | holds ../got
    holds "from.$verify/groups.jsonl" < texts/groups.jsonl
    says "from.$verify/report.json" '"identical": ?2\b'
    bm pairs sig "$@" --verify $verify; exits 0
    grep 1.000000 ../out > ../got
    printf 'a\tb\t1.000000\nc\td\t1.000000\n' | holds ../got
done
mv in.jsonl gone.jsonl
bm dedup sig "$@" -o gone; exits 0
says ../err 'verified by signature only'
cut -f 1-4 gone/removed.tsv | sed -n 2p > ../got
printf 'b\ta\t1.000000\tequal\n' | holds ../got

# --keep goes by the bytes of the texts, the first of equals
for keep in longest:d shortest:c last:d first:a; do
    bm dedup sig "$@" --keep "${keep%%:*}" -o "keep.${keep%%:*}" -q; exits 0
    says "keep.${keep%%:*}/groups.jsonl" "\"kept\":\"${keep##*:}\""
done

# a text that is another one with as many shingles is not the one that was signed
sed 's/those others/these others/' gone.jsonl > in.jsonl
bm dedup sig "$@" --verify exact -o other; refused 7 ''; absent other
mv gone.jsonl in.jsonl

# an older form: neither file, and a manifest that does not list them
cp -r sig older
rm older/n_bytes.npy older/content_hash.npy
sed -i 's/"content_hash.npy":"[0-9a-f]*",//; s/"n_bytes.npy":"[0-9a-f]*",//; /outputs_xxh3_128/d; s/report_xxh3_128/was/' \
    older/manifest.json
bm inspect older; exits 0
bm dedup older "$@" -o older.exact; exits 0 # the inputs are there
holds older.exact/removed.tsv < texts/removed.tsv
bm dedup older "$@" --keep longest -o older.longest; exits 0
holds older.longest/groups.jsonl < keep.longest/groups.jsonl
bm dedup older "$@" --verify signature -o older.near; exits 0
says ../err 'warning: older has no content_hash\.npy: identical documents are not told from near ones'
cut -f 1-4 older.near/removed.tsv | sed -n 2p > ../got
printf 'b\ta\t1.000000\tnear\n' | holds ../got
bm dedup older "$@" --verify signature --keep longest -o no; refused 7 'older: has no n_bytes\.npy'; absent no
bm dedup older "$@" --verify signature --keep shortest -o no; refused 7 'older: has no n_bytes\.npy'; absent no
bm dedup older "$@" --verify signature --keep last -o last; exits 0
sed 's/"id":"/"id":"2/' in.jsonl > in2.jsonl
bm sign in2.jsonl --shingle word:1 -o sig2; exits 0
bm dedup sig2 older "$@" --verify signature -o mixed; exits 0 # what one of them lacks is not known of any
says ../err 'warning: older has no content_hash\.npy'

# one that lists them and has not got them, or has others, is broken
cp -r sig broken
rm broken/content_hash.npy
bm dedup broken "$@" -o no; refused 7 'broken/content_hash\.npy: is missing'; absent no
cp sig/signatures.npy broken/content_hash.npy
bm dedup broken "$@" -o no; refused 7 'broken/content_hash\.npy: descr is <u4'; absent no
head -c 200 sig/content_hash.npy > broken/content_hash.npy
bm dedup broken "$@" -o no; refused 7 'broken/content_hash\.npy: '; absent no
cp sig/content_hash.npy broken/content_hash.npy
printf 'x' | dd of=broken/content_hash.npy bs=1 seek=200 conv=notrunc 2> ../err
bm inspect broken; refused 7 'broken/content_hash\.npy'

# short documents are not empty ones, whatever --short makes of them and wherever they are counted
printf '{"id":"%s","text":"%s"}\n' s 'two words' t 'another two' n '' l 'one two three four five six' > short.jsonl
for short in whole skip; do
    bm sign short.jsonl --short $short -o "short.$short" -q; exits 0
    for verify in exact signature; do
        bm dedup "short.$short" --verify $verify -o "short.$short.$verify" -q; exits 0
        says "short.$short.$verify/report.json" '"empty": 1,$'
        says "short.$short.$verify/report.json" '"short": 2,$'
    done
    bm index build "index.$short" "short.$short" --store signatures --json; exits 0
    says ../out '"empty": ?1\b'
    says ../out '"short": ?2\b'
done
