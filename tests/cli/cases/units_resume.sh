# SPDX-License-Identifier: Apache-2.0
# --resume of `dedup --unit`: lines, paragraphs, spans and near lines that a signal or a kill ended go on, with the same bytes; what
# is refused stays as it is. tests/scale/killed.py kills them at random.
# shellcheck shell=sh disable=SC2034,SC2086,SC2154
awk 'BEGIN {
    srand(7)
    for (i = 0; i < 300; i++) { lines[i] = "w"; for (w = 0; w < 9; w++) lines[i] = lines[i] " w" int(rand() * 900) }
    for (i = 0; i < 6000; i++) {
        text = ""
        for (k = 0; k < 4; k++) {
            line = lines[int(rand() * 300)]
            if (rand() < .5) { line = "n" i; for (w = 0; w < 9; w++) line = line " w" int(rand() * 900) }
            if (rand() < .2) sub(/w[0-9]+$/, "x", line)
            text = text line (rand() < .3 ? "\\n\\n" : "\\n")
        }
        if (i % 500 == 78) print "{broken"
        printf "{\"id\":%d,\"site\":\"s%d\",\"text\":\"%s\"}\n", i, i % 3, text
    }
}' > in.jsonl
cp -p in.jsonl other.jsonl
mkdir temporary

# resumed OPTION…: a job with them is stopped and goes on, by each of two signals; with files elsewhere, and with less memory.
resumed() {
    bm dedup in.jsonl --on-error skip "$@" -o whole -q; exits 0
    for how in TERM:143 KILL:137 'KILL:137:--temp-dir temporary' 'TERM:143:--memory 32M --temp-dir temporary'; do
        signal=${how%%:*}
        code=${how#*:}
        case $code in *:*) more=${code#*:} code=${code%%:*} ;; *) more= ;; esac
        start_and_stop $signal dedup in.jsonl --on-error skip "$@" $more -o out
        exits $code
        find out.partial -type f -exec cksum {} + > ../before
        bm dedup in.jsonl --on-error skip "$@" --min-words 2 -o out --resume; refused 7 'out.partial: .*min_words'
        bm dedup other.jsonl --on-error skip "$@" -o out --resume; refused 7 'out.partial: .*jsonl'
        bm dedup in.jsonl --on-error skip "$@" -o out; refused 2 'out.partial: .*saved there.*--resume'
        find out.partial -type f -exec cksum {} + > ../after
        cmp -s ../before ../after || fail "a refused job changed the work"
        bm dedup in.jsonl --on-error skip "$@" $more -o out --resume --threads 2
        exits 0
        says ../err 'resuming after [1-9][0-9]* (documents|parts)'
        the_same whole
        sed '/"run"/,$d' out/report.json > ../report
        sed '/"run"/,$d' whole/report.json | cmp -s - ../report || fail "another report.json"
        [ -z "$(ls -A temporary)" ] || fail "left in --temp-dir: $(ls -A temporary)"
        bm dedup in.jsonl --on-error skip "$@" -o out --resume; exits 0; says ../err 'it is done'
        rm -r out
    done
    rm -r whole
}

resumed --unit line --pairs
resumed --unit paragraph --keep last --min-words 4
resumed --unit line --within site --kept no
resumed --unit span:6
resumed --unit span:5 --within site --keep-count 2
resumed --unit line --threshold 0.7 --shingle word:2 --pairs
resumed --unit line --threshold 0.7 --shingle word:2 --within site --cluster star
resumed --unit paragraph --keep max:id

# of `overlap` too, with its files elsewhere
bm overlap in.jsonl --against other.jsonl --on-error skip -o whole -q; exits 0
start_and_stop KILL overlap in.jsonl --against other.jsonl --on-error skip --temp-dir temporary -o out; exits 137
bm overlap in.jsonl --against other.jsonl --on-error skip --temp-dir temporary -o out --resume; exits 0
says ../err 'resuming after'; the_same whole
