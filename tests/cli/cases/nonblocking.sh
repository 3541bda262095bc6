# SPDX-License-Identifier: Apache-2.0
# Standard streams that do not block: node, ssh and asyncio set O_NONBLOCK on streams that they share with other processes. The program
# waits for its reader and its writer as with other streams.
# shellcheck shell=sh disable=SC2034,SC2154
cat > ../client.py <<'END'
"""client.py INPUT OUT ERR PROGRAM ARGS...: both ends of its pipes slow, all of them without blocking."""
import os, subprocess, sys, threading, time
source, out, err, *command = sys.argv[1:]
ends = [os.pipe() for _ in range(3)]
for pair, ours in zip(ends, (0, 1, 1)):
    os.set_blocking(pair[ours], False)
child = subprocess.Popen(command, stdin=ends[0][0], stdout=ends[1][1], stderr=ends[2][1])
for pair, ours in zip(ends, (0, 1, 1)):
    os.close(pair[ours])
def feed():
    data = open(source, "rb").read()
    try:
        for part in (data[: len(data) // 2], data[len(data) // 2 :]):
            time.sleep(0.05)
            os.write(ends[0][1], part)
    except BrokenPipeError:
        pass
    os.close(ends[0][1])
def drain(fd, path):
    time.sleep(0.2)  # the pipe is full meanwhile
    with open(fd, "rb") as pipe, open(path, "wb") as file:
        file.write(pipe.read())
threads = [threading.Thread(target=feed)] + [threading.Thread(target=drain, args=a) for a in ((ends[1][0], out), (ends[2][0], err))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
code = child.wait()
sys.exit(128 - code if code < 0 else code)
END
unblocked() { # unblocked INPUT ARGS...: as bm, with such streams
    input=$1
    shift
    command_line="bandmill $* < $input, not blocking"
    "$PYTHON" ../client.py "$input" ../out ../err "$PROGRAM" "$@"
    rc=$?
}
same() { # same INPUT ARGS...: it writes what it writes to a file
    unblocked "$@"
    shift
    "$PROGRAM" "$@" < "$input" > ../expected 2> /dev/null
    exits $?
    cmp -s ../expected ../out || fail "$(wc -c < ../out) bytes on standard output (expected the same $(wc -c < ../expected) as in a file)"
}
i=0
while [ $i -lt 400 ]; do
    echo "{\"id\":\"document $i\",\"text\":\"the same text in every one of these documents\"}"
    i=$((i + 1))
done > in.jsonl
bm sign in.jsonl -o signed; exits 0
bm index build ix in.jsonl; exits 0
bm pairs in.jsonl -o pairs.tsv; exits 0
echo in.jsonl > list
head -n 20 in.jsonl > some.jsonl

# 79,800 rows, 3 MB
same in.jsonl pairs -
same in.jsonl pairs - --json
same list pairs --files-from -
same list pairs --files-from /dev/stdin
same pairs.tsv cluster -
same some.jsonl query ix -
same some.jsonl query ix --follow
same /dev/null help dedup
sed -n 's/.*"id":"\([^"]*\)".*/\1/p' some.jsonl > ids
unblocked ids index remove ix --ids -; exits 0; says ../err '^bandmill: 20 removed'

# messages too: 3,000 warnings, and none is cut or lost
i=0
while [ $i -lt 3000 ]; do echo 'this line is no JSON at all'; i=$((i + 1)); done > bad.jsonl
cat some.jsonl >> bad.jsonl
unblocked bad.jsonl query ix --follow --on-error skip; exits 0
[ "$(grep -c '^bandmill: warning: -:[0-9]*: skipped: ' ../err)" -eq 3000 ] || fail "warnings are missing"

# a reader that goes away is still 141, a signal still ends the wait for one
command_line='bandmill pairs in.jsonl, not blocking, | head -c 1'
"$PYTHON" - "$PROGRAM" > ../codes 2> ../err <<'END'
import os, signal, subprocess, sys, time
for stop in None, signal.SIGTERM:
    r, w = os.pipe()
    os.set_blocking(w, False)
    job = subprocess.Popen([sys.argv[1], "pairs", "in.jsonl", "-q"], stdout=w)
    os.close(w)
    os.read(r, 1)
    if stop is None:
        os.close(r)
    else:
        time.sleep(0.2)
        job.send_signal(stop)
        time.sleep(0.2)
        job.send_signal(stop)
    print(job.wait())
END
printf '141\n143\n' > ../codes.expected
sed 's/^-15$/143/' ../codes | cmp -s - ../codes.expected || fail "exit codes: $(tr '\n' ' ' < ../codes)"
