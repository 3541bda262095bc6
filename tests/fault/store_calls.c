/* SPDX-License-Identifier: Apache-2.0 */
/* store_calls.c -- each system call and each allocation of an index fails once in turn, including
 * those of LMDB. Either the caller gets an error and the index is as at the last commit; or the
 * failure does not matter and everything is done.
 *
 * LMDB is opened at run time and finds these functions before the C library's, since the program
 * exports them. */
#include "tests/unit/store/store_model.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/world/scratch.h"
#include "wrap_calls.h"

#define FIRST_PAGE 4096

/* The number of transactions that LMDB has ended, seen as writes to its first two pages; and that
 * number when the planned call failed (LMDB itself writes there again after a failure). */
static long ended, ended_at_failure;

static bool fails_now(const char *which, bool memory)
{
    if (!fails(which, memory))
        return false;
    ended_at_failure = ended;
    return true;
}

/* Defines type name(parameters), which fails in its turn and otherwise calls the C library's. */
#define CALL(type, name, parameters, arguments, failure)                                           \
    type name parameters                                                                           \
    {                                                                                              \
        static type(*real) parameters;                                                             \
        if (real == NULL) {                                                                        \
            void *symbol = dlsym(RTLD_NEXT, #name);                                                \
            memcpy(&real, &symbol, sizeof symbol);                                                 \
        }                                                                                          \
        return fails_now(#name, false) ? failure : real arguments;                                 \
    }

CALL(ssize_t, pread, (int fd, void *data, size_t n, off_t at), (fd, data, n, at), -1)
CALL(ssize_t, writev, (int fd, const struct iovec *parts, int n), (fd, parts, n), -1)
CALL(int, fdatasync, (int fd), (fd), -1)
CALL(int, ftruncate, (int fd, off_t size), (fd, size), -1)
CALL(int, flock, (int fd, int how), (fd, how), -1)
CALL(void *, mmap, (void *at, size_t n, int prot, int flags, int fd, off_t from),
     (at, n, prot, flags, fd, from), MAP_FAILED)

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    static ssize_t (*real)(int, const void *, size_t, off_t);
    if (real == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "pwrite");
        memcpy(&real, &symbol, sizeof symbol);
    }
    if (fails_now("pwrite", false))
        return -1;
    ended += n < FIRST_PAGE && at < 2 * FIRST_PAGE; /* our own writes are larger */
    return real(fd, data, n, at);
}

int open(const char *path, int flags, ...)
{
    static int (*real)(const char *, int, ...);
    if (real == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "open");
        memcpy(&real, &symbol, sizeof symbol);
    }
    return fails_now("open", false) ? -1 : real(path, flags, 0600);
}

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t n);

void *malloc(size_t n)
{
    return fails_now("malloc", true) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails_now("calloc", true) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *block, size_t n)
{
    return fails_now("realloc", true) ? NULL : __libc_realloc(block, n);
}

/* The batches of one writer: its commit merges runs and frees pieces. */
typedef struct work {
    bm_store_doc docs[40];
    const uint64_t *sets[40];
    uint64_t keys[40 * BANDS];
    uint32_t removed[8];
} work;

static void prepare(work *w, model *m, uint64_t *r)
{
    for (uint32_t i = 0; i < 40; i++) {
        model_doc *d = &m->docs[m->n + i];
        model_make(d, m->made++, r);
        w->docs[i] = (bm_store_doc){.id = {d->id, strlen(d->id)},
                                    .content = {d->content, ~d->content},
                                    .text_bytes = d->text_bytes,
                                    .line = d->content >> 40,
                                    .input = (uint32_t)d->content,
                                    .n_shingles = d->n};
        w->sets[i] = d->set;
        memcpy(w->keys + i * BANDS, d->keys, sizeof d->keys);
    }
    m->n += 40;
    for (uint32_t i = 0; i < 8; i++) {
        w->removed[i] = m->n - 3 - 5 * i;
        m->docs[w->removed[i]].removed = true;
    }
    snprintf(m->note, sizeof m->note, "what was added");
}

static bm_status do_work(const work *w, const char *dir, bool *committed, bm_error *err)
{
    const bm_store_cfg cfg = {.mode = BM_STORE_WRITE};
    bm_store *store = NULL;
    bm_status status = bm_store_open(dir, &cfg, &store, err);
    for (uint32_t i = 0; status == BM_OK && i < 4; i++) {
        uint32_t first;
        const bm_store_batch batch = {10, w->docs + 10 * i, w->sets + 10 * i, NULL,
                                      w->keys + 10 * i * BANDS};
        status = bm_store_add(store, &batch, &first, err);
    }
    if (status == BM_OK)
        status = bm_store_remove(store, w->removed, 8, err);
    if (status == BM_OK)
        status = bm_store_note(store, BM_NOTE_INPUTS, (bm_str){"what was added", 14}, err);
    if (status == BM_OK)
        status = bm_store_commit(store, err);
    *committed = status == BM_OK;
    bm_store_close(store);
    return status;
}

