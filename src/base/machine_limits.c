/* SPDX-License-Identifier: Apache-2.0 */
/* machine_limits.c -- limits of control groups, of versions 1 and 2, and of the address space; and
 * free memory.
 *
 * /proc/self/cgroup names the group of this process in each hierarchy: "0::/job/step" in version 2,
 * "4:memory:/job/step" in version 1. /proc/self/mountinfo lists which part of a hierarchy is
 * mounted where. So a group is a folder below a mount, and the folders above it are its parents.
 * Each of these folders may have limits, and the lowest limit applies:
 *
 *     /sys/fs/cgroup                       the mount, of the root or of a container's group
 *     /sys/fs/cgroup/job                   memory.max 512M
 *     /sys/fs/cgroup/job/step              memory.max max, cpu.max 100000 100000
 *
 * In a container, the group may be outside of the mounted part. Then the limits of the mount itself
 * are read, because the mount is usually the container's own group. */
#include "base/machine_limits.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, LINE_BYTES = 3 * PATH_BYTES, OPTION_BYTES = 1024, FILE_BYTES = 64 };

/* if there is no limit, version 1 reports about twice this number */
#define V1_NO_LIMIT (UINT64_C(1) << 62)

typedef enum hierarchy { UNIFIED, V1_MEMORY, V1_CPU, HIERARCHIES } hierarchy;

typedef struct search {
    const char *root;
    char group[HIERARCHIES][PATH_BYTES]; /* the group of this process; "": unknown */
    /* a mount of this hierarchy; its own limits count if the group is below no mount */
    char mount[HIERARCHIES][PATH_BYTES];
    bool is_found[HIERARCHIES]; /* the group is below a mount */
    bm_machine_limits *out;
} search;

static FILE *open_below(const char *root, const char *path)
{
    char whole[2 * PATH_BYTES];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    return fopen(whole, "re");
}

/* Read the first line of a small file. Returns false if there is no file or line. */
static bool read_line(const char *folder, const char *name, char line[FILE_BYTES])
{
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    const bool is_read = fgets(line, FILE_BYTES, file) != NULL;
    fclose(file);
    return is_read;
}

/* Read the number in a file. Returns false if there is no number. "max" and -1 mean no limit, and
 * count as no number. */
static bool read_number(const char *folder, const char *name, unsigned long long *value)
{
    char line[FILE_BYTES];
    return read_line(folder, name, line) && line[0] != '-' && sscanf(line, "%llu", value) == 1;
}

static void lower_memory(const char *folder, const char *name, bm_machine_limits *out)
{
    unsigned long long bytes;
    if (read_number(folder, name, &bytes) && bytes < V1_NO_LIMIT && bytes < out->memory)
        out->memory = bytes;
}

static void lower_cpus(unsigned long long quota, unsigned long long period, bm_machine_limits *out)
{
    if (quota == 0 || period == 0)
        return;
    const unsigned long long cpus = quota / period + (quota % period != 0);
    if (cpus < out->cpus)
        out->cpus = (uint32_t)cpus;
}

static void lower_by(const char *folder, hierarchy of, bm_machine_limits *out)
{
    char line[FILE_BYTES];
    unsigned long long quota, period;
    switch (of) {
    case UNIFIED:
        lower_memory(folder, "memory.max", out);
        lower_memory(folder, "memory.high", out);
        if (read_line(folder, "cpu.max", line) && sscanf(line, "%llu %llu", &quota, &period) == 2)
            lower_cpus(quota, period, out);
        break;
    case V1_MEMORY:
        lower_memory(folder, "memory.limit_in_bytes", out);
        break;
    case V1_CPU:
        if (read_number(folder, "cpu.cfs_quota_us", &quota) &&
            read_number(folder, "cpu.cfs_period_us", &period))
            lower_cpus(quota, period, out);
        break;
    case HIERARCHIES:
        break;
    }
}

/* Lower the limits to those of the group `below` a mount, and of all groups above it. */
static void lower_upwards(const search *s, hierarchy of, const char *mount, const char *below)
{
    char folder[3 * PATH_BYTES];
    snprintf(folder, sizeof folder, "%s%s", s->root, mount);
    const size_t top = strlen(folder);
    snprintf(folder + top, sizeof folder - top, "%s", below);
    for (;;) {
        lower_by(folder, of, s->out);
        char *slash = strrchr(folder + top, '/');
        if (slash == NULL)
            return;
        *slash = '\0';
    }
}

/* Is the word in the comma-separated list? */
static bool has_word(const char *list, const char *word)
{
    const size_t len = strlen(word);
    for (; *list != '\0'; list += strcspn(list, ",") + (list[strcspn(list, ",")] == ','))
        if (strcspn(list, ",") == len && strncmp(list, word, len) == 0)
            return true;
    return false;
}

