# SPDX-License-Identifier: Apache-2.0
# `import`: reads back what `export` wrote; which files need further options; and hostile files: the error names the place, and nothing is
# written. (Files that other tools wrote: tests/reference/test_exchange.py.)
for i in $(seq 1 30); do
    printf '{"id":"doc\\t%s","text":"%s"}\n' "$i" "one two three four five six seven $((i / 2)) $((i / 2 * 7)) eight nine"
done > a.jsonl
printf '{"id":"none","text":""}\n' >> a.jsonl
bm sign a.jsonl -o signed --perms 16 --hash sha1
exits 0
told='--scheme affine32 --seed 1 --hash sha1'

# an export comes back whole, with its provenance: ids, numbers of shingles, words, and the groups that they give
bm dedup signed -o groups --verify signature
for form in leanminhash npy; do
    bm export signed --to $form -o x-$form -q
    bm import x-$form --from $form -o b-$form
    exits 0
    for file in ids.txt n_shingles.npy signatures.npy; do cmp -s b-$form/$file signed/$file || fail "$form: $file differs"; done
    sed -n '/"provenance"/,/"input_format"/p' signed/manifest.json | grep -v input_format > ../wanted
    sed -n '/"provenance"/,/"input_format"/p' b-$form/manifest.json | grep -v input_format > ../told
    cmp -s ../wanted ../told || fail "$form: another provenance"
    bm dedup b-$form -o g-$form
    exits 0
    says ../err 'warning: b-.*: its signatures were imported: there are no texts: pairs are verified by signature only'
    cmp -s g-$form/groups.jsonl groups/groups.jsonl || fail "$form: other groups"
    bm pairs b-$form signed --verify signature --duplicate-ids number
    exits 0
    bm inspect b-$form
    exits 0
done
bm dedup signed -o against --against b-npy
exits 0
[ "$(wc -l < against/kept_ids.txt)" = 1 ] || fail "with an imported directory all but the empty document are known"
bm dedup b-npy -o none --verify exact
refused 7 'b-npy/manifest.json: its signatures were imported: there are no texts'
bm filter g-npy -o none
refused 7 '.*: its signatures were imported: there are no texts'
bm index build known b-npy --store signatures
exits 0
bm dedup a.jsonl -o none --format signatures
refused 2 '--format signatures is what import writes'
absent none

# single files: what they do not say must be said; ids are numbers of rows, or a list
bm import x-npy/signatures.npy --from npy -o none
refused 2 'x-npy/signatures.npy does not say how its signatures were made: --scheme is not given'
bm import x-npy/signatures.npy --from npy -o none --scheme affine32 --hash sha1
refused 2 '.*--seed is not given'
bm import x-leanminhash/signatures.leanminhash --from leanminhash -o none
refused 2 '.*--hash is not given'
bm import x-leanminhash/signatures.leanminhash --from leanminhash --hash sha1 --seed 2 -o none
refused 2 '--seed 2 contradicts x-leanminhash/signatures.leanminhash \(1\)'
bm import x-leanminhash/signatures.leanminhash --from leanminhash --hash sha1 --scheme oph -o none
refused 2 ''
bm import x-npy --from npy --seed 2 -o none
refused 2 '--seed 2 contradicts '
bm import x-npy --from npy --perms 17 -o none
refused 2 '17 permutations asked for'
bm import x-npy --from leanminhash -o none
refused 7 'x-npy: is no export of signatures in the form of leanminhash'
bm import x-npy --from milvus -o none
refused 2 '.*milvus'
bm import x-npy -o none
refused 2 'no form'
bm import --from npy -o none
refused 2 'no input'
bm import x-npy --from npy -o x-npy/inside
refused 2 ''
bm import missing.npy --from npy $told -o none
refused 4 'missing.npy'
bm import x-npy/signatures.npy --from npy $told -o rows
exits 0
seq 0 30 > ../expected.ids
cmp -s rows/ids.txt ../expected.ids || fail "ids are not the numbers of the rows"
cmp -s rows/signatures.npy signed/signatures.npy || fail "other words"
bm import x-npy/signatures.npy --from npy $told --ids signed/ids.txt -o listed
exits 0
cmp -s listed/ids.txt signed/ids.txt || fail "ids are not those of the list"
{ printf '\357\273\277'; cat signed/ids.txt; } > marked.txt
bm import x-npy/signatures.npy --from npy $told --ids marked.txt -o marked; exits 0
cmp -s marked/ids.txt signed/ids.txt || fail "a byte order mark went into an id"
bm import x-npy/signatures.npy x-npy/signatures.npy --from npy $told -o twice
exits 0
[ "$(wc -l < twice/ids.txt)" = 62 ] || fail "not both files"
bm import x-npy x-leanminhash --from npy -o none
refused 7 'x-leanminhash: is no export'

