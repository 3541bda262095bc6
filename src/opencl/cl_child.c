/* SPDX-License-Identifier: Apache-2.0 */
/* cl_child.c -- runs a program and reads its output, with a time limit.
 *
 * The program is started by posix_spawn, because the parent may have threads. The child's stderr is
 * read through a pipe, until end of file, the child's end, or the deadline. Drivers write to stderr
 * too, so the program's message is the line with our mark, wherever the line is. If no line has the
 * mark, the message is the last line.
 *
 * Tests: tests/unit/opencl/test_cl_probe.c, tests/fault/icd/drivers.sh */
#include "opencl/cl_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "opencl/cl_cache.h"
#include "opencl/cl_known_drivers.h"
#include "base/clock.h"
#include "base/error.h"
#include "program/program.h"

#define LONG_SECONDS       5   /* the wait is logged after this time */
#define LAST_WORDS_SECONDS 0.3 /* time to read the last output of a child that is being killed */

extern char **environ; /* the child inherits ours */

void bm_cl_patience_begin(bm_cl_patience *patience)
{
    patience->begin = bm_clock_seconds();
    patience->logged = patience->cancelled = false;
}

double bm_cl_patience_left(bm_cl_patience *patience)
{
    const bm_callbacks *calls = patience->callbacks;
    const double gone = bm_clock_seconds() - patience->begin, left = patience->seconds - gone;
    if (calls != NULL && calls->log != NULL && !patience->logged && gone > LONG_SECONDS) {
        char drivers[300], text[400];
        bm_cl_drivers_names(drivers, sizeof drivers);
        snprintf(text, sizeof text, "waiting for OpenCL to list its devices, at most %.0f s (%s)",
                 patience->seconds, drivers[0] != '\0' ? drivers : "no driver file is known");
        calls->log(calls->ctx, BM_LOG_INFO, text);
        patience->logged = true;
    }
    if (calls != NULL && calls->cancelled != NULL && calls->cancelled(calls->ctx))
        patience->cancelled = true;
    if (patience->cancelled || left <= 0)
        return 0;
    return left < BM_CL_LOOK_SECONDS ? left : BM_CL_LOOK_SECONDS;
}

/* Find the program to run. Returns false if there is none. */
static bool find_program(const bm_device_settings *settings, char out[PATH_MAX])
{
    if (settings != NULL && settings->probe_program != NULL) {
        snprintf(out, PATH_MAX, "%s", settings->probe_program);
        return out[0] != '\0';
    }
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (n <= 0)
        return false;
    out[n] = '\0';
    const char *slash = strrchr(out, '/');
    return slash != NULL && strcmp(slash + 1, "bandmill") == 0;
}

bool bm_cl_child_init(bm_cl_child *child, const bm_device_settings *settings, const char *cache_dir,
                      const char *what)
{
    const bool limited = settings != NULL && settings->probe_seconds > 0;
    child->what = what;
    child->answer = -1;
    child->patience =
        (bm_cl_patience){.seconds = limited ? settings->probe_seconds : BM_CL_PROBE_SECONDS};
    if (!find_program(settings, child->program))
        return false;
    bm_cl_cache_dir(cache_dir, child->cache_dir, sizeof child->cache_dir);
    return true;
}

