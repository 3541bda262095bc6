/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_processes.c -- readers and writers next to a writer, and processes that are killed. */
#include "tests/unit/store/store_model.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "base/threads.h"
#include "tests/world/scratch.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_text.h"

/* Memory shared by parent and child. */
typedef struct shared {
    model models[2]; /* commit number c is models[c % 2] */
    volatile uint64_t begun, done;
    volatile int step;
} shared;

static shared *share(void)
{
    void *at =
        mmap(NULL, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(at, MAP_FAILED);
    return at;
}

static void wait_for(const shared *both, int step)
{
    for (int i = 0; both->step < step && i < 240000; i++) /* two minutes at least */
        usleep(500);
    cr_assert_geq(both->step, step);
}

static void expect_exit(pid_t child)
{
    int how = -1;
    cr_assert_eq(waitpid(child, &how, 0), child);
    cr_assert(WIFEXITED(how) && WEXITSTATUS(how) == 0, "%x", (unsigned)how);
}

static bm_status try_open(const char *dir, bm_store_mode mode, bm_store **out, bm_error *err)
{
    const bm_store_cfg cfg = {.mode = mode};
    return bm_store_open(dir, &cfg, out, err);
}

static model *new_index(scratch *s, uint64_t *r, uint32_t n)
{
    model *m = calloc(1, sizeof *m);
    *s = scratch_open();
    scratch_folder(s, "index");
    bm_store *store = model_create(scratch_at(s, "index"));
    cr_assert_eq(model_add(m, store, n, r, NULL), BM_OK);
    model_commit(store);
    bm_store_close(store);
    return m;
}

/* Adds, removes and commits, k times. */
static void go_on(model *m, bm_store *store, uint64_t *r, int k)
{
    for (int i = 0; i < k; i++) {
        cr_assert_eq(model_add(m, store, 1 + world_below(r, 30), r, NULL), BM_OK);
        cr_assert_eq(model_remove(m, store, world_below(r, 20), r, NULL), BM_OK);
        model_commit(store);
    }
}

Test(store_processes, views_of_a_writer_stay_as_they_were)
{
    SCRATCH s;
    uint64_t r = 1;
    model *m = new_index(&s, &r, 50), *before = malloc(sizeof *m), *between = malloc(sizeof *m);
    bm_store *store = model_open(scratch_at(&s, "index"), BM_STORE_WRITE);
    bm_store_view *first = NULL, *second = NULL;
    char why[200] = "";
    *before = *m;
    cr_assert_eq(bm_store_view_open(store, &first, NULL), BM_OK);
    go_on(m, store, &r, 10);
    cr_assert_eq(model_add(m, store, 20, &r, NULL), BM_OK); /* not committed */
    *between = *m;
    cr_assert_eq(bm_store_view_open(store, &second, NULL), BM_OK);
    go_on(m, store, &r, 30);
    cr_assert(model_same(before, first, true, why), "%s", why);
    cr_assert(model_same(between, second, true, why), "%s", why);
    bm_store_view_close(first);
    bm_store_view_close(second);
    model_check(m, store, true);
    bm_store_close(store);
    model_expect_sound(scratch_at(&s, "index"));
    free(m);
    free(before);
    free(between);
}

Test(store_processes, a_reader_keeps_its_state_beside_a_writer)
{
    SCRATCH s;
    uint64_t r = 2;
    model *m = new_index(&s, &r, 80);
    shared *both = share();
    both->models[0] = *m;
    const pid_t child = fork();
    if (child == 0) { /* checks, waits, and checks again */
        char why[200] = "";
        bm_store_view *old = NULL, *new = NULL;
        bm_store *store = model_open(scratch_at(&s, "index"), BM_STORE_READ);
        cr_assert_eq(bm_store_view_open(store, &old, NULL), BM_OK);
        both->step = 1;
        wait_for(both, 2);
        cr_assert(model_same(&both->models[0], old, true, why), "%s", why);
        cr_assert_eq(bm_store_view_open(store, &new, NULL), BM_OK);
        cr_assert(model_same(&both->models[1], new, true, why), "%s", why);
        bm_store_view_close(old);
        bm_store_view_close(new);
        bm_store_close(store);
        _exit(0);
    }
    wait_for(both, 1);
    bm_store *store = model_open(scratch_at(&s, "index"), BM_STORE_WRITE);
    go_on(m, store, &r, 60);
    both->models[1] = *m;
    both->step = 2;
    expect_exit(child);
    bm_store_close(store);
    model_expect_sound(scratch_at(&s, "index"));
    free(m);
}

/* One store in which threads open views, check and close them. */
typedef struct lookers {
    bm_store *store;
    const shared *both;
} lookers;

static bm_status look(void *ctx, uint32_t thread, bm_error *err)
{
    const lookers *l = ctx;
    (void)thread;
    while (l->both->step < 2) {
        bm_store_view *view = NULL;
        const bm_status status = bm_store_view_open(l->store, &view, err);
        if (status != BM_OK)
            return status;
        const bm_store_counts counts = bm_store_view_counts(view);
        for (uint32_t i = 0; i < counts.next_number; i += 7) {
            bm_store_doc doc;
            uint32_t found;
            if (bm_store_view_doc(view, i, &doc, err) == BM_OK)
                cr_assert(bm_store_view_id(view, doc.id, &found, err) == BM_OK && found == i);
        }
        bm_store_view_close(view);
    }
    return BM_OK;
}

Test(store_processes, threads_open_views_beside_a_writer)
{
    SCRATCH s;
    uint64_t r = 12;
    model *m = new_index(&s, &r, 80);
    shared *both = share();
    const pid_t child = fork();
    if (child == 0) {
        bm_error err = {0};
        lookers l = {model_open(scratch_at(&s, "index"), BM_STORE_READ), both};
        bm_pool *pool = world_open(bm_pool, 3);
        both->step = 1;
        cr_assert_eq(bm_pool_run(pool, look, &l, &err), BM_OK, "%s", err.message);
        bm_pool_close(pool);
        bm_store_close(l.store);
        _exit(0);
    }
    wait_for(both, 1);
    bm_store *store = model_open(scratch_at(&s, "index"), BM_STORE_WRITE);
    go_on(m, store, &r, 80);
    both->step = 2;
    expect_exit(child);
    bm_store_close(store);
    free(m);
}

Test(store_processes, a_second_writer_is_told_that_it_is_locked)
{
    SCRATCH s;
    uint64_t r = 3;
    model *m = new_index(&s, &r, 10);
    bm_store *store = model_open(scratch_at(&s, "index"), BM_STORE_WRITE);
    const pid_t child = fork();
    if (child == 0) {
        bm_error err = {0};
        bm_store *other = NULL;
        _exit(try_open(scratch_at(&s, "index"), BM_STORE_WRITE, &other, &err) == BM_ERR_LOCKED &&
                      other == NULL && strstr(err.file, "index") != NULL
                  ? 0
                  : 1);
    }
    expect_exit(child);
    bm_store_close(store);
    store = model_open(scratch_at(&s, "index"), BM_STORE_WRITE);
    bm_store_close(store);
    free(m);
}

/* A child that commits until it is killed; it puts each model into `both` before the commit. */
static void write_for_ever(const char *dir, shared *both, uint64_t seed)
{
    uint64_t r = seed;
    bm_store *store = model_open(dir, BM_STORE_WRITE);
    model *m = malloc(sizeof *m);
    *m = both->models[both->done % 2];
    for (;;) {
        if (m->n > DOCS - 400)
            _exit(0);
        const uint64_t batches = world_below(&r, 4);
        for (uint64_t i = 0; i < batches; i++)
            cr_assert_eq(model_add(m, store, world_below(&r, 60), &r, NULL), BM_OK);
        cr_assert_eq(model_remove(m, store, world_below(&r, 40), &r, NULL), BM_OK);
        snprintf(m->note, sizeof m->note, "%" PRIu64, both->done);
        cr_assert_eq(bm_store_note(store, BM_NOTE_INPUTS, world_str(m->note), NULL), BM_OK);
        both->models[(both->done + 1) % 2] = *m;
        both->begun = both->done + 1;
        model_commit(store);
        both->done = both->begun;
    }
}

static void copy_file(const char *from, const char *to)
{
    static char bytes[65536];
    const int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    cr_assert(in >= 0 && out >= 0);
    for (ssize_t n; (n = read(in, bytes, sizeof bytes)) > 0;) {
        cr_assert_eq(write(out, bytes, (size_t)n), n);
        usleep(200);
    }
    close(in);
    close(out);
}

static void count(void *ctx, const char *what)
{
    (void)what;
    ++*(unsigned *)ctx;
}

/* A copy taken during writes is complete, or the check reports that it is not. */
Test(store_processes, a_copy_of_an_index_that_is_written_is_checked)
{
    SCRATCH s;
    uint64_t r = 13;
    model *m = new_index(&s, &r, 400);
    shared *both = share();
    unsigned damaged = 0;
    scratch_folder(&s, "copy");
    both->models[0] = *m;
    const pid_t child = fork();
    if (child == 0)
        write_for_ever(scratch_at(&s, "index"), both, 77);
    for (int i = 0; i < 12; i++) {
        unsigned n = 0;
        const bm_store_check_cfg cfg = {.report = count, .ctx = &n};
        copy_file(scratch_at(&s, "index/last_commit"), scratch_at(&s, "copy/last_commit"));
        copy_file(scratch_at(&s, "index/data.mdb"), scratch_at(&s, "copy/data.mdb"));
        const bm_status status = bm_store_check(scratch_at(&s, "copy"), &cfg, NULL);
        cr_assert(status == (n > 0 ? BM_ERR_FORMAT : BM_OK), "%d", (int)status);
        damaged += n > 0;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    cr_log_info("%u of 12 copies are damaged", damaged);
    free(m);
}

/* An interrupted writer has filled the last piece with documents; the next writer continues after
 * those of the last commit, which end in the middle of that piece. */
Test(store_processes, a_full_piece_of_an_interrupted_writer_ends_at_the_last_commit)
{
    SCRATCH s;
    uint64_t r = 29;
    model *m = new_index(&s, &r, 700), *lost = malloc(sizeof *lost);
    memcpy(lost, m, sizeof *lost);
    bm_store *store = model_open(scratch_at(&s, "index"), BM_STORE_WRITE);
    char why[200] = "";
    cr_assert_eq(model_add(lost, store, 2000, &r, NULL), BM_OK);
    bm_store_view *view = world_open(bm_store_view, store); /* the documents are in the file */
    bm_store_view_close(view);
    bm_store_close(store);
    store = model_open(scratch_at(&s, "index"), BM_STORE_WRITE);
    cr_assert_eq(model_add(m, store, 5, &r, NULL), BM_OK);
    model_commit(store);
    cr_assert_eq(bm_store_view_open(store, &view, NULL), BM_OK);
    cr_assert(model_same(m, view, true, why), "%s", why);
    bm_store_view_close(view);
    bm_store_close(store);
    model_expect_sound(scratch_at(&s, "index"));
    free(lost);
    free(m);
}

/* BANDMILL_TEST_KILLS: the number of kills, 40 by default. */
Test(store_processes, what_was_committed_survives_kills)
{
    const char *given = getenv("BANDMILL_TEST_KILLS");
    const int kills = given != NULL ? atoi(given) : 40;
    scratch s;
    uint64_t r = 4;
    model *m = new_index(&s, &r, 20);
    shared *both = share();
    uint64_t done = 0, in_between = 0;
    both->models[0] = *m;
    for (int i = 0; i < kills; i++) {
        const pid_t child = fork();
        if (child == 0)
            write_for_ever(scratch_at(&s, "index"), both, 1000 + (uint64_t)i);
        /* Every fourth child must commit before it is killed, however slow the disk is. */
        for (int j = 0; i % 4 == 3 && both->done == done && j < 240000; j++)
            usleep(500);
        usleep((useconds_t)world_below(&r, 12000));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        char why[200] = "";
        bm_store *store = model_open(scratch_at(&s, "index"), BM_STORE_READ);
        bm_store_view *view = world_open(bm_store_view, store);
        if (both->begun != both->done &&
            model_same(&both->models[both->begun % 2], view, true, why)) {
            both->done = both->begun;
            in_between++;
        }
        cr_assert(model_same(&both->models[both->done % 2], view, true, why), "kill %d: %s", i,
                  why);
        bm_store_view_close(view);
        bm_store_close(store);
        both->begun = both->done;
        done = both->done;
        if (i % 8 == 0)
            model_expect_sound(scratch_at(&s, "index"));
        if (both->models[done % 2].n > DOCS - 1000) { /* nearly full: start with a new index */
            scratch_close(&s);
            free(m);
            m = new_index(&s, &r, 20);
            both->models[done % 2] = *m;
        }
    }
    cr_log_info("%d kills, %" PRIu64 " commits, %" PRIu64 " made and not acknowledged", kills, done,
                in_between);
    cr_assert_gt(done, 0);
    model_expect_sound(scratch_at(&s, "index"));
    free(m);
    scratch_close(&s);
}

/* The slot of a killed reader must not retain pages: otherwise the file grows for ever. */
Test(store_processes, a_killed_reader_is_forgotten)
{
    SCRATCH s;
    uint64_t r = 5;
    model *m = new_index(&s, &r, 40);
    shared *both = share();
    const pid_t child = fork();
    if (child == 0) {
        bm_store *store = model_open(scratch_at(&s, "index"), BM_STORE_READ);
        (void)world_open(bm_store_view, store);
        both->step = 1;
        for (;;)
            pause();
    }
    wait_for(both, 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    bm_store *store = model_open(scratch_at(&s, "index"), BM_STORE_WRITE);
    uint64_t bytes[2];
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < 60; i++) {
            char text[9000];
            memset(text, 'a' + i % 20, sizeof text);
            cr_assert_eq(bm_store_note(store, BM_NOTE_ADDS, (bm_str){text, sizeof text}, NULL),
                         BM_OK);
            model_commit(store);
        }
        bm_store_view *view = world_open(bm_store_view, store);
        bytes[half] = bm_store_view_counts(view).file_bytes;
        bm_store_view_close(view);
    }
    cr_assert_leq(bytes[1], bytes[0] + (64 << 10), "%" PRIu64 " and then %" PRIu64, bytes[0],
                  bytes[1]);
    bm_store_close(store);
    free(m);
}

/* Runs in a child without rights to lock.mdb; 0: everything is right. */
static int read_without_lock(const model *m, shared *both)
{
    char why[200] = "";
    bm_error err = {0};
    bm_store *store = NULL;
    bm_store_view *view = NULL;
    if (geteuid() == 0 && seteuid(65534) != 0)
        return 10;
    wait_for(both, 1);
    if (open("index/lock.mdb", O_RDWR) >= 0)
        return 11;
    if (try_open("index", BM_STORE_READ, &store, &err) != BM_ERR_LOCKED) /* a writer is active */
        return 12;
    both->step = 2;
    wait_for(both, 3);
    if (try_open("index", BM_STORE_READ, &store, &err) != BM_OK ||
        bm_store_view_open(store, &view, &err) != BM_OK || !model_same(m, view, true, why))
        return 13;
    both->step = 4;
    wait_for(both, 5);
    bm_store_view_close(view);
    bm_store_close(store);
    return 0;
}

Test(store_processes, a_reader_that_may_not_lock_holds_writers_off)
{
    SCRATCH s;
    uint64_t r = 6;
    model *m = new_index(&s, &r, 40);
    shared *both = share();
    bm_store *store, *other = NULL;
    bm_error err = {0};
    cr_assert_eq(chmod(s.root, 0755), 0);
    cr_assert_eq(chmod(scratch_at(&s, "index"), 0755), 0);
    cr_assert_eq(chmod(scratch_at(&s, "index/data.mdb"), 0644), 0);
    cr_assert_eq(chdir(s.root), 0);
    const pid_t child = fork();
    if (child == 0)
        _exit(read_without_lock(m, both));
    store = model_open("index", BM_STORE_WRITE); /* after the fork, since a child inherits locks */
    cr_assert_eq(chmod("index/lock.mdb", geteuid() == 0 ? 0600 : 0400), 0);
    both->step = 1;
    wait_for(both, 2);
    bm_store_close(store);
    both->step = 3;
    wait_for(both, 4);
    if (geteuid() == 0) /* only root may write */
        cr_assert_eq(try_open("index", BM_STORE_WRITE, &other, &err), BM_ERR_LOCKED);
    both->step = 5;
    expect_exit(child);
    cr_assert_eq(chmod(scratch_at(&s, "index/lock.mdb"), 0600), 0);
    cr_assert_eq(try_open("index", BM_STORE_WRITE, &other, &err), BM_OK, "%s", err.message);
    bm_store_close(other);
    cr_assert_eq(chdir("/"), 0);
    free(m);
}

/* 0: right; 77: mounts are not allowed here; else the number of the failed step. */
static int read_on_read_only(const char *dir, const model *m)
{
    char why[200] = "";
    bm_error err = {0};
    bm_store *store = NULL;
    bm_store_view *view = NULL;
    if (unshare(CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(dir, dir, NULL, MS_BIND, NULL) != 0 ||
        mount(NULL, dir, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) != 0)
        return 77;
    if (try_open(dir, BM_STORE_WRITE, &store, &err) == BM_OK)
        return 1;
    if (try_open(dir, BM_STORE_READ, &store, &err) != BM_OK ||
        bm_store_view_open(store, &view, &err) != BM_OK || !model_same(m, view, true, why))
        return 2;
    bm_store_view_close(view);
    bm_store_close(store);
    return 0;
}

Test(store_processes, a_read_only_file_system_is_read)
{
    SCRATCH s;
    uint64_t r = 7;
    model *m = new_index(&s, &r, 40);
    for (int lock = 0; lock < 2; lock++) { /* with and without a lock.mdb */
        const pid_t child = fork();
        if (child == 0)
            _exit(read_on_read_only(scratch_at(&s, "index"), m));
        int how = -1;
        cr_assert_eq(waitpid(child, &how, 0), child);
        cr_assert(WIFEXITED(how) && (WEXITSTATUS(how) == 0 || WEXITSTATUS(how) == 77), "%d %x",
                  lock, (unsigned)how);
        if (lock == 0)
            cr_assert_eq(unlink(scratch_at(&s, "index/lock.mdb")), 0);
    }
    free(m);
}

/* 0: right; 77: mounts are not allowed here; else the number of the failed step. */
static int read_on_full(const char *dir, const char *at, const model *m)
{
    char why[200] = "", path[400], room[4096] = {1};
    bm_error err = {0};
    bm_store *store = NULL;
    bm_store_view *view = NULL;
    if (unshare(CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", at, "tmpfs", 0, "size=4m") != 0)
        return 77;
    snprintf(path, sizeof path, "%s/data.mdb", dir);
    snprintf(why, sizeof why, "%s/data.mdb", at);
    copy_file(path, why);
    snprintf(path, sizeof path, "%s/last_commit", dir);
    snprintf(why, sizeof why, "%s/last_commit", at);
    copy_file(path, why);
    snprintf(path, sizeof path, "%s/full", at);
    const int fd = open(path, O_WRONLY | O_CREAT, 0666);
    while (write(fd, room, sizeof room) > 0)
        ;
    close(fd);
    if (errno != ENOSPC)
        return 1;
    if (try_open(at, BM_STORE_READ, &store, &err) != BM_OK ||
        bm_store_view_open(store, &view, &err) != BM_OK || !model_same(m, view, true, why))
        return 2;
    bm_store_view_close(view);
    bm_store_close(store);
    snprintf(path, sizeof path, "%s/lock.mdb", at);
    return access(path, F_OK) == 0 ? 3 : 0;
}

Test(store_processes, a_full_disk_without_a_lock_file_is_read)
{
    SCRATCH s;
    uint64_t r = 15;
    model *m = new_index(&s, &r, 40);
    scratch_folder(&s, "full");
    const pid_t child = fork();
    if (child == 0)
        _exit(read_on_full(scratch_at(&s, "index"), scratch_at(&s, "full"), m));
    int how = -1;
    cr_assert_eq(waitpid(child, &how, 0), child);
    cr_assert(WIFEXITED(how) && (WEXITSTATUS(how) == 0 || WEXITSTATUS(how) == 77), "%x",
              (unsigned)how);
    free(m);
}

/* If one user replaces lock.mdb by a link, a reader that is another user must not write to the
 * link's target. */
Test(store_processes, an_index_of_another_user_is_read_without_its_lock_file)
{
    scratch s;
    uint64_t r = 16;
    model *m = new_index(&s, &r, 40);
    bm_store *other = NULL;
    bm_error err = {0};
    struct stat before, after;
    if (geteuid() != 0) {
        free(m);
        scratch_close(&s);
        cr_skip_test("only root can give an index to another user");
    }
    /* the directory, then the lock file, belongs to another user */
    for (int which = 0; which < 2; which++) {
        cr_assert_eq(chown(scratch_at(&s, "index"), which == 0 ? 65534 : 0, (gid_t)-1), 0);
        cr_assert_eq(chown(scratch_at(&s, "index/lock.mdb"), which == 1 ? 65534 : 0, (gid_t)-1), 0);
        cr_assert_eq(stat(scratch_at(&s, "index/lock.mdb"), &before), 0);
        bm_store *store = model_open(scratch_at(&s, "index"), BM_STORE_READ);
        model_check(m, store, true);
        const pid_t child = fork();
        if (child == 0)
            _exit(try_open(scratch_at(&s, "index"), BM_STORE_WRITE, &other, &err) == BM_ERR_LOCKED
                      ? 0
                      : 1);
        expect_exit(child);
        bm_store_close(store);
        cr_assert_eq(stat(scratch_at(&s, "index/lock.mdb"), &after), 0);
        cr_expect(before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
                  before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
    }
    free(m);
    scratch_close(&s);
}

/* `compact` exchanges directories: a reader that has the old one open goes on with it, and the next
 * open gets the new one. */
Test(store_processes, an_index_that_took_the_place_of_another_is_opened)
{
    SCRATCH s;
    uint64_t r = 8;
    model *m = new_index(&s, &r, 40), *old = malloc(sizeof *m);
    *old = *m;
    shared *both = share();
    const pid_t child = fork();
    if (child == 0) {
        bm_store *store = model_open(scratch_at(&s, "index"), BM_STORE_READ);
        both->step = 1;
        wait_for(both, 2);
        model_check(old, store, true);
        bm_store_close(store);
        store = model_open(scratch_at(&s, "index"), BM_STORE_READ);
        model_check(&both->models[0], store, true);
        bm_store_close(store);
        _exit(0);
    }
    wait_for(both, 1);
    bm_store *from = model_open(scratch_at(&s, "index"), BM_STORE_WRITE);
    cr_assert_eq(model_add(m, from, 9, &r, NULL), BM_OK);
    scratch_folder(&s, "new");
    bm_store *to = model_create(scratch_at(&s, "new"));
    cr_assert_eq(bm_store_copy(from, to, NULL), BM_OK);
    model_commit(to);
    both->models[0] = *m;
    cr_assert_eq(renameat2(AT_FDCWD, scratch_at(&s, "new"), AT_FDCWD, scratch_at(&s, "index"),
                           RENAME_EXCHANGE),
                 0);
    bm_store_close(from);
    bm_store_close(to);
    both->step = 2;
    expect_exit(child);
    bm_store *store = model_open(scratch_at(&s, "index"), BM_STORE_WRITE);
    model_check(m, store, true);
    bm_store_close(store);
    free(m);
    free(old);
}
