/* cl_probe.c -- run the probe, read what it says, and do not wait for ever.
 *
 * posix_spawn, since the parent may have threads. The child's stderr is read through a pipe; its
 * end of file, or the deadline, ends the wait. */
#include "backend/opencl/cl_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/opencl/cl_cache.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "sketch/scheme.h"

#define DEFAULT_SECONDS 120.0

extern char **environ;

bm_status bm_device_probe(const char *device, const char *cache_dir, bm_error *err)
{
    char spec[32], scheme[16];
    bm_backend_cfg cfg = {.device = spec, .cache_dir = cache_dir};
    uint32_t kind = 0;
    bm_text_options text = {0};
    const int n = sscanf(device,
                         "%31[^@]@%15[^,],%" SCNu32 ",%" SCNu32 ",%" SCNu32 ",%" SCNu32 "+%" SCNu32
                         ":%" SCNu32,
                         spec, scheme, &cfg.sketch.perms, &cfg.bands, &cfg.rows, &cfg.sketch.seed,
                         &kind, &text.shingle_k);
    const bm_scheme_ops *ops = n >= 2 ? bm_scheme_find(scheme) : NULL;
    if ((n != 6 && n != 8) || ops == NULL || kind > BM_SHINGLE_BYTE)
        return bm_fail(err, BM_ERR_USAGE,
                       "%s: not opencl:P.D@SCHEME,PERMS,BANDS,ROWS,SEED[+KIND:K]", device);
    cfg.sketch.scheme = ops->scheme;
    text.shingle = (bm_shingle_kind)kind;
    cfg.text = n == 8 ? &text : NULL;
    bm_backend *backend = NULL;
    bm_status status =
        bm_cl_backend_open(&cfg, &(bm_cl_open_options){.no_probe = true}, &backend, err);
    bm_backend_opencl.close(backend);
    return status;
}

/* The program to run; false: none. */
static bool find_program(char out[PATH_MAX])
{
    const char *set = getenv("BANDMILL_PROBE");
    if (set != NULL) {
        snprintf(out, PATH_MAX, "%s", set);
        return out[0] != '\0';
    }
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (n <= 0)
        return false;
    out[n] = '\0';
    const char *slash = strrchr(out, '/');
    return slash != NULL && strcmp(slash + 1, "bandmill") == 0;
}

static double time_limit(void)
{
    const char *set = getenv("BANDMILL_PROBE_SECONDS");
    double seconds = set != NULL ? strtod(set, NULL) : 0;
    return seconds > 0 ? seconds : DEFAULT_SECONDS;
}

/* This process's environment, with a row of parameters if one is given: *out (bm_free), which
 * borrows `setting` and all else. */
static bm_status child_environment(const char *row, char *setting, size_t cap, char ***out,
                                   bm_error *err)
{
    static const char name[] = "BANDMILL_CL_ROW=";
    size_t n = 0, kept = 0;
    while (environ[n] != NULL)
        ++n;
    char **all = bm_alloc(n + 2, sizeof *all);
    if (all == NULL)
        return bm_fail_nomem(err, (n + 2) * sizeof *all);
    for (size_t i = 0; i < n; ++i)
        if (row == NULL || strncmp(environ[i], name, sizeof name - 1) != 0)
            all[kept++] = environ[i];
    if (row != NULL) {
        snprintf(setting, cap, "%s%s", name, row);
        all[kept++] = setting;
    }
    all[kept] = NULL;
    *out = all;
    return BM_OK;
}

static bm_status spawn(char *const argv[], const char *row, pid_t *pid, int *from_child,
                       bm_error *err)
{
    int ends[2];
    char setting[BM_KERNEL_PARAMS_TEXT + 32], **environment = NULL;
    bm_status status = child_environment(row, setting, sizeof setting, &environment, err);
    if (status != BM_OK)
        return status;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        bm_free(environment);
        return bm_fail_errno(err, errno, argv[0], "pipe");
    }
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
    int failed = posix_spawn(pid, argv[0], &actions, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    bm_free(environment);
    close(ends[1]);
    if (failed != 0) {
        close(ends[0]);
        return bm_fail_errno(err, failed, argv[0], "cannot run the probe");
    }
    *from_child = ends[0];
    return BM_OK;
}

/* Read until end of file; keep the first bytes. False: the deadline passed. */
static bool read_until(int fd, double deadline, char *out, size_t cap)
{
    size_t len = 0;
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
        if (n <= 0)
            return true;
        size_t keep = (size_t)n < cap - 1 - len ? (size_t)n : cap - 1 - len;
        memcpy(out + len, block, keep);
        len += keep;
        out[len] = '\0';
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

static bm_status judge(int status, const char *name, char *said, bm_error *err)
{
    said[strcspn(said, "\n")] = '\0';
    if (WIFSIGNALED(status)) {
        int number = WTERMSIG(status);
        return bm_fail(
            err, BM_ERR_DEVICE,
            "the OpenCL driver of %s ended a trial run with signal %d (%s); its own cache "
            "may be broken (PoCL: $POCL_CACHE_DIR or ~/.cache/pocl; remove it)%s%s",
            name, number, sigabbrev_np(number), said[0] != '\0' ? ": " : "", said);
    }
    if (WEXITSTATUS(status) != 0)
        return bm_fail(err, BM_ERR_DEVICE, "a trial run of %s failed with exit code %d%s%s", name,
                       WEXITSTATUS(status), said[0] != '\0' ? ": " : "", said);
    return BM_OK;
}

bm_status bm_cl_probe_run(const bm_backend_cfg *cfg, const bm_cl_open_options *options,
                          const char *name, bm_error *err)
{
    char program[PATH_MAX], device[96], cache[PATH_MAX], said[600] = "";
    if (!find_program(program))
        return BM_OK;
    const bm_scheme_ops *scheme = bm_scheme_get(cfg->sketch.scheme);
    int n = snprintf(device, sizeof device, "%s@%s,%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32,
                     cfg->device, scheme != NULL ? scheme->name : "",
                     cfg->perms_used > 0 ? cfg->perms_used : cfg->sketch.perms, cfg->bands,
                     cfg->rows, cfg->sketch.seed);
    if (cfg->text != NULL)
        snprintf(device + n, sizeof device - (size_t)n, "+%u:%" PRIu32,
                 (unsigned)cfg->text->shingle, cfg->text->shingle_k);
    bm_cl_cache_dir(cfg->cache_dir, cache, sizeof cache);
    char verb[] = "__probe-opencl";
    char *const argv[] = {program, verb, device, cache, NULL};
    pid_t pid = -1;
    int fd = -1, status = 0;
    bm_status result = spawn(argv, options->row, &pid, &fd, err);
    if (result != BM_OK) {
        if (err != NULL)
            err->status = BM_ERR_DEVICE;
        return BM_ERR_DEVICE;
    }
    const double seconds = options->probe_seconds > 0 ? options->probe_seconds : time_limit();
    const double deadline = bm_clock_seconds() + seconds;
    bool ended = read_until(fd, deadline, said, sizeof said) && reap(pid, deadline, &status);
    close(fd);
    if (!ended) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        return bm_fail(err, BM_ERR_DEVICE, "a trial run of %s did not end within %.0f seconds",
                       name, seconds);
    }
    return judge(status, name, said, err);
}
