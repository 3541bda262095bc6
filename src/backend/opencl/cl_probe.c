/* cl_probe.c -- run the probe, read what it says, and do not wait for ever.
 *
 * posix_spawn, since the parent may have threads. The child's stderr is read through a pipe; its
 * end of file, or the deadline, ends the wait. Drivers write to it too: the reason is the line that
 * carries our mark, wherever it stands, and only where there is none the last one. */
#include "backend/opencl/cl_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/opencl/cl_cache.h"
#include "base/clock.h"
#include "base/error.h"
#include "model/option_names.h"

extern char **environ; /* the child has ours */

/* The program to run; false: none. */
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

static double time_limit(const bm_device_settings *settings)
{
    return settings != NULL && settings->probe_seconds > 0 ? settings->probe_seconds
                                                           : BM_CL_PROBE_SECONDS;
}

static bm_status spawn(char *const argv[], pid_t *pid, int *from_child, bm_error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return bm_fail_errno(err, errno, argv[0], "pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    posix_spawnattr_t attributes; /* this thread may have signals blocked */
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int failed = posix_spawn(pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed != 0) {
        close(ends[0]);
        return bm_fail_errno(err, failed, argv[0], "cannot run the probe");
    }
    *from_child = ends[0];
    return BM_OK;
}

#define LINE_BYTES 800

/* What the child wrote so far; each line is cut short to its beginning. */
typedef struct child_words {
    char line[LINE_BYTES]; /* the one under way */
    size_t len;
    char ours[LINE_BYTES]; /* behind our mark; "": no such line yet */
    char last[LINE_BYTES]; /* of the others, the last that is not blank */
} child_words;

static void end_line(child_words *words)
{
    const size_t mark = strlen(BM_CL_PROBE_MARK);
    words->line[words->len] = '\0';
    if (strncmp(words->line, BM_CL_PROBE_MARK, mark) == 0)
        snprintf(words->ours, sizeof words->ours, "%s", words->line + mark);
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

/* Read until end of file. False: the deadline passed. */
static bool read_until(int fd, double deadline, child_words *words)
{
    for (;;) {
        double left = deadline - bm_clock_seconds();
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int ready = left <= 0 ? 0 : poll(&p, 1, (int)(left * 1000) + 1);
        if (ready == 0)
            return false;
        if (ready < 0 && errno == EINTR)
            continue;
        char block[512];
        ssize_t n = ready < 0 ? -1 : read(fd, block, sizeof block);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            end_line(words);
            return true;
        }
        add_words(words, block, (size_t)n);
    }
}

/* The child's end. It has closed stderr, so it is at its end too; but not for ever. */
static bool reap(pid_t pid, double deadline, int *status)
{
    for (;;) {
        pid_t got = waitpid(pid, status, WNOHANG);
        if (got == pid)
            return true;
        if (got < 0 && errno != EINTR) { /* the program ignores SIGCHLD: nothing is known */
            *status = 0;
            return true;
        }
        if (bm_clock_seconds() > deadline)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static bm_status judge(int status, const char *name, const child_words *words, bm_error *err)
{
    const bool told = words->ours[0] != '\0';
    const char *said = told ? words->ours : words->last;
    const char *colon = said[0] != '\0' ? ": " : "";
    if (WIFSIGNALED(status)) {
        int number = WTERMSIG(status);
        bm_fail(err, BM_ERR_DEVICE,
                "the OpenCL driver of %s ended a trial run with signal %d (%s); its own cache "
                "may be broken (PoCL: $POCL_CACHE_DIR or ~/.cache/pocl; remove it)%s%s",
                name, number, sigabbrev_np(number), colon, said);
    } else if (WEXITSTATUS(status) != 0) {
        bm_fail(err, BM_ERR_DEVICE, "a trial run of %s failed with exit code %d%s%s", name,
                WEXITSTATUS(status), colon, said);
    } else {
        return BM_OK;
    }
    if (err != NULL)
        err->code = told ? 0 : ECHILD;
    return BM_ERR_DEVICE;
}

void bm_cl_probe_device(const bm_backend_cfg *cfg, const bm_kernel_params *row,
                        char out[BM_CL_PROBE_TEXT])
{
    const char *scheme = bm_option_word_or(BM_OPTION_SCHEME, cfg->sketch.scheme, "");
    const uint32_t perms = cfg->perms_used > 0 ? cfg->perms_used : cfg->sketch.perms;
    size_t n = (size_t)snprintf(
        out, BM_CL_PROBE_TEXT, "%.31s@%s,%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32, cfg->device,
        scheme, perms, cfg->bands, cfg->rows, cfg->sketch.seed);
    if (cfg->text != NULL)
        n += (size_t)snprintf(out + n, BM_CL_PROBE_TEXT - n, "+%u:%" PRIu32,
                              (unsigned)cfg->text->shingle, cfg->text->shingle_k);
    if (cfg->settings != NULL && cfg->settings->buffer_limit_bytes > 0)
        n += (size_t)snprintf(out + n, BM_CL_PROBE_TEXT - n, "/%" PRIu64,
                              cfg->settings->buffer_limit_bytes);
    if (row != NULL) {
        char text[BM_KERNEL_PARAMS_TEXT];
        bm_kernel_params_format(row, text);
        snprintf(out + n, BM_CL_PROBE_TEXT - n, "=%s", text);
    }
}

bm_status bm_cl_probe_run(const bm_backend_cfg *cfg, const bm_kernel_params *row, const char *name,
                          bm_error *err)
{
    char program[PATH_MAX], device[BM_CL_PROBE_TEXT], cache[PATH_MAX];
    child_words words = {.len = 0};
    if (!find_program(cfg->settings, program))
        return BM_OK;
    bm_cl_probe_device(cfg, row, device);
    bm_cl_cache_dir(cfg->cache_dir, cache, sizeof cache);
    char verb[] = "__probe-opencl";
    char *const argv[] = {program, verb, device, cache, NULL};
    pid_t pid = -1;
    int fd = -1, status = 0;
    bm_status result = spawn(argv, &pid, &fd, err);
    if (result != BM_OK) {
        if (err != NULL)
            err->status = BM_ERR_DEVICE;
        return BM_ERR_DEVICE;
    }
    const double seconds = time_limit(cfg->settings);
    const double deadline = bm_clock_seconds() + seconds;
    bool ended = read_until(fd, deadline, &words) && reap(pid, deadline, &status);
    close(fd);
    if (!ended) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        bm_fail(err, BM_ERR_DEVICE, "a trial run of %s did not end within %.0f seconds", name,
                seconds);
        if (err != NULL)
            err->code = ETIMEDOUT;
        return BM_ERR_DEVICE;
    }
    return judge(status, name, &words, err);
}
