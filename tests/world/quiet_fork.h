/* SPDX-License-Identifier: Apache-2.0 */
/* quiet_fork.h -- fork() for tests whose process has several threads. AddressSanitizer's allocator
 * (clang 14) does not reset its locks in a child. A child forked while another thread starts or
 * allocates may therefore wait for such a lock for ever. Under AddressSanitizer, quiet_fork waits
 * until all other threads sleep; other builds fork at once. */
#pragma once

#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BM_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(BM_ADDRESS_SANITIZER) || defined(__SANITIZE_ADDRESS__)
enum { FORKS_QUIETLY = 1 };
#else
enum { FORKS_QUIETLY = 0 };
#endif

static inline bool thread_sleeps(const char *id)
{
    char path[300], stat[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", id);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return true; /* the thread has ended */
    const bool told = fgets(stat, sizeof stat, file) != NULL;
    const char *name_end = strrchr(stat, ')');
    fclose(file);
    return !told || (name_end != NULL && strchr("SDZX", name_end[2]) != NULL);
}

static inline bool other_threads_sleep(void)
{
    DIR *tasks = opendir("/proc/self/task");
    bool sleep = true;
    if (tasks == NULL)
        return true;
    for (const struct dirent *task; (task = readdir(tasks)) != NULL;)
        if (task->d_name[0] != '.' && strtol(task->d_name, NULL, 10) != gettid())
            sleep = sleep && thread_sleeps(task->d_name);
    closedir(tasks);
    return sleep;
}

/* Looks five times in a row, because a starting thread may sleep for a moment. */
static inline pid_t quiet_fork(void)
{
    for (int n = 0; FORKS_QUIETLY && n < 5; n = other_threads_sleep() ? n + 1 : 0)
        sched_yield();
    return fork();
}
