# SPDX-License-Identifier: Apache-2.0
# Numbers and words of a report that no job can have written: whoever reads them says so (7), naming the report. Nothing is cut off to
# the width of an integer, and nothing behind a number is passed over. The report's own digest is taken out of it, as for edits on purpose.
# shellcheck shell=sh disable=SC2034,SC2154
printf '{"id":"a","text":"one two three four five six"}\n{"id":"b","text":"one two three four five six"}\n{"text":7}\n' > in.jsonl
bm sign in.jsonl --on-error skip -o sig; exits 0
bm dedup in.jsonl --on-error skip -o out; exits 0
bm sign in.jsonl --on-error skip --seed 0 -o seeded; exits 0

# reads DIR: by the commands that read its report
reads() {
    case $1 in
    sig) bm dedup sig --verify signature -o made ;;
    out) bm filter out -o made ;;
    annotate) bm filter out --annotate -o made ;;
    explain) bm explain out a b ;;
    esac
}

# edit DIR SED: its report
edit() { sed -i "s/\"report_xxh3_128\"/\"was\"/; $2" "$1"/*.json; }

# wrong DIR SED 'ERE' [READER]
wrong() {
    rm -rf kept
    cp -R "$1" kept
    edit "$1" "$2"
    diff -rq "$1" kept > ../out && fail "nothing was edited by $2"
    reads "${4-$1}"
    refused 7 "$1/[a-z]*\\.json: .*$3"
    absent made
    rm -r "$1"
    mv kept "$1"
}

for dir in sig out; do
    edit $dir ''
    reads $dir; exits 0; rm -r made # as it was, but for the digest
    for shingle in word:0 word:1025 word:4294967295 word:4294967301 word:18446744073709551621 word:5x word:05 word: word word:-1 'word: 5' word5 ord:5 ':5'; do
        wrong $dir "s/\"word:5\"/\"$shingle\"/" "provenance\\.shingle is '$shingle'"
    done
    for seed in 4294967296 4294967297 18446744073709551615; do wrong $dir "s/\"seed\": 1,/\"seed\": $seed,/" "provenance\\.seed.*$seed"; done
    for seed in 18446744073709551616 -1 1.5 '"1"'; do wrong $dir "s/\"seed\": 1,/\"seed\": $seed,/" '"seed" is missing or wrong'; done
    for perms in 0 1025 4294967424 18446744073709551615; do wrong $dir "s/\"perms\": 128,/\"perms\": $perms,/" "provenance\\.perms.*$perms"; done
    wrong $dir 's/"hash": "xxh3"/"hash": "xxh2"/' "provenance\\.hash is 'xxh2'"
    wrong $dir 's/"on_error": "skip"/"on_error": "skap"/' "provenance\\.on_error is 'skap'"
    wrong $dir 's/"duplicate_ids": "error"/"duplicate_ids": ""/' "provenance\\.duplicate_ids is ''"
    wrong $dir 's/"invalid_utf8": "replace"/"invalid_utf8": "replacf"/' "provenance\\.invalid_utf8 is 'replacf'"
    wrong $dir 's/"normalize": "invisible,lower"/"normalize": "nfc,nfkc"/' 'provenance'
    wrong $dir 's/"delimiter": null/"delimiter": "\\n"/' '"delimiter" is missing or wrong'
done
for records in 2 4 18446744073709551615; do wrong sig "s/\"records\": 3/\"records\": $records/" "counts\\.records is $records"; done
for removed in 0 2; do wrong out "s/\"removed\": 1,/\"removed\": $removed,/" "counts\\.removed is $removed \\(removed\\.tsv has 1\\)"; done
for dir in sig out; do wrong $dir 's/"skipped": 1,/"skipped": 2,/; s/"records": 3/"records": 4/' 'counts\.skipped is 2 \(sources\.tsv has 1\)'; done
wrong out 's/"groups": 1,/"groups": 2,/' 'counts\.groups is 2 \(groups\.jsonl has 1\)' annotate
for threshold in 0 1.5 -1 1e400; do wrong out "s/\"threshold\": 0.8/\"threshold\": $threshold/" '' explain; done
for rows in 0 129 4294967303 18446744073709551615; do wrong out "s/\"rows\": 7/\"rows\": $rows/" '.*bands of' explain; done
for bands in 0 1024 4294967309; do wrong out "s/\"bands\": 13/\"bands\": $bands/" '.*bands of' explain; done

# a digest that was edited, and one that was not where the rest was
bm dedup in.jsonl --on-error skip -o other; exits 0
sed -i 's/"seed": 1,/"seed": 2,/' other/report.json
bm filter other -o made; refused 7 'other/report\.json: its bytes are not those that were written'; absent made
bm dedup seeded --verify signature -o made; exits 0
