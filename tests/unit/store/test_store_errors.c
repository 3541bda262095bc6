/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_errors.c -- folders that are not an index, calls that are not allowed, writes that are
 * interrupted: an error names the cause, and nothing changes. */
#include "tests/unit/store/store_model.h"

#include <lmdb.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/threads.h"
#include "tests/world/scratch.h"
#include "tests/world/world_calls.h"

static bm_status try_open(const char *dir, bm_store_mode mode, bm_error *err)
{
    const bm_store_cfg cfg = {.mode = mode};
    bm_store *store = NULL;
    const bm_status status = bm_store_open(dir, &cfg, &store, err);
    bm_store_close(store);
    return status;
}

static bool is_index(const char *dir)
{
    bool is = false;
    bm_error err = {0};
    cr_assert_eq(bm_store_is(dir, &is, &err), BM_OK, "%s", err.message);
    return is;
}

Test(store_errors, what_is_no_index_is_refused_by_name)
{
    SCRATCH s = scratch_open();
    scratch_folder(&s, "empty");
    scratch_folder(&s, "text");
    scratch_folder(&s, "zeros");
    scratch_put_text(&s, "text/data.mdb", "no index");
    scratch_put_text(&s, "file", "text");
    char *zeros = calloc(1, 20000);
    scratch_put(&s, "zeros/data.mdb", zeros, 20000);
    free(zeros);
    static const struct {
        const char *name;
        bm_status status;
    } cases[] = {{"none", BM_ERR_IO},
                 {"file", BM_ERR_IO},
                 {"empty", BM_ERR_FORMAT},
                 {"text", BM_ERR_FORMAT},
                 {"zeros", BM_ERR_FORMAT}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int mode = 0; mode < 2; mode++) {
            bm_error err = {0};
            const char *dir = scratch_at(&s, cases[i].name);
            cr_assert_eq(try_open(dir, (bm_store_mode)mode, &err), cases[i].status, "%s: %s",
                         cases[i].name, err.message);
            cr_assert_eq(strncmp(err.file, dir, strlen(dir)), 0, "%s: %s", dir, err.file);
            cr_assert(err.message[0] != '\0');
            cr_assert_not(is_index(dir));
        }
}

/* An LMDB environment of another program, and an index that was never committed. */
Test(store_errors, an_environment_without_a_state_is_no_index)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    MDB_env *env = NULL;
    MDB_txn *txn = NULL;
    MDB_dbi table;
    scratch_folder(&s, "other");
    scratch_folder(&s, "unfinished");
    cr_assert_eq(mdb_env_create(&env), 0);
    cr_assert_eq(mdb_env_open(env, scratch_at(&s, "other"), 0, 0666), 0);
    for (int key = 0; key < 2; key++) {
        MDB_val k = {2, key == 0 ? "no" : "ok"}, v = {5, "value"};
        cr_assert_eq(mdb_txn_begin(env, NULL, 0, &txn), 0);
        cr_assert_eq(mdb_dbi_open(txn, NULL, 0, &table), 0);
        cr_assert_eq(mdb_put(txn, table, &k, &v, 0), 0);
        cr_assert_eq(mdb_txn_commit(txn), 0);
    }
    mdb_env_close(env);
    bm_store *store = model_create(scratch_at(&s, "unfinished"));
    bm_store_close(store);
    for (int mode = 0; mode < 2; mode++) {
        cr_assert_eq(try_open(scratch_at(&s, "other"), (bm_store_mode)mode, &err), BM_ERR_FORMAT);
        cr_assert_eq(try_open(scratch_at(&s, "unfinished"), (bm_store_mode)mode, &err),
                     BM_ERR_FORMAT);
        cr_assert_not_null(strstr(err.message, "not finished"), "%s", err.message);
    }
}

Test(store_errors, an_index_is_told_and_is_not_made_twice)
{
    SCRATCH s = scratch_open();
    scratch_folder(&s, "index");
    bm_store *store = model_create(scratch_at(&s, "index"));
    model_commit(store);
    bm_error err = {0};
    bm_store *again = NULL;
    const bm_store_cfg cfg = {.mode = BM_STORE_WRITE};
    const bm_store_facts facts = model_facts();
    cr_assert_eq(bm_store_create(scratch_at(&s, "index"), &facts, &cfg, &again, &err),
                 BM_ERR_LOCKED);
    bm_store_close(store);
    cr_assert_eq(bm_store_create(scratch_at(&s, "index"), &facts, &cfg, &again, &err),
                 BM_ERR_USAGE);
    cr_assert_not_null(strstr(err.file, "index"));
    cr_assert(is_index(scratch_at(&s, "index")));
}

static bool after_some(void *ctx)
{
    int *left = ctx;
    return (*left)-- <= 0;
}

