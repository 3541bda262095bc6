/* SPDX-License-Identifier: Apache-2.0 */
/* Limits read below directories that stand in for "/", with files as kernels, systemd, Slurm and
 * containers provide them. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/machine_limits.h"
#include "tests/world/scratch.h"

enum { FILES = 9 };

#define MIB       UINT64_C(1048576)
#define NO_MEMORY UINT64_MAX
#define NO_CPUS   UINT32_MAX
#define V2_MOUNT  "30 20 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNTS                                                                                  \
    "31 20 0:29 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"                                   \
    "32 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"                  \
    "33 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"                            \
    "34 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
#define V1_NONE "9223372036854771712\n"

typedef struct situation {
    const char *name, *groups, *mounts; /* /proc/self/cgroup, mountinfo; NULL: not there */
    const char *files[FILES][2];        /* paths below /sys/fs/cgroup, and their content */
    uint64_t memory;
    uint32_t cpus;
} situation;

static const situation situations[] = {
    {"nothing is there", NULL, NULL, {{NULL}}, NO_MEMORY, NO_CPUS},
    {"version 2, no limit",
     "0::/user.slice\n",
     V2_MOUNT,
     {{"user.slice/memory.max", "max\n"}, {"user.slice/cpu.max", "max 100000\n"}},
     NO_MEMORY,
     NO_CPUS},
    {"systemd-run -p MemoryMax=512M -p CPUQuota=100%",
     "0::/system.slice/run-u7.service\n",
     V2_MOUNT,
     {{"system.slice/memory.max", "max\n"},
      {"system.slice/run-u7.service/memory.max", "536870912\n"},
      {"system.slice/run-u7.service/cpu.max", "100000 100000\n"}},
     512 * MIB,
     1},
    {"the limits are of a group above: Slurm's job, not its step",
     "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n",
     V2_MOUNT,
     {{"system.slice/slurmstepd.scope/job_7/memory.max", "536870912\n"},
      {"system.slice/slurmstepd.scope/job_7/step_0/memory.max", "1073741824\n"},
      {"system.slice/slurmstepd.scope/job_7/step_0/user/task_0/memory.max", "max\n"},
      {"system.slice/slurmstepd.scope/job_7/cpu.max", "150000 100000\n"},
      {"system.slice/slurmstepd.scope/job_7/step_0/cpu.max", "300000 100000\n"}},
     512 * MIB,
     2},
    {"memory.high is less than memory.max",
     "0::/a\n",
     V2_MOUNT,
     {{"a/memory.max", "1073741824\n"}, {"a/memory.high", "805306368\n"}},
     768 * MIB,
     NO_CPUS},
    {"the root of a container's own namespace",
     "0::/\n",
     V2_MOUNT,
     {{"memory.max", "268435456\n"}, {"cpu.max", "50000 100000\n"}},
     256 * MIB,
     1},
    {"a container without a namespace of its own: its group is what is mounted",
     "0::/docker/0f\n",
     "30 20 0:28 /docker/0f /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
     {{"memory.max", "268435456\n"}, {"docker/0f/memory.max", "1048576\n"}},
     256 * MIB,
     NO_CPUS},
    {"a group within such a container",
     "0::/docker/0f/inner\n",
     "30 20 0:28 /docker/0f /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
     {{"memory.max", "268435456\n"}, {"inner/memory.max", "134217728\n"}},
     128 * MIB,
     NO_CPUS},
    {"the group lies outside of the namespace",
     "0::/../../job\n",
     V2_MOUNT,
     {{"memory.max", "268435456\n"}},
     256 * MIB,
     NO_CPUS},
    {"a name that only begins like the mount's root",
     "0::/docker/0fa\n",
     "30 20 0:28 /docker/0f /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
     {{"memory.max", "268435456\n"}, {"a/memory.max", "1048576\n"}},
     256 * MIB,
     NO_CPUS},
    {"a mount whose path has a blank",
     "0::/a\n",
     "30 20 0:28 / /sys/fs/cgroup/my\\040groups rw - cgroup2 cgroup2 rw\n",
     {{"my groups/a/memory.max", "268435456\n"}},
     256 * MIB,
     NO_CPUS},
    {"version 1, no limit",
     "4:memory:/\n3:cpu,cpuacct:/\n",
     V1_MOUNTS,
     {{"memory/memory.limit_in_bytes", V1_NONE},
      {"cpu,cpuacct/cpu.cfs_quota_us", "-1\n"},
      {"cpu,cpuacct/cpu.cfs_period_us", "100000\n"}},
     NO_MEMORY,
     NO_CPUS},
    {"version 1, Slurm's job",
     "9:cpuset:/slurm/uid_0/job_7/step_0\n4:memory:/slurm/uid_0/job_7/step_0\n"
     "3:cpu,cpuacct:/slurm/uid_0/job_7\n1:name=systemd:/user.slice\n",
     V1_MOUNTS,
     {{"memory/memory.limit_in_bytes", V1_NONE},
      {"memory/slurm/uid_0/job_7/memory.limit_in_bytes", "536870912\n"},
      {"memory/slurm/uid_0/job_7/step_0/memory.limit_in_bytes", V1_NONE},
      {"cpu,cpuacct/slurm/uid_0/job_7/cpu.cfs_quota_us", "250000\n"},
      {"cpu,cpuacct/slurm/uid_0/job_7/cpu.cfs_period_us", "100000\n"}},
     512 * MIB,
     3},
    {"version 1 in a container: the host's path, the container's mount",
     "4:memory:/docker/0f\n3:cpu,cpuacct:/docker/0f\n",
     "34 31 0:32 /docker/0f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
     "32 31 0:30 /docker/0f /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n",
     {{"memory/memory.limit_in_bytes", "268435456\n"},
      {"cpu,cpuacct/cpu.cfs_quota_us", "100000\n"},
      {"cpu,cpuacct/cpu.cfs_period_us", "100000\n"}},
     256 * MIB,
     1},
    {"hybrid: memory in version 1, the rest in version 2",
     "4:memory:/job\n0::/job\n",
     V1_MOUNTS "40 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
     {{"memory/job/memory.limit_in_bytes", "536870912\n"},
      {"unified/job/cpu.max", "100000 100000\n"}},
     512 * MIB,
     1},
    {"cpuset and cpuacct are not cpu",
     "9:cpuset:/job\n2:cpuacct:/job\n",
     "33 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
     "35 31 0:33 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n",
     {{"cpuset/job/cpu.cfs_quota_us", "100000\n"}, {"cpuset/job/cpu.cfs_period_us", "100000\n"}},
     NO_MEMORY,
     NO_CPUS},
    {"without /proc, what lies where it does as a rule",
     NULL,
     NULL,
     {{"memory.max", "268435456\n"},
      {"cpu/cpu.cfs_quota_us", "100000\n"},
      {"cpu/cpu.cfs_period_us", "100000\n"}},
     256 * MIB,
     1},
    {"what is no number is no limit",
     "0::/a\n",
     V2_MOUNT,
     {{"a/memory.max", "lots\n"}, {"a/memory.high", ""}, {"a/cpu.max", "100000\n"}},
     NO_MEMORY,
     NO_CPUS},
    {"a quota of many processors",
     "0::/a\n",
     V2_MOUNT,
     {{"a/cpu.max", "18446744073709551615 1\n"}},
     NO_MEMORY,
     NO_CPUS},
};

