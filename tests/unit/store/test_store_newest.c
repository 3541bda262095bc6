/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_newest.c -- a reader detects that another process has committed, and that another
 * index has replaced its own at the path. */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/store/store_model.h"

#include "tests/world/scratch.h"

#define GROWN ((size_t)40 << 20)

static bm_store *open_store(const char *dir, bm_store_mode mode)
{
    const bm_store_cfg cfg = {.mode = mode, .look_ups = mode == BM_STORE_READ};
    bm_store *store = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_store_open(dir, &cfg, &store, &err), BM_OK, "%s: %s", err.file, err.message);
    return store;
}

static void create(const char *dir)
{
    const bm_store_cfg cfg = {.mode = BM_STORE_WRITE};
    const bm_store_facts facts = model_facts();
    bm_store *store = NULL;
    cr_assert_eq(bm_store_create(dir, &facts, &cfg, &store, NULL), BM_OK);
    cr_assert_eq(bm_store_commit(store, NULL), BM_OK);
    bm_store_close(store);
}

Test(store_newest, a_commit_is_noticed_and_nothing_else)
{
    SCRATCH s = scratch_open();
    scratch_folder(&s, "index");
    create(scratch_at(&s, "index"));
    bm_store *store = open_store(scratch_at(&s, "index"), BM_STORE_READ);
    bm_store_view *view = NULL, *next = NULL;
    cr_assert_eq(bm_store_view_open(store, &view, NULL), BM_OK);
    cr_expect(bm_store_view_is_last(view));
    pid_t child = fork(); /* a process may open an environment only once */
    if (child == 0) {
        bm_store *writer = open_store(scratch_at(&s, "index"), BM_STORE_WRITE);
        const bm_str much = {calloc(1, GROWN), GROWN}; /* the file grows to many times its size */
        _exit(bm_store_note(writer, BM_NOTE_ADDS, much, NULL) != BM_OK ||
              bm_store_commit(writer, NULL) != BM_OK);
    }
    int how;
    cr_assert_eq(waitpid(child, &how, 0), child);
    cr_assert_eq(how, 0);
    cr_expect_not(bm_store_view_is_last(view));
    cr_assert_eq(bm_store_view_open(store, &next, NULL), BM_OK);
    cr_expect(bm_store_view_is_last(next));
    cr_expect_eq(bm_store_view_note(next, BM_NOTE_ADDS).len, GROWN);
    cr_expect_not(bm_store_is_replaced(store));
    bm_store_view_close(view);
    bm_store_view_close(next);
    bm_store_close(store);
}

Test(store_newest, another_index_at_the_path_is_noticed)
{
    SCRATCH s = scratch_open();
    char other[4096];
    scratch_folder(&s, "index");
    scratch_folder(&s, "other");
    create(scratch_at(&s, "index"));
    create(scratch_at(&s, "other"));
    bm_store *store = open_store(scratch_at(&s, "index"), BM_STORE_READ);
    cr_expect_not(bm_store_is_replaced(store));
    snprintf(other, sizeof other, "%s", scratch_at(&s, "gone"));
    cr_assert_eq(rename(scratch_at(&s, "index"), other), 0);
    cr_expect_not(bm_store_is_replaced(store)); /* nothing is at the path */
    snprintf(other, sizeof other, "%s", scratch_at(&s, "other"));
    cr_assert_eq(rename(other, scratch_at(&s, "index")), 0);
    cr_expect(bm_store_is_replaced(store));
    bm_store_close(store);
}
