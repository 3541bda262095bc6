# SPDX-License-Identifier: Apache-2.0
# Interrupted jobs: by signals, and by readers that close their end.
# shellcheck shell=sh disable=SC2034,SC2154,SC2217
i=0
while [ $i -lt 4000 ]; do
    echo "{\"id\":$i,\"text\":\"the same text in every one of these documents\"}"
    i=$((i + 1))
done > same.jsonl

# 8 million pairs to a reader that takes one line: 141, and not a word
{ "$PROGRAM" pairs same.jsonl 2> ../err; echo $? > ../code; } | head -n 1 > ../out
rc=$(cat ../code)
command_line='bandmill pairs same.jsonl | head -n 1'
exits 141
silent ../err

# interrupted CODE: the last command left with it, its last line says so, and nothing is at the output's place but work that can be resumed.
interrupted() {
    exits "$1"
    tail -n 1 ../err > ../last
    says ../last '^bandmill: .*interrupted'
    if grep -qv '^bandmill: ' ../err; then fail "a line that is not a message"; fi
    [ ! -e out ] || fail "there is an output"
    rm -rf out.partial
}

# ready: the job has begun to catch TERM (bit 14 of its mask), however busy the machine is; a signal before that is the shell's affair.
# What it does when the signal comes, some tenths of a second later, may differ from run to run, and what comes of it may not.
ready() { comes grep -q '^SigCgt:.*[4-7c-f]...$' "/proc/$job/status"; }

# a job that waits for more of its input, told to stop: soon, with its exit code
mkfifo fifo
for pair in TERM:143 INT:130; do
    signal=${pair%%:*}
    command_line="kill -$signal bandmill sign - -o out"
    sleep 600 > fifo &
    writer=$!
    # env: a shell lets its background jobs ignore INT, --default-signal takes that back
    env --default-signal=INT "$PROGRAM" sign - -o out < fifo > ../out 2> ../err &
    job=$!
    ready
    sleep 0.5
    began=$(date +%s)
    kill "-$signal" $job
    wait $job
    rc=$?
    soon $began
    kill $writer 2> /dev/null
    wait $writer 2> /dev/null
    interrupted "${pair##*:}"
done

# a signal that was ignored by the caller stays ignored
sleep 600 > fifo &
writer=$!
command_line='kill -INT, ignored'
(trap '' INT; exec "$PROGRAM" sign - -o out < fifo > ../out 2> ../err) &
job=$!
ready
sleep 0.4
kill -INT $job
sleep 0.3
kill $writer
wait $job
rc=$?
wait $writer 2> /dev/null
exits 0
rm -r out

# stop_in_the_middle SIGNALS: a dedup whose reader waits gets them while it is stopped, so that it cannot leave between two of them.
# They come in the order of their numbers, to the main thread: no other takes signals, where no driver has threads of its own.
stop_in_the_middle() {
    command_line="kill $*, of bandmill dedup - -o out"
    sleep 600 > fifo &
    writer=$!
    env --default-signal=INT "$PROGRAM" dedup - --device cpu -o out < fifo > ../out 2> ../err &
    job=$!
    ready
    sleep 0.4
    began=$(date +%s)
    for signal in STOP "$@" CONT; do
        kill "-$signal" $job
    done
    wait $job
    rc=$?
    soon $began
    kill $writer 2> /dev/null
    wait $writer 2> /dev/null
}

# whatever command it is that waits for its input
for command in 'cluster -' 'dedup --files-from - -o out' 'pairs -' 'bench -'; do
    command_line="kill -TERM bandmill $command"
    sleep 600 > fifo &
    writer=$!
    # shellcheck disable=SC2086
    "$PROGRAM" $command < fifo > ../out 2> ../err &
    job=$!
    ready
    sleep 0.3
    began=$(date +%s)
    kill -TERM $job
    wait $job
    rc=$?
    soon $began
    kill $writer 2> /dev/null
    wait $writer 2> /dev/null
    interrupted 143
done

