/* SPDX-License-Identifier: Apache-2.0 */
/* cl_list.c -- lists the devices safely, however their drivers behave.
 *
 *     state of the drivers                  how devices are listed
 *     listed without harm before, and         by a thread of this process, with a time limit
 *     unchanged since
 *     likewise, less than ten minutes ago,    not at all: the rows of that listing are returned
 *     it had no GPU, and only GPUs are
 *     needed
 *     hung less than ten minutes ago,         not at all: the hang is reported again
 *     within a time limit at least as long
 *     as that of this call
 *     anything else                           by a child process, with a time limit
 *
 * The thread costs nothing beyond the listing; the child costs one process more. Both list the
 * devices that are present now. If old rows are returned, no driver is loaded into this process.
 * This saves 50 MB of memory and 50 ms, for libraries that a job would not use (PoCL loads LLVM).
 *
 * A driver that once listed its devices may still hang if its device is lost. In that case its
 * thread remains, with all memory that it may use, and is counted (bm_device_settings.n_stuck).
 *
 * Tests: tests/fault/icd/drivers.sh, tests/unit/opencl/test_cl_list.c */
#include "opencl/cl_list.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/threads.h"
#include "opencl/cl_child.h"
#include "opencl/cl_known_drivers.h"
#include "program/program.h"

/* cl_list_answer -- see the header. Both processes run on the same machine, and mostly the same
 * program, so structs are passed as they are. Values that a bool or an enum cannot have are
 * rejected. */

#define MAGIC       "BMCLLST1"
#define MAX_DEVICES 65536u

typedef struct header {
    char magic[8];
    uint32_t info_bytes, n;
    char note[sizeof((bm_cl_listing *)0)->note];
} header;

/* Write the listing to the file. Returns false if the write failed (errno). */
static bool cl_list_answer_write(int fd, const bm_cl_listing *listing)
{
    header h = {.info_bytes = sizeof(bm_device_info), .n = (uint32_t)listing->n};
    memcpy(h.magic, MAGIC, sizeof h.magic);
    memcpy(h.note, listing->note, sizeof h.note);
    int code = bm_pwrite_all(fd, &h, sizeof h, 0);
    if (code == 0)
        code = bm_pwrite_all(fd, listing->rows, listing->n * sizeof *listing->rows, sizeof h);
    errno = code;
    return code == 0;
}

/* Does *info have only values that a bm_device_info can have? */
static bool is_sound(const bm_device_info *info)
{
    unsigned kind;
    unsigned char usable;
    memcpy(&kind, &info->kind, sizeof kind);
    memcpy(&usable, &info->usable, sizeof usable);
    return kind <= BM_DEVICE_CL_NONE && kind != BM_DEVICE_NATIVE && usable <= 1 &&
           memchr(info->spec, '\0', sizeof info->spec) != NULL &&
           memchr(info->name, '\0', sizeof info->name) != NULL &&
           memchr(info->platform, '\0', sizeof info->platform) != NULL &&
           memchr(info->driver, '\0', sizeof info->driver) != NULL &&
           memchr(info->why, '\0', sizeof info->why) != NULL &&
           memchr(info->pci, '\0', sizeof info->pci) != NULL &&
           memchr(info->uuid, '\0', sizeof info->uuid) != NULL &&
           memchr(info->same_as, '\0', sizeof info->same_as) != NULL &&
           memchr(info->same_by, '\0', sizeof info->same_by) != NULL;
}

/* Read the file from its beginning. BM_NOT_FOUND: it is incomplete, or of another version. The
 * caller owns out->rows. */
static bm_status cl_list_answer_read(int fd, bm_cl_listing *out, bm_error *err)
{
    header h;
    struct stat st;
    size_t got;
    if (fstat(fd, &st) != 0 || bm_pread_all(fd, &h, sizeof h, 0, &got) != 0 || got != sizeof h ||
        memcmp(h.magic, MAGIC, sizeof h.magic) != 0 || h.info_bytes != sizeof(bm_device_info) ||
        h.n > MAX_DEVICES || memchr(h.note, '\0', sizeof h.note) == NULL ||
        (uint64_t)st.st_size != sizeof h + (uint64_t)h.n * sizeof(bm_device_info))
        return BM_NOT_FOUND;
    bm_device_info *devices = NULL;
    BM_TRY(bm_new(&devices, h.n, err));
    const size_t len = h.n * sizeof *devices;
    bool sound = bm_pread_all(fd, devices, len, sizeof h, &got) == 0 && got == len;
    for (uint32_t i = 0; sound && i < h.n; i++)
        sound = is_sound(&devices[i]);
    if (!sound) {
        bm_free(devices);
        return BM_NOT_FOUND;
    }
    *out = (bm_cl_listing){.rows = devices, .n = h.n};
    memcpy(out->note, h.note, sizeof out->note);
    return BM_OK;
}

#define LIST_SECONDS 60.0 /* the time limit if none is set; short, because nothing is compiled */

/* --- in this process --- */

typedef struct asking {
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t answered;
    bool done;
    bool alone; /* no thread is waiting for the answer any more */
    bm_status status;
    bm_error error;
    bm_cl_listing listing;
} asking;

