# SPDX-License-Identifier: Apache-2.0
# A driver that hangs, dies, ends the process or returns nonsense when its devices are listed: the program warns and uses the CPU, or exits
# with 5 if a device was requested. A driver that behaved well is listed without a process of its own until something changes. A case of
# tests/cli/harness.sh. $FAKE is the library of fake_icd.c, here used as a loader and, if there is a real loader, as a driver behind it.
# shellcheck shell=sh disable=SC2034,SC2154
printf '{"id":"a","text":"one two three four five six"}\n{"id":"b","text":"one two three four five six"}\n' > a.jsonl
unset BANDMILL_DEVICE OCL_ICD_VENDORS OCL_ICD_FILENAMES OPENCL_VENDOR_PATH FAKE_ICD FAKE_ICD_LOG
ulimit -c 0
mkdir loader
cp "$FAKE" loader/libOpenCL.so.1
bm sign a.jsonl --device cpu -o right; exits 0
system_libraries=${LD_LIBRARY_PATH-}
export LD_LIBRARY_PATH="$PWD/loader" BANDMILL_CACHE_DIR="$PWD/cache" BANDMILL_PROBE_SECONDS=200

same_bytes() {
    for file in signatures.npy n_shingles.npy n_bytes.npy content_hash.npy ids.txt sources.tsv; do
        holds "$1/$file" < "right/$file"
    done
    rm -rf "$1"
}

bm devices; exits 0; silent ../err; says ../out '^opencl:0\.0 +cpu .* Fake device \(Fake\\x1b\[31m platform\)' # no control characters

# --- faults: the driver is asked in a process of its own, since nothing is remembered of it ---