# one asks; a second one, of the other kind too, ends the process at once: by that signal, so without a word
stop_in_the_middle INT; interrupted 130
stop_in_the_middle TERM; interrupted 143
stop_in_the_middle INT TERM; exits 143; silent ../err
[ ! -e out ] || fail "a job that was killed left an output"
rm -rf out.partial

# a job that nobody reads from waits in a write: one signal may have to wait too, a second one of the same kind does not
mkfifo rows
for pair in TERM:143 INT:130; do
    signal=${pair%%:*}
    command_line="kill -$signal -$signal bandmill pairs same.jsonl, of which nobody reads"
    sleep 600 < rows &
    reader=$!
    env --default-signal=INT "$PROGRAM" pairs same.jsonl > rows 2> ../err &
    job=$!
    ready
    sleep 0.6
    began=$(date +%s)
    kill "-$signal" $job
    sleep 0.3
    kill "-$signal" $job 2> /dev/null
    wait $job
    rc=$?
    exits "${pair##*:}"
    soon $began
    kill $reader 2> /dev/null
    wait $reader 2> /dev/null
done

# One record of 16 GiB in 72 MB, longer than any may be, is read over, which takes seconds.
if [ "${BANDMILL_TEST_SIZE:-}" != small ]; then
    head -c 16777216 /dev/zero | gzip -1 > piece
    for i in $(seq 32); do cat piece; done > pieces
    for i in $(seq 32); do cat pieces; done > long.gz
    rm piece pieces
    for what in 'long.gz --format lines' 'long.gz --format lines --on-error skip' 'long.gz --format files' 'long.gz --format csv --text-field 1'; do
        command_line="kill -INT bandmill sign $what"
        # shellcheck disable=SC2086
        env --default-signal=INT "$PROGRAM" sign $what --max-doc-bytes 1M -o out > ../out 2> ../err &
        job=$!
        ready
        sleep 0.2
        began=$(date +%s)
        kill -INT $job
        wait $job
        rc=$?
        soon $began
        interrupted 130
    done
    rm long.gz
fi

# the line of an error comes after the lines of the meter, alone on its line, in the midst of work too
meter='[a-z]+( [1-9] of [1-9])?( +[0-9]+ %)?( .*/s)?( +[0-9,]+ documents)?( .*left)?'
for pair in TERM:143 INT:130; do
    signal=${pair%%:*}
    command_line="kill -$signal bandmill dedup - --progress always -o out"
    yes '{"text":"the same text in every one of these documents"}' > fifo 2> /dev/null &
    writer=$!
    env --default-signal=INT "$PROGRAM" dedup - --progress always -o out < fifo > ../out 2> ../err &
    job=$!
    comes grep -q '^sign .* documents$' ../err
    kill "-$signal" $job
    wait $job
    rc=$?
    wait $writer 2> /dev/null
    grep -vE "^$meter\$" ../err > ../words
    mv ../words ../err
    interrupted "${pair##*:}"
done

# on a terminal the line of the meter is gone before the error comes, and is not drawn again
if [ "$(script -qec 'echo here' /dev/null 2> /dev/null < /dev/null | tr -d '\r\n')" = here ]; then
    command_line="kill -TERM bandmill dedup - -o out, on a terminal"
    yes '{"text":"the same text in every one of these documents"}' > fifo 2> /dev/null &
    : > ../typed
    script -qfec "\"$PROGRAM\" dedup - -o out < fifo & n=0; until grep -qa '^.*sign .* documents' ../typed || [ \$n -gt 1200 ]; do sleep 0.1; n=\$((n + 1)); done
        kill -TERM \$!; wait \$!; echo \$? > ../code" ../typed > /dev/null < /dev/null
    wait
    rc=$(cat ../code)
    exits 143
    rm -rf out.partial
    tr '\r' '\n' < ../typed | sed '/^$/d' > ../lines
    grep -qE '^sign .* documents' ../lines || fail "no meter was drawn"
    # the last of the meter is wiped (ESC [ K at the line's beginning), then come messages only
    sed -n '/^.\[Kbandmill: /,$p' ../lines > ../tail
    says ../tail '^(.\[K)?bandmill: .*interrupted'
    if grep -q '^sign' ../tail; then fail "the meter was drawn again"; fi
fi