static void asking_close(asking *a)
{
    pthread_cond_destroy(&a->answered);
    pthread_mutex_destroy(&a->lock);
    bm_free(a);
}

/* Runs on a thread of its own. Either this thread or the waiting thread finishes last, and closes
 * `asking`. */
static void *ask(void *ctx)
{
    asking *a = ctx;
    bm_error error = {0};
    bm_cl_listing listing;
    stack_t before; /* LLVM, in some drivers, gives the thread its own signal stack */
    const bool saved = sigaltstack(NULL, &before) == 0;
    const bm_status status = bm_cl_list(&listing, &error);
    if (saved)
        sigaltstack(&before, NULL);
    pthread_mutex_lock(&a->lock);
    a->status = status;
    a->error = error;
    a->listing = listing;
    a->done = true;
    const bool alone = a->alone;
    pthread_cond_signal(&a->answered);
    pthread_mutex_unlock(&a->lock);
    if (alone) {
        bm_free(listing.rows);
        asking_close(a);
    }
    return NULL;
}

static asking *start(pthread_t *thread, bm_error *err)
{
    asking *a = bm_alloc_zero(1, sizeof *a);
    if (a == NULL) {
        bm_fail_nomem(err, sizeof *a);
        return NULL;
    }
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->answered, &attributes);
    pthread_condattr_destroy(&attributes);
    const int failed = bm_thread_start(thread, ask, a);
    if (failed == 0)
        return a;
    bm_free(a);
    bm_fail_thread(failed, err);
    return NULL;
}

/* List the devices on a thread of this process. BM_NOT_FOUND: there was no answer within the time
 * limit. */
static bm_status list_here(bm_cl_patience *patience, bm_cl_listing *out, bm_error *err)
{
    pthread_t thread;
    double left;
    asking *a = start(&thread, err);
    if (a == NULL)
        return err != NULL ? err->status : BM_ERR_NOMEM;
    bm_cl_patience_begin(patience);
    pthread_mutex_lock(&a->lock);
    while (!a->done && (left = bm_cl_patience_left(patience)) > 0) {
        const struct timespec until = bm_clock_in(CLOCK_MONOTONIC, left);
        pthread_cond_timedwait(&a->answered, &a->lock, &until);
    }
    const bool done = a->done;
    a->alone = !done;
    if (!done)
        pthread_detach(thread);
    pthread_mutex_unlock(&a->lock);
    if (!done)
        return BM_NOT_FOUND;
    pthread_join(thread, NULL);
    const bm_status status = a->status;
    if (status != BM_OK && err != NULL)
        *err = a->error;
    *out = a->listing;
    asking_close(a);
    return status;
}

/* --- in a child --- */

/* Report that a driver is broken. `driver`: the library to blame. "": it is unknown, so the message
 * names all drivers. */
static void report_broken(bm_cl_listing *out, const char *what, const char *driver,
                          const char *words)
{
    char drivers[300];
    if (driver[0] != '\0')
        snprintf(drivers, sizeof drivers, "%s", driver);
    else
        bm_cl_drivers_names(drivers, sizeof drivers);
    *out = (bm_cl_listing){.broken = true};
    snprintf(out->note, sizeof out->note, "%s%s%s%s%s%.150s", what, drivers[0] != '\0' ? " (" : "",
             drivers, drivers[0] != '\0' ? ")" : "", words[0] != '\0' ? ": " : "", words);
}

/* Explain why a child gave no answer. */
static void judge(const bm_cl_ending *ending, double seconds, bm_cl_listing *out)
{
    char what[120];
    if (ending->late) {
        snprintf(what, sizeof what, "OpenCL did not list its devices within %.3g seconds", seconds);
    } else if (WIFSIGNALED(ending->status)) {
        const int number = WTERMSIG(ending->status);
        const char *name = sigabbrev_np(number);
        snprintf(what, sizeof what, "OpenCL died while it listed its devices, of signal %d (%s)",
                 number, name != NULL ? name : "?");
    } else if (!ending->reported) {
        snprintf(what, sizeof what,
                 "OpenCL ended the process that listed its devices, with exit code %d",
                 WEXITSTATUS(ending->status));
    } else {
        snprintf(what, sizeof what, "OpenCL cannot list its devices");
    }
    report_broken(out, what, ending->driver, ending->words);
}

static bm_status list_in_child(bm_cl_child *child, bm_cl_listing *out, bm_error *err)
{
    bm_cl_ending ending;
    bm_error why = {0};
    child->answer = memfd_create("bandmill-devices", MFD_CLOEXEC);
    if (child->answer < 0)
        return bm_fail_errno(err, errno, "", "cannot make a file in memory");
    bm_status status = bm_cl_child_run(child, &ending, &why);
    if (status != BM_OK) {
        report_broken(out, "OpenCL devices cannot be listed", "", why.message);
        status = BM_OK;
    } else {
        status = cl_list_answer_read(child->answer, out, err);
    }
    if (status == BM_NOT_FOUND) {
        bm_cl_patience_left(&child->patience); /* calls `cancelled`, because a signal that ended the
                                                * child may be meant for this process too */
        judge(&ending, child->patience.seconds, out);
        out->late = ending.late;
        status = BM_OK;
    }
    close(child->answer);
    if (!child->patience.cancelled)
        return status;
    bm_free(out->rows);
    *out = (bm_cl_listing){.n = 0};
    return bm_fail(err, BM_ERR_CANCELLED, "interrupted");
}

