# SPDX-License-Identifier: Apache-2.0
# The summary of a finished job: its numbers add up and agree with the report; and the command that makes a report is named.
# shellcheck shell=sh disable=SC2034,SC2154
i=0
: > docs.jsonl
while [ $i -lt 600 ]; do
    j=$((i % 7 < 4 ? i / 7 : i)) # some documents are equal, some alike, most neither
    k=$((i % 7 == 1 || i % 7 == 2 ? 0 : i % 7))
    echo "{\"id\":\"d$i\",\"text\":\"words of text $j $((j * 7919)) $((j * 104729)) and then $((j * 31)) some more $((j * 17)) of it $((j + 5)) $((j + 9)) with $k at its end\"}"
    i=$((i + 1))
done >> docs.jsonl
echo '{"id":"e","text":""}' >> docs.jsonl
echo 'no record' >> docs.jsonl

# number 'ERE': that of the first line of the summary on stderr which matches; N stands for it.
number() {
    sed -nE "s/^bandmill: (.*[^0-9,]|)$(printf '%s' "$1" | sed 's/N/([0-9,]+)/')\\b.*\$/\\2/p" ../err | head -n 1 | tr -d ,
}

# count FILE NAME: from the counts of a report.
count() { grep -oE "\"$2\": [0-9]+" "$1" | head -n 1 | grep -oE '[0-9]+'; }

# adds TOTAL PART...: and none of them is empty.
adds() {
    checks=$((checks + 1))
    total=$1
    shift
    sum=0
    for part in "$@"; do
        [ -n "$part" ] || fail "a number is missing: $total = $*"
        sum=$((sum + part))
    done
    [ "$total" = "$sum" ] || fail "$total is not the sum of $*"
}

# numbers REPORT: those of the summary, against each other and against the report.
numbers() {
    report=$1
    adds "$(count "$report" records)" "$(number 'N documents read')" "$(number 'N records? skipped')"
    adds "$(count "$report" identical)" "$(number 'N documents have the same shingles in the same order as an earlier one')"
    adds "$(number 'N candidates, all verified')" "$(number 'N at the threshold')" "$(number 'N below')"
    adds "$(count "$report" candidates)" "$(count "$report" verified)"
    adds "$(count "$report" edges)" "$(number 'N at the threshold')"
}

for cluster in components star; do
    bm dedup docs.jsonl -o "$cluster" --on-error skip --threshold 0.6 --pairs --cluster "$cluster" -v; exits 0
    numbers "$cluster/report.json"
    adds "$(number 'N documents read')" "$(number 'N kept')" "$(number 'N removed \(')"
    chained=$(number 'N chained')
    adds "$(number 'N removed \(')" "$(number 'N identical')" "$(number 'N near')" "${chained:-0}"
    for reason in identical near chained; do
        said=$(number "N $reason")
        adds "$(awk -F '\t' -v r=$reason '$4 == r' "$cluster/removed.tsv" | wc -l)" "${said:-0}"
    done
    adds "$(count "$cluster/report.json" lost_shingles)" "$(number 'N of them \([0-9.]+ %\) not in the document kept instead')"
    adds "$(count "$cluster/report.json" removed_shingles)" "$(number 'of text, N shingles')"
    adds "$(count "$cluster/report.json" lost_shingles)" "$(awk -F '\t' 'NR > 1 { n += $7 } END { print n }' "$cluster/removed.tsv")"
    adds "$(number 'N pairs written')" "$(number 'N of identical documents')" "$(number 'N others')"
    adds "$(tail -n +2 "$cluster/pairs.tsv" | wc -l)" "$(number 'N pairs written')"
    adds "$(awk -F '\t' '$3 == "1.000000"' "$cluster/pairs.tsv" | wc -l)" "$(number 'N of identical documents')"
done
[ "$(number 'N documents have the same shingles')" -gt 20 ] && [ "$(number 'N at the threshold')" -gt 20 ] || fail "the documents show nothing"

for how in 'lsh' 'all' 'lsh --identical chain'; do
    # shellcheck disable=SC2086
    bm pairs docs.jsonl -o "pairs.tsv" --force --on-error skip --threshold 0.6 --report pairs.json --candidates $how -v; exits 0
    numbers pairs.json
    adds "$(tail -n +2 pairs.tsv | wc -l)" "$(number 'N of identical documents')" "$(number 'N others')"
    adds "$(count pairs.json pairs)" "$(number 'N pairs written')"
done
bm dedup docs.jsonl -o unverified --on-error skip --verify none -v; exits 0
says ../err '^bandmill: [0-9,]+ candidates, none verified: all of them count$'
bm filter components -o filtered; exits 0
adds "$(count components/report.json records)" "$(number 'N kept')" "$(number 'N removed')" "$(number 'N records? skipped')"