/* Writes `data` to ROOT/path and makes the folders above it. */
static void put(scratch *s, const char *path, const char *data)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s/%s", s->root, path);
    for (char *slash = strchr(whole + strlen(s->root) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(whole, 0700);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    cr_assert_not_null(file);
    fputs(data, file);
    fclose(file);
}

Test(machine_limits, the_least_of_all_groups_above_counts)
{
    for (size_t i = 0; i < sizeof situations / sizeof situations[0]; i++) {
        const situation *of = &situations[i];
        SCRATCH s = scratch_open();
        bm_machine_limits found;
        if (of->groups != NULL)
            put(&s, "proc/self/cgroup", of->groups);
        if (of->mounts != NULL)
            put(&s, "proc/self/mountinfo", of->mounts);
        for (size_t f = 0; f < FILES && of->files[f][0] != NULL; f++) {
            char path[256];
            snprintf(path, sizeof path, "sys/fs/cgroup/%s", of->files[f][0]);
            put(&s, path, of->files[f][1]);
        }
        bm_control_group_limits(s.root, &found);
        cr_expect_eq(found.memory, of->memory, "%s: %llu bytes", of->name,
                     (unsigned long long)found.memory);
        cr_expect_eq(found.cpus, of->cpus, "%s: %u processors", of->name, found.cpus);
    }
}

Test(machine_limits, memory_that_was_promised_is_not_free_where_no_more_is_promised)
{
    static const struct {
        const char *mode, *meminfo;
        uint64_t free;
    } machines[] = {
        {NULL, NULL, UINT64_MAX},
        {"0\n", "MemTotal: 9 kB\n", UINT64_MAX},
        {"0\n", "MemAvailable: 4096 kB\nCommitLimit: 3072 kB\nCommitted_AS: 1024 kB\n", 4 * MIB},
        {NULL, "MemAvailable: 4096 kB\nCommitLimit: 3072 kB\nCommitted_AS: 1024 kB\n", 4 * MIB},
        {"2\n", "MemAvailable: 4096 kB\nCommitLimit: 3072 kB\nCommitted_AS: 1024 kB\n", 2 * MIB},
        {"2\n", "MemAvailable: 1024 kB\nCommitLimit: 3072 kB\nCommitted_AS: 1024 kB\n", 1 * MIB},
        {"2\n", "MemAvailable: 4096 kB\nCommitLimit: 1024 kB\nCommitted_AS: 3072 kB\n", 0},
        {"2\n", "MemAvailable: 4096 kB\n", 4 * MIB},
    };
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        SCRATCH s = scratch_open();
        if (machines[i].mode != NULL)
            put(&s, "proc/sys/vm/overcommit_memory", machines[i].mode);
        if (machines[i].meminfo != NULL)
            put(&s, "proc/meminfo", machines[i].meminfo);
        cr_expect_eq(bm_free_memory(s.root), machines[i].free, "machine %zu", i);
    }
}

Test(machine_limits, what_is_mapped_is_not_left_of_the_address_space)
{
    const rlim_t most = (rlim_t)1 << 46; /* more than a sanitizer maps */
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_AS, &limit), 0);
    if (limit.rlim_cur == RLIM_INFINITY)
        cr_assert_eq(bm_address_space_left(), UINT64_MAX);
    limit.rlim_cur = most;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        cr_skip("no limit can be set here");
    const uint64_t before = bm_address_space_left();
    cr_assert_lt(before, most);
    void *block = mmap(NULL, 64 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(block, MAP_FAILED);
    cr_assert_leq(bm_address_space_left(), before - 64 * MIB);
    munmap(block, 64 * MIB);
}