export BANDMILL_CACHE_DIR=/dev/null/none
# on_auto ERE: `auto` signs on the CPU.
on_auto() {
    bm sign a.jsonl -o out; exits 0
    says ../err "^bandmill: warning: using the CPU: .*$1"
    checks=$((checks + 1))
    [ "$(grep -c warning ../err)" -eq 1 ] || fail "not one warning"
    same_bytes out
}
# broken ACTION:WHERE ERE [SECONDS]
broken() {
    export FAKE_ICD="$1" BANDMILL_PROBE_SECONDS="${3:-200}"
    on_auto "$2"
    bm sign a.jsonl --device opencl:0.0 -o out; refused 5 ".*'opencl:0\.0'.*$2"; absent out
    unset FAKE_ICD
    export BANDMILL_PROBE_SECONDS=200
}
# within_some COMMAND...: it holds with one of these limits of time, $limit, and one that is a little longer, $longer: where others have the
# processor, a short one is over before the driver is reached.
within_some() {
    for limits in 0.3:0.4 2:3 10:12 60:61; do
        limit=${limits%:*} longer=${limits#*:}
        cp ../failures ../failures.before
        "$@" > ../tried
        ! cmp -s ../failures ../failures.before || break
        [ "$limit" = 60 ] || cp ../failures.before ../failures
    done
    cat ../tried
}
for where in load platforms devices info; do
    broken "hang:$where" 'did not list its devices within 0\.3 seconds' .3
done
broken abort:platforms 'died .*signal 6 \(ABRT\).*fake driver: assertion failed'
broken abort:load 'died .*signal 6 \(ABRT\)'
broken segv:devices 'died .*signal 11 \(SEGV\)'
broken exit0:platforms 'ended the process'
broken exit1:devices 'ended the process'
broken exit1:load 'ended the process'
broken exit_now:devices 'ended the process'
broken claim:platforms 'claims 4294967295 platforms'
broken claim:devices 'claims 4294967295 devices'
broken garbage:platforms 'died'
broken garbage:devices 'died'
broken null:platforms 'claims 1 platforms'
broken null:devices 'claims 1 devices'

export FAKE_ICD=abort:devices
bm devices; exits 0; says ../err '^bandmill: warning: OpenCL died'; [ "$(grep -c . ../out)" -eq 2 ] || fail "more than the native CPU"
bm devices --json; exits 0; says ../out '"note":"OpenCL died'; says ../err '^\{"warning":'
bm sign a.jsonl --device cpu,all -o out; exits 0; says ../err 'warning: using the CPU: '; same_bytes out
for device in gpu opencl Fake cpu,opencl; do
    bm sign a.jsonl --device "$device" -o out; refused 5 ".*died"; absent out
done
bm dedup a.jsonl -o out; exits 0; says ../err 'warning: using the CPU: '; says out/removed.tsv '^b	a	1\.000000	identical'; rm -r out
bm sign a.jsonl --device cpu -o out; exits 0; ! grep -q warning ../err || fail "OpenCL is asked for the CPU"; same_bytes out
# names without end, of sizes that change
export FAKE_ICD=endless:info
bm devices; exits 0; says ../out '^opencl:0\.0 '; ! LC_ALL=C grep -q "$(printf '\233')" ../out || fail "a name is not made plain"
# the trial run before a device is used: a driver that ends the process with 0 has not passed it
export FAKE_ICD=exit0:context
bm sign a.jsonl --device opencl:0.0 -o out; refused 5 '.*opencl:0\.0.*trial run'; absent out
# without a program for the trial: a thread, and the same limit
export FAKE_ICD=hang:devices BANDMILL_PROBE= BANDMILL_PROBE_SECONDS=.3
on_auto 'did not list its devices within 0\.3 seconds'
unset BANDMILL_PROBE
# who waits longer than some seconds is told, once
export FAKE_ICD=hang:devices BANDMILL_PROBE_SECONDS=6
on_auto 'did not list its devices within 6 seconds'
[ "$(grep -cE '^bandmill: waiting for OpenCL to list its devices, at most 6 s \(' ../waited)" -eq 1 ] || fail "nobody is told that OpenCL is waited for"
unset FAKE_ICD
export BANDMILL_PROBE_SECONDS=200

# A signal ends the waiting, and the process that hangs: for the list of devices, with one (t) and without (j), and in the trial run of a
# device, before which its list was asked for by one and by the job.
for case in TERM:143:devices:t INT:130:devices:t TERM:143:devices:j TERM:143:context:tjt INT:130:context:tjt; do
    asked=${case##*:} case=${case%:*}
    where=${case##*:} case=${case%:*}
    export FAKE_ICD=hang:$where FAKE_ICD_LOG="$PWD/log"
    [ "$asked" != j ] || export BANDMILL_PROBE=
    [ "$where" = devices ] || export BANDMILL_DEVICE=opencl:0.0
    rm -f log
    command_line="$case, while a driver hangs in $where"
    # env: a shell lets its background jobs ignore INT, --default-signal takes that back
    env --default-signal=INT "$PROGRAM" sign a.jsonl -o out > ../out 2> ../err &
    job=$!
    comes grep -qsx "$asked" log
    child=$(cat "/proc/$job/task/"*/children 2>/dev/null)
    began=$(date +%s)
    kill "-${case%%:*}" "$job"
    wait "$job"
    rc=$?
    soon $began
    exits "${case#*:}"; says ../err '^bandmill: .*interrupted'; absent out
    for pid in $child; do [ ! -e "/proc/$pid" ] || fail "process $pid is still there"; done
    unset FAKE_ICD FAKE_ICD_LOG BANDMILL_PROBE BANDMILL_DEVICE
done

# --- what is remembered ---

export FAKE_ICD_LOG="$PWD/log" BANDMILL_CACHE_DIR="$PWD/cache"
# asked LETTERS WHAT: by a process of its own (t) or by the program (j)
asked() {
    rm -f log
    bm devices; exits 0; says ../out '^opencl:0\.0 '
    checks=$((checks + 1))
    [ "$(cat log)" = "$1" ] || fail "$2: the driver was asked by '$(cat log)', expected '$1'"
}
# by LETTERS: the driver was asked by these, "" for nobody
by() {
    checks=$((checks + 1))
    [ "$(cat log 2> ../none)" = "$1" ] || fail "the driver was asked by '$(cat log)', expected '$1'"
    rm -f log
}
asked j "it was remembered above"
rm -r cache
asked t "nothing is remembered"
asked j "it is remembered"
# `auto` has no use for a CPU: it goes by what was listed, and no driver is loaded
on_cpu() {
    rm -f log
    bm sign a.jsonl -o out --device "$1"; exits 0; says ../err "$2"; same_bytes out
    by "$3"
}
no_gpu='^bandmill: using the CPU \(no GPU'
for words in auto cpu,auto AUTO; do on_cpu $words "$no_gpu" ''; done
bm sign a.jsonl -o out -v; exits 0; says ../err 'opencl:0\.0 \(Fake.*is not used: a CPU'; rm -r out; by ''
LD_DEBUG=files bm sign a.jsonl -o out --device auto; exits 0; rm -r out # another environment
LD_DEBUG=files bm sign a.jsonl -o out --device auto; exits 0; rm -r out
checks=$((checks + 1))
! grep -q 'libOpenCL' ../err || fail "auto loads OpenCL for a CPU"
rm -r cache log
on_cpu auto "$no_gpu" t
on_cpu auto "$no_gpu" ''
on_cpu all '' j
if unshare -rT --monotonic 700 true 2> ../none; then # ten minutes later it may be another machine
    rm -f log
    command_line="auto, ten minutes later"
    unshare -rT --monotonic 700 "$PROGRAM" sign a.jsonl -o out > ../out 2> ../err; rc=$?
    exits 0; rm -r out; by t
fi
rm -r cache
on_cpu auto "$no_gpu" t
# a GPU that comes without a trace in files or variables: seen by whoever asks, and by `auto` from then on
export FAKE_ICD=gpu:type
on_cpu auto "$no_gpu" ''
export BANDMILL_CL_TEXT=off # a job so small would not open it
bm devices; exits 0; says ../out '^opencl:0\.0 +gpu '; by j
on_cpu auto 'warning: device opencl:0\.0 left out' tjt # listed, opened here, and tried
on_cpu auto 'warning: device opencl:0\.0 left out' jjt
unset FAKE_ICD BANDMILL_CL_TEXT
asked j "it is a CPU again"
asked t "what it listed had changed"
cp loader/libOpenCL.so.1 new && mv new loader/libOpenCL.so.1
asked t "the library is another file"
asked j "and is remembered"
touch loader/libOpenCL.so.1
asked t "the library was changed"
POCL_DEBUG=1; export POCL_DEBUG; asked t "another environment"; asked j "which is remembered too"; unset POCL_DEBUG
bm devices # as before: remembered, or not, where another took its place
mkdir other && LD_LIBRARY_PATH="$PWD/other:$PWD/loader"
asked t "another path"
asked j "which is remembered"
cp "$FAKE" other/libOpenCL.so.1
asked t "a library that comes before"
LD_LIBRARY_PATH="$PWD/loader"
bm devices
for entry in cache/opencl/*.known; do printf 'xx' | dd of="$entry" bs=1 seek=60 conv=notrunc 2> ../dd; done
asked t "a byte of the cache is another"
asked j "which is mended"
for entry in cache/opencl/*.known; do : > "$entry"; done
asked t "the cache's file is empty"
for entry in cache/opencl/*.known; do chmod 666 "$entry"; done
asked t "others may write the file"
if [ "$(id -u)" = 0 ]; then
    for entry in cache/opencl/*.known; do chown 65534 "$entry"; done
    asked t "another user's file"
    chown 65534 cache/opencl; asked t "another user's folder"; chown 0 cache/opencl
fi
asked j "mended"
chmod 755 cache/opencl
asked t "others may enter the folder"
chmod 700 cache/opencl
rm -r cache
for n in 1 2 3 4 5 6; do "$PROGRAM" devices > "said.$n" 2>&1 & done
wait
for n in 1 2 3 4 5 6; do says "said.$n" '^opencl:0\.0 '; done
asked j "six at once"
[ -z "$(find cache -name '.*.known*')" ] || fail "left in the cache: $(find cache -name '.*')"
export BANDMILL_CACHE_DIR=/dev/null/none
asked t "no cache"
asked t "still none"
export BANDMILL_CACHE_DIR="$PWD/cache"
if [ "${BANDMILL_TEST_SIZE:-normal}" != small ]; then # address space is limited: what loads depends on what else is there
    (ulimit -v 8000000 && asked t "a limited address space" && asked t "is never remembered") || fail "in a limited address space"
fi
# one that hangs all the same is left behind
export FAKE_ICD=hang:devices BANDMILL_PROBE_SECONDS=.3
bm devices; exits 0; says ../err '^bandmill: warning: OpenCL did not list its devices within 0\.3 seconds'
bm sign a.jsonl --device opencl -o out; refused 5 ".*did not list its devices"; absent out

# --- a listing that hung is not tried again for a while ---

# hung: the driver answers again when `hung` is through
hung() {
    rm -rf cache log
    export FAKE_ICD=hang:devices BANDMILL_PROBE_SECONDS=$limit
    on_auto "did not list its devices within $limit seconds"; by t
    on_auto "did not list its devices within $limit seconds.*; that was [0-9]+ s ago, .*\\(a longer BANDMILL_PROBE_SECONDS tries now\\)"; by ''
    bm sign a.jsonl --device opencl:0.0 -o out; refused 5 ".*'opencl:0\.0'.*did not list its devices.*ago"; absent out; by ''
    BANDMILL_PROBE_SECONDS=.2; on_auto "within $limit seconds.*ago"; by '' # it would be waited for shorter still
    BANDMILL_PROBE_SECONDS=$longer; on_auto "within $longer seconds"; by t
    on_auto "within $longer seconds.*ago"; by ''
    unset FAKE_ICD # it would answer now
    bm devices; exits 0; says ../err '^bandmill: warning: OpenCL did not list.*ago'; by ''
}
within_some hung
BANDMILL_PROBE_SECONDS=200
POCL_DEBUG=1; export POCL_DEBUG; asked t "hung in another environment"; unset POCL_DEBUG
touch loader/libOpenCL.so.1
asked t "the library that hung was changed"; asked j "and did well"
# hung_later: once it did well, the program itself asks
hung_later() {
    rm -f log
    export FAKE_ICD=hang:devices BANDMILL_PROBE_SECONDS=$longer
    bm devices; exits 0; says ../err "^bandmill: warning: OpenCL did not list its devices within $longer seconds"; by j
    unset FAKE_ICD
    BANDMILL_PROBE_SECONDS=200
    asked j "a longer limit"; BANDMILL_PROBE_SECONDS=$longer; asked j "which has shown that it answers"
}
within_some hung_later
unset FAKE_ICD_LOG
export BANDMILL_PROBE_SECONDS=200

# --- behind a real loader ---

mkdir vendors
cp "$FAKE" fake.so
echo "$PWD/fake.so" > vendors/fake.icd
export LD_LIBRARY_PATH="$system_libraries" OCL_ICD_VENDORS="$PWD/vendors" OPENCL_VENDOR_PATH="$PWD/vendors"
rm -r cache
bm devices; exits 0
if grep -q '^opencl:0\.0 .*Fake device' ../out; then
    export FAKE_ICD_LOG="$PWD/log"
    asked j "remembered"
    touch fake.so; asked t "the driver was changed"; asked j "and is remembered"
    echo "$PWD/none.so" > vendors/none.icd; asked t "another driver beside it"; asked j "and is remembered"
    rm vendors/none.icd
    bm devices; echo "$PWD/./fake.so" > vendors/fake.icd; asked t "another path in the .icd file"
    unset FAKE_ICD_LOG
    # each platform has its own reason, beside devices too
    for name in empty failing; do cp fake.so $name.so; echo "$PWD/$name.so" > vendors/$name.icd; done
    code_of_empty='CL_DEVICE_NOT_FOUND -1' code_of_failing='CL_OUT_OF_HOST_MEMORY -6'
    bm devices; exits 0; silent ../err
    checks=$((checks + 1))
    [ "$(grep -c '^opencl:' ../out)" -eq 3 ] || fail "not a row for each platform"
    for code in "$code_of_empty" "$code_of_failing"; do
        says ../out "^opencl:[012] +none .*Fake.*NOT USABLE: the platform has no device \\($code\\)"
    done
    bm devices --json; exits 0; says ../out '"note":null'
    "$PYTHON" - ../out <<'END' || fail "the rows of --json are others"
import json, sys
rows = json.load(open(sys.argv[1]))["devices"]
kinds = sorted((row["kind"], row["usable"], row.get("why", "")) for row in rows)
assert kinds == [("cpu", True, ""), ("native", True, ""), ("none", False, "the platform has no device (CL_DEVICE_NOT_FOUND -1)"),
                 ("none", False, "the platform has no device (CL_OUT_OF_HOST_MEMORY -6)")], kinds
assert len({row["spec"] for row in rows}) == 4
END
    rm vendors/fake.icd
    bm devices; exits 0; silent ../err
    empty=$(sed -n "s/^opencl:\([01]\) .*$code_of_empty.*/\1/p" ../out)
    bm devices --json; exits 0; says ../out "\"note\":\".*$code_of_empty.*$code_of_failing|$code_of_failing.*$code_of_empty"
    bm sign a.jsonl --device "opencl:$empty.0" -o out; refused 5 ".*'opencl:$empty\.0' \(Fake.*$code_of_empty"
    bm sign a.jsonl --device gpu -o out; refused 5 ".*'gpu' \(.*$code_of_failing"
    bm sign a.jsonl --device auto -o out; exits 0; says ../err 'using the CPU \(no OpenCL platform has a device'; same_bytes out
    rm vendors/empty.icd vendors/failing.icd
    echo "$PWD/fake.so" > vendors/fake.icd
    export BANDMILL_CACHE_DIR=/dev/null/none
    # of several drivers the one at work is named, else all are
    echo "$PWD/none.so" > vendors/none.icd
    broken abort:devices 'died .*ABRT.*\(/.*/fake\.so\)'
    broken exit0:devices 'ended the process.*\(/.*/fake\.so\)'
    # (a sanitizer's library may be the one in which it sleeps)
    hung_in_a_driver() {
        broken hang:load "within $limit seconds \\(/.*/(fake\.so|lib[a-z]*san\.so[.0-9]*|libclang_rt\.asan-[a-z0-9_]+\.so)\\)" "$limit"
    }
    within_some hung_in_a_driver
    broken exit_now:devices 'ended the process.*drivers (fake|none)\.icd, (fake|none)\.icd in /'
    rm vendors/none.icd
    broken claim:devices '\(driver fake\.icd in /.*claims 4294967295 devices'
fi