/* A commit that merges, and a copy, each interrupted at every possible point. */
Test(store_errors, what_is_broken_off_has_changed_nothing)
{
    SCRATCH s = scratch_open();
    uint64_t r = 31;
    model *before = calloc(1, sizeof *before), *after = malloc(sizeof *after);
    scratch_folder(&s, "index");
    bm_store *store = model_create(scratch_at(&s, "index"));
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(model_add(before, store, 8, &r, NULL), BM_OK);
        model_commit(store);
    }
    bm_store_close(store);
    unsigned broken = 0;
    for (int left = 0;; left++) {
        int count = left;
        bm_error err = {0};
        const bm_store_cfg cfg = {
            .mode = BM_STORE_WRITE, .cancelled = after_some, .cancelled_ctx = &count};
        *after = *before;
        cr_assert_eq(bm_store_open(scratch_at(&s, "index"), &cfg, &store, &err), BM_OK);
        bm_status status = BM_OK;
        for (int i = 0; status == BM_OK && i < 4; i++)
            status = model_add(after, store, 9, &r, &err);
        if (status == BM_OK)
            status = bm_store_commit(store, &err);
        if (status != BM_OK) { /* the error persists */
            cr_assert_eq(status, BM_ERR_CANCELLED);
            cr_assert_eq(bm_store_commit(store, &err), BM_ERR_CANCELLED);
            cr_assert_eq(bm_store_remove(store, (uint32_t[]){0}, 1, &err), BM_ERR_CANCELLED);
        }
        bm_store_close(store);
        store = model_open(scratch_at(&s, "index"), BM_STORE_READ);
        model_check(status == BM_OK ? after : before, store, true);
        bm_store_close(store);
        model_expect_sound(scratch_at(&s, "index"));
        if (status == BM_OK)
            break;
        broken++;
    }
    cr_assert_gt(broken, 8);
    free(before);
    free(after);
}

Test(store_errors, what_is_not_there_cannot_be_removed)
{
    SCRATCH s = scratch_open();
    uint64_t r = 32;
    model *m = calloc(1, sizeof *m);
    scratch_folder(&s, "index");
    bm_store *store = model_create(scratch_at(&s, "index"));
    cr_assert_eq(model_add(m, store, 8, &r, NULL), BM_OK);
    model_commit(store);
    bm_store_close(store);
    static const uint32_t twice[2] = {3, 3}, none[1] = {8};
    for (int i = 0; i < 2; i++) {
        bm_error err = {0};
        store = model_open(scratch_at(&s, "index"), BM_STORE_WRITE);
        cr_assert_eq(bm_store_remove(store, i == 0 ? twice : none, i == 0 ? 2 : 1, &err),
                     BM_ERR_INTERNAL);
        bm_store_close(store);
    }
    store = model_open(scratch_at(&s, "index"), BM_STORE_READ);
    uint32_t first;
    const bm_store_batch batch = {0};
    cr_assert_eq(bm_store_add(store, &batch, &first, NULL), BM_ERR_INTERNAL);
    cr_assert_eq(bm_store_commit(store, NULL), BM_ERR_INTERNAL);
    model_check(m, store, true);
    bm_store_close(store);
    free(m);
}

/* Signatures are stored instead of sets; and the check runs on several threads. */
Test(store_errors, signatures_come_back)
{
    enum { N = 3000, WORDS = 6 };
    SCRATCH s = scratch_open();
    uint64_t r = 33;
    scratch_folder(&s, "index");
    const bm_store_cfg cfg = {.mode = BM_STORE_WRITE, .temp_dir = s.root};
    const bm_store_facts facts = {.kind = BM_STORE_SIGNATURES, .bands = 2, .words = WORDS};
    bm_store *store = NULL;
    bm_error err = {0};
    bm_store_doc *docs = calloc(N, sizeof *docs);
    char(*ids)[12] = calloc(N, sizeof *ids);
    uint32_t *words = calloc(N * WORDS, sizeof *words), got[WORDS], first;
    uint64_t *keys = calloc(N * 2, sizeof *keys);
    for (uint32_t i = 0; i < N; i++) {
        snprintf(ids[i], sizeof ids[i], "s%" PRIu32, i);
        docs[i] = (bm_store_doc){.id = {ids[i], strlen(ids[i])}, .n_shingles = i % 9};
        for (uint32_t w = 0; w < WORDS; w++)
            words[i * WORDS + w] = (uint32_t)world_random(&r);
        keys[2 * i] = keys[2 * i + 1] = world_random(&r);
    }
    const bm_store_batch batch = {N, docs, NULL, words, keys};
    cr_assert_eq(bm_store_create(scratch_at(&s, "index"), &facts, &cfg, &store, &err), BM_OK);
    cr_assert_eq(bm_store_add(store, &batch, &first, &err), BM_OK, "%s", err.message);
    cr_assert_eq(bm_store_commit(store, &err), BM_OK, "%s", err.message);
    bm_store_view *view = world_open(bm_store_view, store);
    cr_assert(bm_store_view_is_last(view));
    for (uint32_t i = 0; i < N; i++) {
        bm_store_doc doc;
        cr_assert_eq(bm_store_view_doc(view, i, &doc, NULL), BM_OK);
        cr_assert_eq(bm_store_doc_words(&doc, got, WORDS, NULL), BM_OK);
        cr_assert_eq(memcmp(got, words + i * WORDS, sizeof got), 0);
        cr_assert_eq(bm_store_doc_words(&doc, got, WORDS - 1, &err), BM_ERR_FORMAT);
    }
    cr_assert_eq(bm_store_remove(store, (uint32_t[]){5}, 1, NULL), BM_OK);
    cr_assert_eq(bm_store_commit(store, NULL), BM_OK);
    cr_assert_not(bm_store_view_is_last(view));
    bm_store_view_close(view);
    bm_store_close(store);
    bm_pool *pool = world_open(bm_pool, 3);
    const bm_store_check_cfg check = {.pool = pool, .report = model_say};
    cr_assert_eq(bm_store_check(scratch_at(&s, "index"), &check, &err), BM_OK, "%s", err.message);
    bm_pool_close(pool);
    free(docs);
    free(ids);
    free(words);
    free(keys);
}