# lists that do not fit
head -n 30 signed/ids.txt > few.txt
(cat signed/ids.txt && echo more) > many.txt
(head -n 30 signed/ids.txt && printf 'last') > cut.txt
(head -n 30 signed/ids.txt && printf 'bad \\q\n') > broken.txt
(head -n 30 signed/ids.txt && head -n 1 signed/ids.txt) > repeated.txt
for list in "few.txt: has 30 ids, and there are more" "many.txt:32: more ids than the 31" "cut.txt:31: the last line has no newline" \
    "broken.txt:31: a broken escape" ".*signatures.npy:31: .*doc"; do
    file=${list%%:*}
    [ "$file" != ".*signatures.npy" ] || file=repeated.txt
    bm import x-npy/signatures.npy --from npy $told --ids "$file" -o none
    refused 3 "$list"
    absent none
done
bm import x-npy/signatures.npy --from npy $told --ids repeated.txt --duplicate-ids number -o numbered
exits 0

# of no documents
: > empty.jsonl
bm sign empty.jsonl -o nothing --perms 16 --hash sha1 -q
for form in leanminhash npy; do
    bm export nothing --to $form -o n-$form -q
    bm import n-$form x-$form --from $form -o m-$form -q
    exits 0
    cmp -s m-$form/signatures.npy signed/signatures.npy || fail "$form: an export of no documents beside another"
    bm import n-$form --from $form -o e-$form -q
    exits 0
    cmp -s e-$form/signatures.npy nothing/signatures.npy || fail "$form: other than no documents"
done
bm import x-npy --from npy --id-field name -o none
refused 2 '--id-field: npy has no columns'
bm import x-npy --from npy --signature-field name -o none
refused 2 '--signature-field: npy has no columns'
bm import - --from npy $told -o none
refused 2 'import does not read standard input'

# hostile files
lean=x-leanminhash/signatures.leanminhash
head -c 76 $lean > short.lean && : > empty.lean && head -c 7 $lean > tiny.lean
(head -c 77 $lean && printf '\002' | cat - $lean | head -c 77) > second.lean
(head -c 12 $lean && printf '\011' && tail -c +14 $lean) > code.lean
(head -c 8 $lean && printf '\000\000\000\200' && tail -c +13 $lean) > huge.lean
for case in "short.lean:1: its last record is cut short: 76 bytes \(of 77\)" "empty.lean: has no record" "tiny.lean:1: ends within" \
    "second.lean:2: its record is of scheme" "code.lean:1: no record of LeanMinHash: the code of its scheme is 9" \
    "huge.lean: signatures of 2147483648 words"; do
    bm import "${case%%:*}" --from leanminhash --hash sha1 -o none
    refused 3 "$case"
    absent none
done
head -c 300 signed/signatures.npy > cut.npy
for case in "cut.npy: the file has 300 bytes" "signed/n_shingles.npy: an array of one dimension" "a.jsonl: is no .npy"; do
    bm import "${case%%:*}" --from npy $told -o none
    refused 3 "$case"
    absent none
done
bm import x-npy/signatures.npy --from npy --scheme affine32 --seed 1 --hash sha1 --perms 8 -o none
refused 2 '8 permutations asked for, x-npy/signatures.npy has 16'

# each file of an export is compared with its report
for file in signatures.npy ids.txt n_shingles.npy; do
    cp -r x-npy damaged
    printf 'X' | dd of=damaged/$file bs=1 seek="$(($(wc -c < damaged/$file) - 2))" conv=notrunc 2> /dev/null
    bm import damaged --from npy -o none
    refused 7 "damaged/$file"
    absent none
    rm -rf damaged
done

# words that no document has under the scheme: named with their row, and nothing is written
printf '{"id":"a","text":"one two three four five six"}\n' > b.jsonl
bm sign b.jsonl -o words --perms 16
exits 0
for scheme in oph:xxh3 lance:xxh64; do
    printf '\377\377\377\377' > patch
    head -c -64 words/signatures.npy > w.npy
    { head -c 32 /dev/zero; cat patch; head -c 28 /dev/zero; } >> w.npy
    bm import w.npy --from npy --scheme ${scheme%:*} --hash ${scheme#*:} --seed 1 -o none
    refused 3 "w.npy:1: word 9 is 4294967295 .those of scheme ${scheme%:*} are at most"
    absent none
done