/* The files of an index, kept to restore them. */
typedef struct files {
    uint8_t *data, *record;
    size_t size, record_size;
} files;

static files files_of(scratch *s)
{
    files f;
    f.data = (uint8_t *)scratch_get(s, "index/data.mdb", &f.size);
    f.record = (uint8_t *)scratch_get(s, "index/last_commit", &f.record_size);
    return f;
}

static void begin_anew(scratch *s, const files *f)
{
    scratch_put(s, "index/data.mdb", f->data, f->size);
    scratch_put(s, "index/last_commit", f->record, f->record_size);
}

/* The number of calls, each of which failed in its turn. */
static long fail_each_write(int code, bool memory)
{
    SCRATCH s = scratch_open();
    uint64_t r = 21;
    model *before = calloc(1, sizeof *before), *after = malloc(sizeof *after);
    work *w = malloc(sizeof *w);
    long n = 0;
    scratch_folder(&s, "index");
    bm_store *store = model_create(scratch_at(&s, "index"));
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(model_add(before, store, 10, &r, NULL), BM_OK);
        cr_assert_eq(model_remove(before, store, 2, &r, NULL), BM_OK);
        model_commit(store);
    }
    bm_store_close(store);
    files f = files_of(&s);
    *after = *before;
    prepare(w, after, &r);
    long unrecorded = 0;
    bool done;
    ended = 0;
    cr_assert_eq(do_work(w, scratch_at(&s, "index"), &done, NULL), BM_OK);
    const long all_ended = ended;
    cr_assert_gt(all_ended, 0);
    for (bool failed = true; failed; n++) {
        bm_error err = {0};
        bool committed = false;
        char why[200] = "";
        begin_anew(&s, &f);
        const char *dir = scratch_at(&s, "index");
        ended = ended_at_failure = 0;
        plan_call(n, code, memory);
        const bm_status status = do_work(w, dir, &committed, &err);
        plan.armed = false;
        failed = plan.failed;
        cr_assert(status == BM_OK || failed, "call %ld: %s", n, err.message);
        cr_assert(status == BM_OK || err.message[0] != '\0', "call %ld (%s): no words", n,
                  plan.which);
        cr_assert(status == BM_OK || status == (memory ? BM_ERR_NOMEM : BM_ERR_IO) ||
                      (strcmp(plan.which, "mmap") == 0 && status == BM_ERR_FORMAT),
                  "call %ld (%s): status %d: %s", n, plan.which, (int)status, err.message);
        bm_store_view *view = NULL;
        store = model_open(dir, BM_STORE_READ);
        cr_assert_eq(bm_store_view_open(store, &view, NULL), BM_OK);
        /* An unacknowledged commit exists only if LMDB's last transaction ended before its record
         * failed. */
        const bool there = committed || ended_at_failure == all_ended;
        unrecorded += there && !committed;
        cr_assert(model_same(there ? after : before, view, true, why), "call %ld (%s): %s: %s", n,
                  plan.which, err.message, why);
        bm_store_view_close(view);
        bm_store_close(store);
        model_expect_sound(dir);
    }
    cr_log_info("%ld calls, %ld commits without their record", n, unrecorded);
    cr_assert(unrecorded > 0 && unrecorded < n / 2);
    free(before);
    free(after);
    free(f.data);
    free(f.record);
    free(w);
    return n;
}

Test(store_calls, each_call_that_fails_leaves_the_last_commit)
{
    cr_assert_geq(fail_each_write(ENOSPC, false), 20);
    cr_assert_geq(fail_each_write(EIO, false), 20);
}

Test(store_calls, each_allocation_that_fails_leaves_the_last_commit)
{
    cr_assert_gt(fail_each_write(0, true), 100);
}

/* Copies into a new index, as `compact` does: the copy is whole, or there is an error and the first
 * index is as it was. */