/* The path of the group below the mount's root; NULL: the group is elsewhere. */
static const char *below_mount(const char *group, const char *root)
{
    const size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (group[0] != '/' || strstr(group, "/..") != NULL || strncmp(group, root, len) != 0)
        return NULL;
    return group[len] == '/' || group[len] == '\0' ? group + len : NULL;
}

static void read_groups(search *s)
{
    char line[LINE_BYTES];
    FILE *file = open_below(s->root, "/proc/self/cgroup");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *list = strchr(line, ':');
        char *path = list != NULL ? strchr(list + 1, ':') : NULL;
        if (path == NULL)
            continue;
        *path++ = '\0';
        list++;
        const bool is_of[HIERARCHIES] = {list[0] == '\0', has_word(list, "memory"),
                                         has_word(list, "cpu")};
        for (int of = 0; of < HIERARCHIES; of++)
            if (is_of[of])
                snprintf(s->group[of], PATH_BYTES, "%.*s", PATH_BYTES - 1, path);
    }
    if (file != NULL)
        fclose(file);
}

/* Undo the escapes of mountinfo. It writes blanks, tabs, newlines and backslashes as \ooo. */
static void unescape(char *text)
{
    char *to = text;
    for (; *text != '\0'; to++) {
        unsigned byte;
        if (text[0] == '\\' && strspn(text + 1, "01234567") >= 3 &&
            sscanf(text + 1, "%3o", &byte) == 1) {
            *to = (char)byte;
            text += 4;
        } else {
            *to = *text++;
        }
    }
    *to = '\0';
}

static void use_mount(search *s, hierarchy of, const char *root, const char *mount)
{
    const char *below = below_mount(s->group[of], root);
    if (below == NULL) {
        snprintf(s->mount[of], PATH_BYTES, "%s", mount);
        return;
    }
    s->is_found[of] = true;
    lower_upwards(s, of, mount, strcmp(below, "/") == 0 ? "" : below);
}

static void read_mounts(search *s)
{
    char line[LINE_BYTES], root[PATH_BYTES], mount[PATH_BYTES], kind[FILE_BYTES];
    char options[OPTION_BYTES];
    FILE *file = open_below(s->root, "/proc/self/mountinfo");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *behind = strstr(line, " - cgroup");
        if (behind == NULL || sscanf(behind, " - %63s %*s %1023s", kind, options) != 2 ||
            sscanf(line, "%*s %*s %*s %4095s %4095s", root, mount) != 2)
            continue;
        unescape(root);
        unescape(mount);
        if (strcmp(kind, "cgroup2") == 0)
            use_mount(s, UNIFIED, root, mount);
        if (strcmp(kind, "cgroup") == 0 && has_word(options, "memory"))
            use_mount(s, V1_MEMORY, root, mount);
        if (strcmp(kind, "cgroup") == 0 && has_word(options, "cpu"))
            use_mount(s, V1_CPU, root, mount);
    }
    if (file != NULL)
        fclose(file);
}

void bm_control_group_limits(const char *root, bm_machine_limits *out)
{
    *out = (bm_machine_limits){UINT64_MAX, UINT32_MAX};
    search s = {.root = root,
                .mount = {"/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/cpu"},
                .out = out};
    read_groups(&s);
    read_mounts(&s);
    for (int of = 0; of < HIERARCHIES; of++)
        if (!s.is_found[of])
            lower_upwards(&s, (hierarchy)of, s.mount[of], "");
}

/* --- free memory --- */

uint64_t bm_free_memory(const char *root)
{
    unsigned long long mode = 0, kib;
    uint64_t available = UINT64_MAX, limit = UINT64_MAX, promised = 0;
    char line[LINE_BYTES];
    FILE *file = open_below(root, "/proc/sys/vm/overcommit_memory");
    if (file != NULL && fscanf(file, "%llu", &mode) != 1)
        mode = 0;
    if (file != NULL)
        fclose(file);
    file = open_below(root, "/proc/meminfo");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            available = (uint64_t)kib * 1024;
        if (mode == 2 && sscanf(line, "CommitLimit: %llu kB", &kib) == 1)
            limit = (uint64_t)kib * 1024;
        if (mode == 2 && sscanf(line, "Committed_AS: %llu kB", &kib) == 1)
            promised = (uint64_t)kib * 1024;
    }
    if (file != NULL)
        fclose(file);
    if (limit == UINT64_MAX)
        return available;
    const uint64_t left = limit > promised ? limit - promised : 0;
    return left < available ? left : available;
}

uint64_t bm_address_space_left(void)
{
    struct rlimit limit;
    unsigned long long pages = 0;
    const long page = sysconf(_SC_PAGESIZE);
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL && fscanf(file, "%llu", &pages) != 1)
        pages = 0;
    if (file != NULL)
        fclose(file);
    const uint64_t mapped = pages * (uint64_t)(page > 0 ? page : 4096);
    return limit.rlim_cur > mapped ? limit.rlim_cur - mapped : 0;
}