static bm_status spawn(const bm_cl_child *child, pid_t *pid, int *from_child, bm_error *err)
{
    char program[PATH_MAX], cache_dir[PATH_MAX], what[1024], verb[] = "__probe-opencl";
    snprintf(program, sizeof program, "%s", child->program);
    snprintf(cache_dir, sizeof cache_dir, "%s", child->cache_dir);
    snprintf(what, sizeof what, "%s", child->what);
    char *const argv[] = {program, verb, what, cache_dir, NULL};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return bm_fail_errno(err, errno, program, "pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (child->answer >= 0)
        posix_spawn_file_actions_adddup2(&actions, child->answer, 1);
    else
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    posix_spawnattr_t attributes; /* this thread may have blocked signals */
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int failed = posix_spawn(pid, program, &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed != 0) {
        close(ends[0]);
        return bm_fail_errno(err, failed, program, "cannot run the probe");
    }
    *from_child = ends[0];
    return BM_OK;
}

/* The lines that the child has written so far. Long lines are truncated. */
typedef struct child_words {
    char line[BM_CL_WORDS]; /* the line being read */
    size_t len;
    char ours[BM_CL_WORDS]; /* the text after our mark; "": no line had the mark yet */
    char driver[300];       /* the text after BM_PROBE_DRIVER_MARK: the library in use */
    char last[BM_CL_WORDS]; /* the last other non-blank line */
} child_words;

static void end_line(child_words *words)
{
    const size_t mark = strlen(BM_CL_PROBE_MARK), driver = strlen(BM_PROBE_DRIVER_MARK);
    words->line[words->len] = '\0';
    if (strncmp(words->line, BM_CL_PROBE_MARK, mark) == 0)
        snprintf(words->ours, sizeof words->ours, "%s", words->line + mark);
    else if (strncmp(words->line, BM_PROBE_DRIVER_MARK, driver) == 0)
        snprintf(words->driver, sizeof words->driver, "%.*s", (int)sizeof words->driver - 1,
                 words->line + driver);
    else if (words->line[strspn(words->line, " ")] != '\0')
        memcpy(words->last, words->line, words->len + 1);
    words->len = 0;
}

static void add_words(child_words *words, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        const unsigned char c = (unsigned char)bytes[i];
        if (c == '\n')
            end_line(words);
        else if (words->len < sizeof words->line - 1)
            words->line[words->len++] = c < ' ' ? ' ' : (char)c;
    }
}

/* A running child. */
typedef struct running {
    pid_t pid;
    int fd;
    bm_cl_patience *patience;
    bool ended;
    int status;
    child_words words;
} running;

static bool has_ended(running *r)
{
    pid_t got = r->ended ? 0 : waitpid(r->pid, &r->status, WNOHANG);
    if (got < 0 && errno != EINTR) { /* if the program ignores SIGCHLD, the status is lost */
        r->status = 0;
        got = r->pid;
    }
    r->ended = r->ended || got == r->pid;
    return r->ended;
}

/* Read until end of file, or until the child has ended and nothing is left to read. (Processes that
 * the child started may keep its stderr open.) Returns false to stop waiting. */
static bool read_words(running *r)
{
    for (;;) {
        const bool ended = has_ended(r);
        const double left = ended ? 0 : bm_cl_patience_left(r->patience);
        struct pollfd p = {.fd = r->fd, .events = POLLIN};
        int ready = !ended && left <= 0 ? 0 : poll(&p, 1, ended ? 0 : (int)(left * 1000) + 1);
        if (ready == 0 && (ended || left <= 0))
            return ended;
        if (ready == 0 || (ready < 0 && errno == EINTR))
            continue;
        char block[512];
        ssize_t n = ready < 0 ? -1 : read(r->fd, block, sizeof block);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return true;
        add_words(&r->words, block, (size_t)n);
    }
}

/* After all of the child's stderr was read, wait until the child ends, at most for the time limit.
 * Returns false if it has not ended. */
static bool reap(running *r)
{
    while (!has_ended(r)) {
        if (bm_cl_patience_left(r->patience) <= 0)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return true;
}

/* End the child. SIGTERM is sent first, so that the child can report where it hangs; SIGKILL
 * follows if the child does not end soon. */
static void kill_child(running *r)
{
    bm_cl_patience little = {.seconds = LAST_WORDS_SECONDS};
    r->patience = &little;
    bm_cl_patience_begin(&little);
    kill(r->pid, SIGTERM);
    if (read_words(r) && reap(r))
        return;
    kill(r->pid, SIGKILL);
    waitpid(r->pid, &r->status, 0);
}

bm_status bm_cl_child_run(bm_cl_child *child, bm_cl_ending *ending, bm_error *err)
{
    running r = {.patience = &child->patience};
    bm_cl_patience_begin(&child->patience);
    *ending = (bm_cl_ending){.late = false};
    if (spawn(child, &r.pid, &r.fd, err) != BM_OK) {
        if (err != NULL)
            err->status = BM_ERR_DEVICE;
        return BM_ERR_DEVICE;
    }
    ending->late = !(read_words(&r) && reap(&r));
    if (ending->late)
        kill_child(&r);
    close(r.fd);
    end_line(&r.words);
    ending->status = r.status;
    ending->reported = r.words.ours[0] != '\0';
    memcpy(ending->driver, r.words.driver, sizeof ending->driver);
    memcpy(ending->words, ending->reported ? r.words.ours : r.words.last, sizeof ending->words);
    return BM_OK;
}
