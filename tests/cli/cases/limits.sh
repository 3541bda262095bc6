# SPDX-License-Identifier: Apache-2.0
# Without --memory and --threads, the least limit of all control groups of the process applies, and ulimit -v. The files that the kernel
# would show are faked in a mount namespace.
# shellcheck shell=sh disable=SC2034,SC2154
printf '{"id":"%s","text":"%s"}\n' a 'one two three four five six' b 'one two three four five seven' > in.jsonl

# grouped BYTES CPUS ARGS...: bandmill in the group /job/step, where /job has these limits, in all versions at once.
grouped() {
    command_line="bandmill $* (in a group)"
    # shellcheck disable=SC2016
    unshare -m sh -eu -c '
        groups=$PWD/groups bytes=$1 cpus=$2 program=$3
        shift 3
        mkdir -p "$groups"
        mount -t tmpfs none "$groups"
        for top in . unified; do
            mkdir -p "$groups/$top/job/step"
            echo "$bytes" > "$groups/$top/job/memory.max"
            echo "$((cpus * 50000)) 50000" > "$groups/$top/job/cpu.max"
            echo max > "$groups/$top/job/step/memory.max"
        done
        for top in memory cpu cpu,cpuacct; do
            mkdir -p "$groups/$top/job/step"
            echo "$bytes" > "$groups/$top/job/memory.limit_in_bytes"
            echo "$((cpus * 50000))" > "$groups/$top/job/cpu.cfs_quota_us"
            echo 50000 > "$groups/$top/job/cpu.cfs_period_us"
        done
        printf "%s\n" "4:memory:/job/step" "3:cpu,cpuacct:/job/step" "0::/job/step" > own
        mount --bind "$groups" /sys/fs/cgroup
        mount --bind own "/proc/$$/cgroup"
        exec "$program" "$@"' sh "$1" "$2" "$PROGRAM" "$3" "$4" "$5" "$6" > ../out 2> ../err
    rc=$?
}

# A limit below what any job takes shows which one counted.
bm dedup in.jsonl -o plain; exits 0
if [ -z "${sanitizer:-}" ]; then # which maps more than any limit leaves
    (
        ulimit -v 40000 && "$PROGRAM" dedup in.jsonl -o limited
    ) > ../out 2> ../err
    rc=$?
    exits 6
    says ../err '--memory of [0-9]+ KiB is too small to work|out of memory|cannot'
fi

if ! unshare -m sh -c 'mkdir -p m && mount -t tmpfs none m && mount --bind /dev/null /proc/$$/cgroup' 2> /dev/null; then
    skip "no mount namespace can be made here"
fi
grouped 20971520 1 dedup in.jsonl -o small
refused 6 '--memory of 10240 KiB is too small to work'
grouped 536870912 1 dedup in.jsonl -o group
exits 0
checks=$((checks + 1))
grep -q '"threads": 1\b' group/report.json || fail "one processor gives one thread"
