/* SPDX-License-Identifier: Apache-2.0 */
/* job_calls.c -- in a whole job's claim, seal, commit and resume, each system call fails once in
 * turn, until a run has no failure: with EIO, ENOSPC and EACCES in rotation. In the small size, one
 * call in three.
 *
 * After each run, the job failed and reports why, or it went on because it can do without the call
 * (`borne`). Neither memory nor open files are leaked. The target has nothing, or what was there
 * before, or the whole result; likewise the report beside it. The same job, run again with
 * `resume`, gives the bytes of an undisturbed job. */
#include <bandmill/job.h>

#include <stdio.h>
#include <sys/file.h>
#include <sys/statvfs.h>

#include "output/out_dir.h"
#include "tests/world/world_document.h"
#include "tests/world/world_folder.h"
#include "tests/world/scratch.h"
#include "tests/world/sized.h"

#include "held_blocks.h"

WRAP(ssize_t, pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, n, at), -1, false)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), -1, false)
WRAP(int, rmdir, (const char *path), (path), -1, false)
WRAP(int, unlink, (const char *path), (path), -1, false)
WRAP(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags), -1, false)
WRAP(int, link, (const char *from, const char *to), (from, to), -1, false)
WRAP(int, linkat, (int f, const char *from, int t, const char *to, int flags),
     (f, from, t, to, flags), -1, false)
WRAP(int, flock, (int fd, int operation), (fd, operation), -1, false)
WRAP(int, ftruncate, (int fd, off_t size), (fd, size), -1, false)
WRAP(off_t, lseek, (int fd, off_t to, int whence), (fd, to, whence), -1, false)
WRAP(int, fstatat, (int fd, const char *path, struct stat *out, int flags), (fd, path, out, flags),
     -1, false)
WRAP(DIR *, opendir, (const char *path), (path), NULL, false)
WRAP(DIR *, fdopendir, (int fd), (fd), NULL, false)
WRAP(struct dirent *, readdir, (DIR * folder), (folder), NULL, false)
WRAP(int, renameat, (int f, const char *from, int t, const char *to), (f, from, t, to), -1, false)
WRAP(int, renameat2, (int f, const char *from, int t, const char *to, unsigned flags),
     (f, from, t, to, flags), -1, false)
WRAP(int, mkostemp, (char *path, int flags), (path, flags), -1, false)
WRAP(char *, realpath, (const char *path, char *out), (path, out), NULL, false)
WRAP(int, access, (const char *path, int mode), (path, mode), -1, false)
WRAP(int, statvfs, (const char *path, struct statvfs *out), (path, out), -1, false)

WRAP_SYNC(syncfs)

WRAP_OPENAT

/* close frees the descriptor whatever it returns. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    const bool fail = fails("close", false);
    const int code = errno, answer = __real_close(fd);
    errno = fail ? code : errno;
    return fail ? -1 : answer;
}

/* Calls whose failure a job may survive. */
static const struct {
    const char *call, *why;
} borne[] = {
    {"close", "of what was read, or of what was synced before"},
    {"flock", "a file system without locks: jobs are not kept apart there"},
    {"realpath", "of an input: the reader, which opens it next, says why"},
    {"stat",
     "the same; or of what may be a directory of signatures, and is then read as documents"},
    /* Sealing: a job that cannot seal goes on without it, or from what was sealed before. Claiming
     * is tried again if the job was not sure of its marker. */
    {"fstat", "sealing, claiming"},
    {"fstatat", "sealing, claiming; or clearing away"},
    {"lstat", "sealing, claiming"},
    {"linkat", "sealing"},
    {"mkostemp", "sealing"},
    {"open", "sealing"},
    {"pread", "sealing"},
    {"pwrite", "sealing"},
    {"unlink", "sealing; or the old one of a replaced file, which stays beside the new one"},
    /* Clearing away: the new output is in place; the next job there removes the rest. */
    {"fdopendir", "clearing away"},
    {"openat", "sealing; clearing away"},
    {"rmdir", "clearing away"},
    {"unlinkat", "sealing; clearing away"},
    {"opendir", "telling whether an output is empty, which it then is not"},
    {"readdir", "the same; or clearing away"},
};

static bool may_be_borne(const char *call)
{
    for (size_t i = 0; i < sizeof borne / sizeof borne[0]; i++)
        if (strcmp(borne[i].call, call) == 0)
            return true;
    return false;
}

