# SPDX-License-Identifier: Apache-2.0
# OUTPUT.partial is removed while a job has sets saved below --temp-dir. They are removed with the job or, if the job was killed, by the
# next job that uses the directory, whatever its output. Sets of a running job, or of one that can be resumed, stay.
# shellcheck shell=sh disable=SC2034,SC2154
awk 'BEGIN {
    srand(7)
    for (i = 0; i < 20000; i++) {
        text = ""
        for (w = 0; w < 12; w++) text = text " w" int(rand() * 3000)
        printf "{\"id\":%d,\"text\":\"%s\"}\n", i, text
    }
}' > in.jsonl
mkdir temporary

# stand_still: a job that has saved sets stands still; its number in $job
stand_still() {
    for try in $(seq 50); do
        rm -rf out out.partial
        command_line='bandmill dedup in.jsonl --temp-dir temporary -o out'
        BANDMILL_SEAL_SECONDS=0 "$PROGRAM" dedup in.jsonl --temp-dir temporary -o out --threads 1 --batch-docs 5 > ../out 2> ../err &
        job=$!
        while kill -STOP $job 2> /dev/null && [ ! -e out ] && ! grep -q '^documents' out.partial/.bandmill-journal 2> /dev/null; do
            kill -CONT $job
            sleep 0.01
        done
        [ -e out ] || break # else it was done before anybody looked
        wait $job
    done
    [ "$(ls -A temporary)" ] || fail "no sets in --temp-dir"
}

stand_still
rm -rf out.partial
kill -CONT $job
wait $job
rc=$?
exits 4
says ../err 'out.partial: was removed, moved or made anew'
checks=$((checks + 1))
! grep -q -- '--resume' ../err || fail "says that it can be resumed"
checks=$((checks + 1))
[ ! "$(ls -A temporary)" ] || fail "sets are left in --temp-dir: $(ls -A temporary)"
absent out out.partial

# another output: the sets of a job that stands still stay, and so do those of a killed job that can be resumed
stand_still
ls -A temporary > ../before
bm dedup in.jsonl --temp-dir temporary -o other -q; exits 0
ls -A temporary | holds ../before
kill -KILL $job
wait $job 2> /dev/null
bm dedup in.jsonl --temp-dir temporary -o other --force -q; exits 0
ls -A temporary | holds ../before
bm dedup in.jsonl --temp-dir temporary -o out --resume; exits 0
says ../err 'resum'
checks=$((checks + 1))
[ ! "$(ls -A temporary)" ] || fail "sets are left in --temp-dir: $(ls -A temporary)"

# what another file system would have: the folder that had the work is another one now; then it is back, without the work
rm -rf out
mkdir there
cd there
mkdir temporary
cp ../in.jsonl .
stand_still
cd ..
kill -KILL $job
wait $job 2> /dev/null
mv there away
mkdir there
mv away/temporary .temporary
ls -A .temporary > ../before
bm dedup in.jsonl --temp-dir .temporary -o other --force -q; exits 0
ls -A .temporary | holds ../before
rmdir there
mv away there
rm -r there/out.partial
echo mine > .temporary/.bandmill-0123456789abcdef-holder
bm dedup in.jsonl --temp-dir .temporary -o other --force -q; exits 0
echo .bandmill-0123456789abcdef-holder > ../before
ls -A .temporary | holds ../before

# A file that has come to the place of the sets is somebody's.
stand_still
rm -rf out.partial
ls -A temporary > ../before
bm dedup in.jsonl --temp-dir temporary -o other --force -q; exits 0
ls -A temporary | holds ../before # it lives
name=$(cd temporary && ls -A | grep sets)
rm "temporary/$name"
echo mine > "temporary/$name"
kill -CONT $job
wait $job
rc=$?
exits 4
checks=$((checks + 1))
[ "$(cat "temporary/$name")" = mine ] || fail "a file that was not the job's is gone"
checks=$((checks + 1))
[ "$(ls -A temporary)" = "$name" ] || fail "left in --temp-dir: $(ls -A temporary)"