static void fail_each_copy(int code, bool memory)
{
    SCRATCH s = scratch_open();
    uint64_t r = 23;
    model *m = calloc(1, sizeof *m), *copied = calloc(1, sizeof *m);
    scratch_folder(&s, "index");
    bm_store *store = model_create(scratch_at(&s, "index"));
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(model_add(m, store, 20, &r, NULL), BM_OK);
        cr_assert_eq(model_remove(m, store, 5, &r, NULL), BM_OK);
        model_commit(store);
    }
    for (uint32_t i = 0; i < m->n; i++)
        if (!m->docs[i].removed)
            copied->docs[copied->n++] = m->docs[i];
    long n = 0;
    for (bool failed = true; failed; n++) {
        const bm_store_cfg cfg = {.mode = BM_STORE_WRITE, .temp_dir = s.root};
        const bm_store_facts facts = model_facts();
        bm_error err = {0};
        bm_store *to = NULL;
        scratch_folder(&s, "new");
        plan_call(n, code, memory);
        bm_status status = bm_store_create(scratch_at(&s, "new"), &facts, &cfg, &to, &err);
        if (status == BM_OK)
            status = bm_store_copy(store, to, &err);
        if (status == BM_OK)
            status = bm_store_commit(to, &err);
        bm_store_close(to);
        plan.armed = false;
        failed = plan.failed;
        cr_assert(status == BM_OK ? true : failed && err.message[0] != '\0', "call %ld (%s): %s", n,
                  plan.which, err.message);
        if (status == BM_OK) {
            to = model_open(scratch_at(&s, "new"), BM_STORE_READ);
            model_check(copied, to, true);
            bm_store_close(to);
            model_expect_sound(scratch_at(&s, "new"));
        }
        unlink(scratch_at(&s, "new/data.mdb"));
        unlink(scratch_at(&s, "new/lock.mdb"));
        unlink(scratch_at(&s, "new/last_commit"));
        cr_assert_eq(rmdir(scratch_at(&s, "new")), 0);
    }
    cr_log_info("%ld calls", n);
    model_check(m, store, true);
    bm_store_close(store);
    free(m);
    free(copied);
}

Test(store_calls, each_call_that_fails_leaves_no_half_copy)
{
    fail_each_copy(EIO, false);
    fail_each_copy(0, true);
}

/* A disk of every size between the present size and the size needed. */
Test(store_calls, a_full_disk_leaves_the_last_commit)
{
    SCRATCH s = scratch_open();
    uint64_t r = 22;
    model *before = calloc(1, sizeof *before), *after = malloc(sizeof *after);
    work *w = malloc(sizeof *w);
    scratch_folder(&s, "index");
    bm_store *store = model_create(scratch_at(&s, "index"));
    cr_assert_eq(model_add(before, store, 10, &r, NULL), BM_OK);
    model_commit(store);
    bm_store_close(store);
    files f = files_of(&s);
    *after = *before;
    prepare(w, after, &r);
    signal(SIGXFSZ, SIG_IGN);
    bool committed = false;
    unsigned refused = 0;
    for (size_t room = f.size - 8192; !committed; room += 2048 + 1) {
        struct rlimit limit;
        bm_error err = {0};
        begin_anew(&s, &f);
        getrlimit(RLIMIT_FSIZE, &limit);
        const rlim_t most = limit.rlim_max;
        limit.rlim_cur = room;
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
        const bm_status status = do_work(w, scratch_at(&s, "index"), &committed, &err);
        limit.rlim_cur = most;
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
        cr_assert(status == BM_OK || status == BM_ERR_IO, "%d: %s", (int)status, err.message);
        cr_assert(status == BM_OK || strstr(err.file, "index") != NULL);
        cr_assert(status == BM_OK || err.code == EFBIG, "%d: %s", (int)err.code, err.message);
        refused += !committed;
        store = model_open(scratch_at(&s, "index"), BM_STORE_READ);
        model_check(committed ? after : before, store, true);
        bm_store_close(store);
        model_expect_sound(scratch_at(&s, "index"));
        cr_assert_lt(room, f.size + (16 << 20));
    }
    cr_log_info("%u sizes of disk refused", refused);
    cr_assert_gt(refused, 10);
    free(before);
    free(after);
    free(f.data);
    free(f.record);
    free(w);
}

/* A disk of 1 MiB in memory, if the test may mount one. LMDB itself only reports an input/output
 * error. */
Test(store_calls, a_disk_that_is_full_is_named_as_the_cause)
{
    SCRATCH s = scratch_open();
    uint64_t r = 31;
    model *m = calloc(1, sizeof *m), *before = malloc(sizeof *before);
    bm_error err = {0};
    bm_status status = BM_OK;
    scratch_folder(&s, "disk");
    if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount("tmpfs", scratch_at(&s, "disk"), "tmpfs", 0, "size=1m") == 0) {
        scratch_folder(&s, "disk/index");
        bm_store *store = model_create(scratch_at(&s, "disk/index"));
        while (status == BM_OK) {
            *before = *m;
            status = model_add(m, store, 100, &r, &err);
            if (status == BM_OK)
                status = bm_store_commit(store, &err);
        }
        bm_store_close(store);
        cr_expect_eq(status, BM_ERR_IO);
        cr_expect_eq(err.code, ENOSPC, "%d", (int)err.code);
        cr_expect(strstr(err.message, strerror(ENOSPC)) != NULL, "%s", err.message);
        store = model_open(scratch_at(&s, "disk/index"), BM_STORE_READ);
        model_check(before, store, true);
        bm_store_close(store);
        cr_expect_eq(umount(scratch_at(&s, "disk")), 0);
    }
    free(m);
    free(before);
}