/* --- jobs --- */

enum { DOCS = 6 };

/* Each of the last documents is a copy of one of the first. */
static void make_input(scratch *s, const char *name, int n_docs)
{
    FILE *file = scratch_write(s, name);
    for (int doc = 0; doc < n_docs; doc++) {
        world_document(file, "d", doc, 100 * (doc % 4), 20);
    }
    cr_assert_eq(fclose(file), 0);
}

typedef enum kind { DEDUP, SIGN, PAIRS } kind;

typedef struct shape {
    const char *name;
    kind kind;
    bool replaces;
    bool resumes;    /* continues what an interrupted job left */
    bool interrupts; /* the job is told to stop once it has sealed */
    bool killed;     /* a job killed before it sealed has left its files there */
    long least;      /* at least this many calls are made to fail */
} shape;

static const shape shapes[] = {
    {"dedup", DEDUP, false, false, false, false, 100},
    {"dedup over an earlier output", DEDUP, true, false, false, false, 100},
    {"dedup over leavings", DEDUP, false, false, false, true, 100},
    {"dedup that is interrupted", DEDUP, false, false, true, false, 60},
    {"dedup that resumes", DEDUP, false, true, false, false, 100},
    {"sign over an earlier output", SIGN, true, false, false, false, 80},
    {"sign that is interrupted", SIGN, false, false, true, false, 50},
    {"sign that resumes", SIGN, false, true, false, false, 80},
    {"pairs", PAIRS, false, false, false, false, 60},
    {"pairs over earlier outputs", PAIRS, true, false, false, false, 80},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

typedef struct task {
    kind kind;
    bool force, resume;
    const char *input, *output, *report, *histogram;
    int stop_at; /* stop at the n-th check for cancellation; 0: never */
    int n_asked;
} task;

static bool cancelled(void *ctx)
{
    task *t = ctx;
    return ++t->n_asked >= t->stop_at && t->stop_at > 0;
}

static bm_status run(task *t, bm_error *err)
{
    bm_summary *summary = NULL;
    const char *const paths[] = {t->input};
    const bm_resource_options resources = {
        .threads = 1, .batch_docs = 3, .checkpoint_seconds = 0, .memory = 64u << 20};
    const bm_output_options output = {.path = t->output, .report = t->report, .force = t->force};
    const bm_callbacks callbacks = {.cancelled = cancelled, .ctx = t};
    bm_status status;
    t->n_asked = 0;
    if (t->kind == PAIRS) {
        bm_pairs_options o;
        bm_pairs_options_init(&o);
        o.input.paths = paths;
        o.input.n_paths = 1;
        o.device.device = "cpu";
        o.resources = resources;
        o.output = output;
        o.histogram = t->histogram;
        o.callbacks = callbacks;
        status = bm_job_pairs(&o, &summary, err);
    } else if (t->kind == SIGN) {
        bm_sign_options o;
        bm_sign_options_init(&o);
        o.input.paths = paths;
        o.input.n_paths = 1;
        o.sketch.perms = 16;
        o.device.device = "cpu";
        o.resources = resources;
        o.output = output;
        o.resume = t->resume;
        o.callbacks = callbacks;
        status = bm_job_sign(&o, &summary, err);
    } else {
        bm_dedup_options o;
        bm_dedup_options_init(&o);
        o.input.paths = paths;
        o.input.n_paths = 1;
        o.device.device = "cpu";
        o.resources = resources;
        o.output = output;
        o.resume = t->resume;
        o.callbacks = callbacks;
        status = bm_job_dedup(&o, &summary, err);
    }
    bm_summary_free(summary);
    return status;
}

/* --- the files of the outputs --- */

static void empty_outputs(scratch *s)
{
    cr_assert_eq(world_folder_remove("outputs"), 0);
    scratch_folder(s, "outputs");
}

static const char *const of_dedup[] = {"kept.jsonl", "removed.tsv", "groups.jsonl", "sources.tsv",
                                       NULL};
static const char *const of_sign[] = {
    "signatures.npy", "n_shingles.npy", "n_bytes.npy", "content_hash.npy",
    "text_hash.npy",  "ids.txt",        "sources.tsv", NULL};

static bool same_file(scratch *s, const char *one, const char *other)
{
    size_t len[2];
    if (!scratch_has(s, one))
        return false;
    char *data[2] = {scratch_get(s, one, &len[0]), scratch_get(s, other, &len[1])};
    const bool same = len[0] == len[1] && memcmp(data[0], data[1], len[0]) == 0;
    free(data[0]);
    free(data[1]);
    return same;
}

/* Does it equal the other output, except for its report? Both exist. */
static bool is_like(scratch *s, const char *dir, const char *other, kind what)
{
    const char *const *names = what == SIGN ? of_sign : of_dedup;
    bool same = true;
    size_t n = 0;
    if (what == PAIRS)
        return same_file(s, dir, other);
    for (; same && names[n] != NULL; n++) {
        char path[2][100];
        snprintf(path[0], sizeof path[0], "%s/%s", dir, names[n]);
        snprintf(path[1], sizeof path[1], "%s/%s", other, names[n]);
        same = same_file(s, path[0], path[1]);
    }
    return same && scratch_count(s, dir) == n + 1;
}

/* Is the whole result in place, with the report beside it? */
static bool is_whole(scratch *s, kind what)
{
    return scratch_has(s, "outputs/out") && is_like(s, "outputs/out", "right", what);
}

/* Single files beside the output, and where the earlier ones are kept. */
static const struct {
    const char *name, *earlier;
} beside[] = {{"outputs/report.json", "earlier.json"},
              {"outputs/histogram.tsv", "earlier.tsv"}}; /* only for pairs */

static size_t n_beside(kind what)
{
    return what == PAIRS ? 2 : 1;
}

/* Everything at the target is as it was before. */
static void assert_untouched(scratch *s, const shape *of, const char *why)
{
    cr_assert_eq(scratch_has(s, "outputs/out"), of->replaces, "%s", why);
    cr_assert(!of->replaces || is_like(s, "outputs/out", "earlier", of->kind), "%s", why);
    for (size_t i = 0; i < n_beside(of->kind); i++) {
        cr_assert_eq(scratch_has(s, beside[i].name), of->replaces, "%s: %s", beside[i].name, why);
        cr_assert(!of->replaces || same_file(s, beside[i].name, beside[i].earlier), "%s: %s",
                  beside[i].name, why);
    }
}

/* --- each call in turn --- */

static void copy_file(scratch *s, const char *from, const char *to)
{
    size_t len;
    char *data = scratch_get(s, from, &len);
    scratch_put(s, to, data, len);
    free(data);
}

static void copy_output(scratch *s, const char *from, const char *to, kind what)
{
    const char *const *names = what == SIGN ? of_sign : of_dedup;
    char path[2][100];
    if (what == PAIRS) {
        copy_file(s, from, to);
        return;
    }
    scratch_folder(s, to);
    for (size_t i = 0;; i++) {
        const char *name = names[i] != NULL ? names[i]
                           : what == SIGN   ? "manifest.json"
                                            : "report.json";
        snprintf(path[0], sizeof path[0], "%s/%s", from, name);
        snprintf(path[1], sizeof path[1], "%s/%s", to, name);
        copy_file(s, path[0], path[1]);
        if (names[i] == NULL)
            return;
    }
}

static task usual(const shape *of)
{
    return (task){.kind = of->kind,
                  .force = of->replaces,
                  .input = "in.jsonl",
                  .output = "outputs/out",
                  .report = "outputs/report.json",
                  .histogram = "outputs/histogram.tsv"};
}

/* Interrupts the job at its first stop after it has sealed something; returns which stop. */
static int interrupt(scratch *s, task t, int from)
{
    for (t.stop_at = from;; t.stop_at++) {
        cr_assert_eq(run(&t, NULL), BM_ERR_CANCELLED, "%d", t.stop_at);
        if (scratch_has(s, "outputs/out.partial/.bandmill-journal"))
            return t.stop_at;
        cr_assert_lt(t.stop_at, 100);
    }
}

/* Makes the work directory of a job that was killed before it sealed anything. */
static void leave_as_killed(kind what)
{
    const char *const *names = what == SIGN ? of_sign : of_dedup;
    bm_out_dir *dir = NULL;
    bm_out_file *file = NULL;
    cr_assert_eq(bm_out_dir_open("outputs/out", BM_OUT_REFUSE, &dir, NULL), BM_OK);
    for (size_t i = 0; names[i] != NULL; i++) {
        cr_assert_eq(bm_out_dir_file(dir, names[i], &file, NULL), BM_OK);
        cr_assert_eq(bm_out_file_write(file, "half", 4, NULL), BM_OK);
        cr_assert_eq(bm_out_file_close(file, NULL), BM_OK);
    }
    bm_out_dir_preserve(dir, true);
    bm_out_dir_close(dir);
}

/* Prepares what the job finds: nothing, an earlier output, or another job's leavings. */
static void prepare(scratch *s, const shape *of, int stop_at)
{
    empty_outputs(s);
    for (size_t i = 0; of->replaces && i < n_beside(of->kind); i++)
        copy_file(s, beside[i].earlier, beside[i].name);
    if (of->replaces)
        copy_output(s, "earlier", "outputs/out", of->kind);
    if (of->resumes)
        interrupt(s, usual(of), stop_at);
    if (of->killed)
        leave_as_killed(of->kind);
}

static const int codes[] = {EIO, ENOSPC, EACCES};

static bool fits(bm_status status, const shape *of)
{
    return status == BM_ERR_IO || status == BM_ERR_NOMEM || status == BM_ERR_INPUT ||
           status == BM_ERR_FORMAT || (status == BM_ERR_CANCELLED && of->interrupts);
}

/* Judges the end of the job. */
static void judge(scratch *s, const shape *of, bm_status status, const char *why)
{
    const bool whole = is_whole(s, of->kind);
    if (status == BM_OK || whole) {
        /* with an error: only the sync of the parent folder failed */
        cr_assert(whole && (status == BM_OK || of->kind != PAIRS), "%s", why);
        for (size_t i = 0; i < n_beside(of->kind); i++)
            cr_assert(scratch_has(s, beside[i].name) &&
                          !(of->replaces && same_file(s, beside[i].name, beside[i].earlier)),
                      "%s: %s", beside[i].name, why);
        return;
    }
    assert_untouched(s, of, why);
    if (!scratch_has(s, "outputs/out.partial")) { /* the next job starts like this one did */
        cr_assert_eq(scratch_count(s, "outputs"), of->replaces ? 1 + n_beside(of->kind) : 0, "%s",
                     why);
        return;
    }
    task again = usual(of);
    bm_error err = {0};
    again.resume = true;
    cr_assert_eq(run(&again, &err), BM_OK, "%s; then %s: %s", why, err.file, err.message);
    cr_assert(is_whole(s, of->kind), "%s; then", why);
    cr_assert_eq(scratch_count(s, "outputs"), 2u, "%s; then", why);
}

static void fail_each(scratch *s, const shape *of)
{
    const int stop_at =
        of->interrupts || of->resumes ? (empty_outputs(s), interrupt(s, usual(of), 1)) : 0;
    const long step = (long)sized(1, 3); /* the shapes start at different calls */
    long n = (of - shapes) % step;
    for (plan.failed = true; plan.failed; n += step) {
        char why[300];
        bm_error err = {0};
        task t = usual(of);
        t.resume = of->resumes;
        t.stop_at = of->interrupts ? stop_at : 0;
        prepare(s, of, stop_at);
        const size_t n_files = open_files();
        const int code = codes[n / step % 3];
        plan_call(n, code, false);
        const bm_status status = run(&t, &err);
        plan.armed = false;
        snprintf(why, sizeof why, "%s, call %ld, %s (%s): %d, %.150s", of->name, n, plan.which,
                 strerror(code), (int)status, err.message);
        cr_assert_eq(known.n, 0, "%zu blocks are kept: %s", known.n, why);
        cr_assert_eq(open_files(), n_files, "a file stays open: %s", why);
        if (status == BM_OK && plan.failed)
            cr_assert(may_be_borne(plan.which), "%s", why);
        if (status != BM_OK && !(status == BM_ERR_CANCELLED && of->interrupts))
            cr_assert(plan.failed && fits(status, of), "%s", why);
        cr_assert(status == BM_OK || err.message[0] != '\0', "%s", why);
        judge(s, of, status, why);
    }
    cr_expect_gt(n, of->least, "%s: %ld calls were made to fail", of->name, n);
}

/* Makes the inputs and the undisturbed outputs of this input and of an earlier one. */
static void open_place(scratch *s, kind what)
{
    *s = scratch_open();
    cr_assert_eq(chdir(s->root), 0);
    make_input(s, "in.jsonl", DOCS);
    make_input(s, "old.jsonl", DOCS - 1);
    scratch_folder(s, "outputs");
    task right = {.kind = what, .input = "in.jsonl", .output = "right"};
    task earlier = {.kind = what,
                    .input = "old.jsonl",
                    .output = "earlier",
                    .report = beside[0].earlier,
                    .histogram = beside[1].earlier};
    cr_assert_eq(run(&right, NULL), BM_OK);
    cr_assert_eq(run(&earlier, NULL), BM_OK);
}

#define GROUPS                                                                                     \
    "{\"group\":1,\"kept\":\"d0\",\"size\":2,\"members\":[\"d0\",\"d4\"]}\n"                       \
    "{\"group\":2,\"kept\":\"d1\",\"size\":2,\"members\":[\"d1\",\"d5\"]}\n"

#define PAIR_ROWS "id_a\tid_b\tjaccard\nd0\td4\t1.000000\nd1\td5\t1.000000\n"

static void fail_all(kind what)
{
    SCRATCH s;
    open_place(&s, what);
    if (what == DEDUP)
        cr_assert(scratch_holds(&s, "right/groups.jsonl", GROUPS));
    if (what == PAIRS)
        cr_assert(scratch_holds(&s, "right", PAIR_ROWS));
    for (size_t i = 0; i < SHAPES; i++)
        if (shapes[i].kind == what)
            fail_each(&s, &shapes[i]);
}

/* --- the work directory is replaced by another one, before each call in turn --- */

#define WORK  "outputs/out.partial"
#define MOVED "outputs/moved"

/* Like a job that takes the directory for leavings: removes it (here: renames it) and makes a new
 * one. */
static void exchange(void)
{
    const int code = errno;
    if (rename(WORK, MOVED) == 0)
        cr_assert_eq(__real_mkdir(WORK, 0777), 0);
    errno = code;
}

static void exchange_before_each(scratch *s, const shape *of)
{
    const int stop_at = of->resumes ? (empty_outputs(s), interrupt(s, usual(of), 1)) : 0;
    const long step = (long)sized(1, 3);
    long n = (of - shapes) % step, n_refused = 0;
    for (plan.failed = true; plan.failed; n += step) {
        char why[300];
        bm_error err = {0};
        task t = usual(of);
        t.resume = of->resumes;
        t.report = NULL;
        prepare(s, of, stop_at);
        plan.before = exchange;
        plan_call(n, 0, false);
        const bm_status status = run(&t, &err);
        plan.armed = false;
        plan.before = NULL;
        snprintf(why, sizeof why, "%s, before call %ld, %s: %d, %.150s", of->name, n, plan.which,
                 (int)status, err.message);
        cr_assert(!scratch_has(s, WORK) || scratch_count(s, WORK) == 0, "something of it: %s", why);
        cr_assert(status == BM_OK ? is_whole(s, of->kind) : !scratch_has(s, "outputs/out"), "%s",
                  why);
        cr_assert(status == BM_OK || status == BM_ERR_IO, "%s", why);
        n_refused += status != BM_OK;
    }
    cr_expect_gt(n, of->least, "%s: before %ld calls", of->name, n);
    cr_expect_gt(n_refused, 20 / step, "%s: %ld refused", of->name, n_refused);
}

static void exchange_before_all(kind what)
{
    SCRATCH s;
    open_place(&s, what);
    for (size_t i = 0; i < SHAPES; i++)
        if (shapes[i].kind == what && !shapes[i].replaces && !shapes[i].interrupts)
            exchange_before_each(&s, &shapes[i]);
}

Test(job_calls, dedup_puts_nothing_into_a_directory_that_another_made)
{
    exchange_before_all(DEDUP);
}

Test(job_calls, sign_puts_nothing_into_a_directory_that_another_made)
{
    exchange_before_all(SIGN);
}

Test(job_calls, each_call_of_dedup)
{
    fail_all(DEDUP);
}

Test(job_calls, each_call_of_sign)
{
    fail_all(SIGN);
}

Test(job_calls, each_call_of_pairs)
{
    fail_all(PAIRS);
}