# without -v: four lines, after one for each kind of warning
summary() { grep -vE '^bandmill: (warning: |left out of directories: |[0-9,]+ of the removed (is|are) chained: )' ../err; }
mkdir in
cp docs.jsonl in/docs.jsonl
echo '{"id":"u","text":"\ufffd\u0001 \ufffd\u0002 a"}' >> in/docs.jsonl
for i in 0 10 20; do # a chain: the first and the last are below the threshold
    echo "{\"id\":\"c$i\",\"text\":\"$(seq -s ' ' -f 'c%g' "$i" "$((i + 59))")\"}" >> in/docs.jsonl
done
ln -s gone in/gone.jsonl
bm dedup in -o short --on-error skip --threshold 0.6; exits 0
summary > ../four
[ "$(wc -l < ../four)" = 4 ] || fail "not four lines"
[ "$(sed 's/ .*//' ../four | sort -u)" = bandmill: ] || fail "not lines of ours"
says ../four '^bandmill: 605 documents read$'
says ../four "^bandmill: $(count short/report.json kept) kept, $(count short/report.json removed) removed \([0-9.]+ %\): "
says ../four '^bandmill: not compared: 1 record skipped \(short/skipped\.tsv\), 1 document unreadable \(not UTF-8\), 1 document empty$'
says ../four '^bandmill: done in [0-9.]+ s on .*, written to short \(to look at it: bandmill report short -o report\.html\)$'
[ "$(grep -cE 'of the removed (is|are) chained' ../err)" = 1 ] && [ "$(grep -c '^bandmill: left out' ../err)" = 1 ] || fail "not one line a kind of warning"
says ../err '^bandmill: left out of directories: 1 link to nothing$'
bm sign docs.jsonl -o short.sig --on-error skip -q; exits 0
for how in '--keep longest' '--verify none' '--cluster star --threshold 0.5' '--max-group-size 2' '--against short.sig' '--pairs --keep none'; do
    # shellcheck disable=SC2086
    bm dedup in -o "it's short" --force --on-error skip $how; exits 0
    [ "$(summary | wc -l)" = 4 ] || fail "$how: not four lines"
    says ../err "\(to look at it: bandmill report 'it'\\\\''s short' -o report\.html\)"
done
bm dedup docs.jsonl --against short.sig -o known --on-error skip; exits 0
adds "$(number 'N removed \(')" "$(number 'N known')"
bm index build idx docs.jsonl --on-error skip; exits 0
[ "$(summary | wc -l)" = 4 ] || fail "index build: not four lines"
bm pairs in -o pairs.tsv --force --on-error skip; exits 0
[ "$(summary | wc -l)" = 4 ] || fail "pairs: not four lines"
says ../err '^bandmill: not compared: 1 record skipped, '

# on a terminal the number of removed documents is bold, unless NO_COLOR is set; in a file it never is
on_terminal() {
    TERM=xterm "$@" "${PYTHON:-python3}" -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]))' \
        "$PROGRAM" dedup docs.jsonl -o "$to" --on-error skip --progress never < /dev/null > ../typed 2> ../err || true
}
grep -q "$(printf '\033')" ../err && fail "emphasis in a file"
bold=$(printf '\033')
to=bold on_terminal env -u NO_COLOR
[ "$(grep -c "$bold" ../typed)" = 1 ] || fail "not one line with emphasis"
says ../typed "kept, $bold\[1m[0-9,]+ removed$bold\[0m \("
to=plain on_terminal env NO_COLOR=1
says ../typed 'kept, [0-9,]+ removed \('
! grep -q "$bold" ../typed || fail "emphasis under NO_COLOR"

# the command as it was given, and when: under "run", where all is that varies
bm --threads 2 dedup docs.jsonl -o 'a "name"' --on-error skip; exits 0
tr -d '\n' < 'a "name"/report.json' > ../flat
says ../flat '"run": *\{ *"date": *"20[0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z", *"command": *\[ *"[^"]*bandmill", *"--threads", *"2", *"dedup", *"docs.jsonl", *"-o", *"a \\"name\\"", *"--on-error", *"skip" *\]'
began=$(date -u +%Y-%m-%dT%H:%M:%SZ)
bm sign docs.jsonl -o sig --on-error skip; exits 0
said=$(grep -oE '"date": "[^"]*"' sig/manifest.json | cut -d '"' -f 4)
checks=$((checks + 1))
[ "$(printf '%s\n%s\n%s\n' "$began" "$said" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" | sort | sed -n 2p)" = "$said" ] || fail "not the date: $said"

# what the plan predicts is no more than an estimate for short documents under oph
bm sign docs.jsonl -o plan --on-error skip --band-keys -v; exits 0
says plan/manifest.json '"predicted_recall_is": "exact"'
says ../err '^bandmill: plan: .* at 0\.8$'
bm sign docs.jsonl -o oph --on-error skip --band-keys --scheme oph -v; exits 0
says oph/manifest.json '"predicted_recall_is": "an estimate for short documents"'
says ../err '^bandmill: plan: .* at 0\.8 \(an estimate for documents of fewer shingles than ten times the permutations\)$'
bm dedup oph -o of-oph --verify signature -v; exits 0 # known from the signatures
says of-oph/report.json '"predicted_recall_is": "an estimate for short documents"'
says ../err '^bandmill: plan: .* \(an estimate for documents of fewer'