bm_status bm_cl_list_in_child(const char *cache_dir, bm_error *err)
{
    const int answer = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (answer < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return bm_fail_errno(err, errno, "", "cannot redirect stdout");
    bm_cl_listing listing;
    BM_TRY(bm_cl_list(&listing, err));
    bm_status status = BM_OK;
    if (!cl_list_answer_write(answer, &listing))
        status = bm_fail_errno(err, errno, "", "cannot write the list");
    else
        bm_cl_drivers_remember(cache_dir, &listing);
    bm_free(listing.rows);
    close(answer);
    return status;
}

/* --- choosing how to list --- */

/* Report a recorded hang. Its time limit was at least as long as the present limit. */
static void report_hung(const bm_cl_hang *hang, bm_cl_listing *out)
{
    *out = (bm_cl_listing){.broken = true};
    snprintf(out->note, sizeof out->note,
             "%.480s; that was %.0f s ago, and is tried again after ten minutes (a longer "
             "`probe_seconds` tries now)",
             hang->note, bm_clock_seconds() - hang->at);
}

static void remember_late(const char *cache_dir, double seconds, const char *note)
{
    bm_cl_hang hang = {.seconds = seconds, .at = bm_clock_seconds()};
    snprintf(hang.note, sizeof hang.note, "%s", note);
    bm_cl_drivers_remember_hang(cache_dir, &hang);
}

static bm_status list_by(bm_cl_child *child, bool in_child, const bm_device_settings *settings,
                         bm_cl_listing *out, bm_error *err)
{
    bm_error why = {0};
    if (in_child)
        return list_in_child(child, out, err);
    bm_status status = list_here(&child->patience, out, &why);
    if (status == BM_NOT_FOUND) {
        if (settings != NULL && settings->n_stuck != NULL)
            __atomic_fetch_add(settings->n_stuck, 1, __ATOMIC_RELAXED);
        judge(&(bm_cl_ending){.late = true}, child->patience.seconds, out);
        out->late = !child->patience.cancelled;
        return child->patience.cancelled ? bm_fail(err, BM_ERR_CANCELLED, "interrupted") : BM_OK;
    }
    if (status == BM_ERR_DEVICE) {
        report_broken(out, "OpenCL cannot list its devices", "", why.message);
        return BM_OK;
    }
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

static bool has_gpu(const bm_cl_listing *listing)
{
    for (size_t i = 0; i < listing->n; i++)
        if (listing->rows[i].kind == BM_DEVICE_CL_GPU)
            return true;
    return false;
}

/* Do two listings have the same devices of the same kinds? Clock rates and free memory may
 * differ. */
static bool same_rows(const bm_cl_listing *before, const bm_cl_listing *now)
{
    bool same = before->n == now->n;
    for (size_t i = 0; same && i < now->n; i++) {
        const bm_device_info *a = &before->rows[i], *b = &now->rows[i];
        same = a->kind == b->kind && a->usable == b->usable && strcmp(a->spec, b->spec) == 0 &&
               strcmp(a->name, b->name) == 0;
    }
    return same;
}

bm_status bm_cl_list_safely(bm_cl_need need, const bm_device_settings *settings,
                            const char *cache_dir, const bm_callbacks *callbacks,
                            bm_cl_listing *out, bm_error *err)
{
    bm_cl_child child;
    bm_cl_hang hang;
    bm_cl_listing before;
    bool fresh;
    *out = (bm_cl_listing){.n = 0};
    const bool able = bm_cl_child_init(&child, settings, cache_dir, BM_PROBE_LIST);
    child.patience.callbacks = callbacks;
    if (settings == NULL || settings->probe_seconds <= 0)
        child.patience.seconds = LIST_SECONDS;
    const bool hung = bm_cl_drivers_hung(cache_dir, &hang);
    if (hung && hang.seconds >= child.patience.seconds) {
        report_hung(&hang, out);
        return BM_OK;
    }
    const bool known = bm_cl_drivers_known(cache_dir, &before, &fresh);
    const bool of_no_use = known && need == BM_CL_NEED_GPUS && !has_gpu(&before);
    if (of_no_use && fresh) {
        *out = before;
        return BM_OK;
    }
    const bool in_child = able && (!known || of_no_use);
    const bm_status status = list_by(&child, in_child, settings, out, err);
    if (status == BM_OK && known && !in_child && !out->broken && !same_rows(&before, out))
        bm_cl_drivers_forget(cache_dir);
    bm_free(before.rows);
    BM_TRY(status);
    if (out->late) {
        remember_late(cache_dir, child.patience.seconds, out->note);
    } else if (hung)
        bm_cl_drivers_remember_hang(cache_dir, &(bm_cl_hang){0});
    return BM_OK;
}
