/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_model.c -- thousands of random operations, after each of which the index answers as
 * plain arrays do. */
#include "tests/unit/store/store_model.h"

#include "tests/world/scratch.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_text.h"

/* The size of a batch: one document, some, or many. */
static uint32_t batch_of(uint64_t *r)
{
    const uint64_t kind = world_below(r, 10);
    return (uint32_t)(kind < 5 ? 1 : kind < 9 ? world_below(r, 20) : world_below(r, 150));
}

static void note(model *m, bm_store *store, uint64_t *r)
{
    snprintf(m->note, sizeof m->note, "%.*s", (int)world_below(r, 3) * 10, "the same words again");
    cr_assert_eq(bm_store_note(store, BM_NOTE_INPUTS, world_str(m->note), NULL), BM_OK);
}

static void copy_over(model *m, bm_store *from, scratch *s, unsigned *generation)
{
    char name[32];
    uint32_t n = 0;
    snprintf(name, sizeof name, "index%u", ++*generation);
    scratch_folder(s, name);
    bm_store *to = model_create(scratch_at(s, name));
    bm_error err = {0};
    cr_assert_eq(bm_store_copy(from, to, &err), BM_OK, "%s", err.message);
    model_commit(to);
    bm_store_close(to);
    for (uint32_t i = 0; i < m->n; i++)
        if (!m->docs[i].removed)
            m->docs[n++] = m->docs[i];
    m->n = n;
}

static void random_operations(uint64_t seed, unsigned operations)
{
    SCRATCH s = scratch_open();
    scratch_folder(&s, "index0");
    uint64_t r = seed;
    unsigned generation = 0;
    char name[32] = "index0";
    model *m = calloc(1, sizeof *m), *committed = calloc(1, sizeof *m);
    bm_store *store = model_create(scratch_at(&s, name));
    cr_assert_eq(model_add(m, store, world_below(&r, 300), &r, NULL), BM_OK);
    model_check(m, store, false);
    model_commit(store);
    *committed = *m;
    for (unsigned i = 0; i < operations && m->n < DOCS - 200; i++) {
        switch (world_below(&r, 12)) {
        case 0:
        case 1:
        case 2:
        case 3:
            cr_assert_eq(model_add(m, store, batch_of(&r), &r, NULL), BM_OK);
            break;
        case 4:
            cr_assert_eq(model_remove(m, store, world_below(&r, 20), &r, NULL), BM_OK);
            break;
        case 5:
            note(m, store, &r);
            break;
        case 6:
        case 7:
        case 8:
            model_commit(store);
            *committed = *m;
            break;
        case 9: /* closed without a commit */
        case 10:
            bm_store_close(store);
            committed->made = m->made;
            *m = *committed;
            store = model_open(scratch_at(&s, name), BM_STORE_READ);
            model_check(m, store, true);
            bm_store_close(store);
            store = model_open(scratch_at(&s, name), BM_STORE_WRITE);
            break;
        default:
            if (world_below(&r, 4) != 0)
                break;
            copy_over(m, store, &s, &generation);
            bm_store_close(store);
            model_expect_sound(scratch_at(&s, name));
            snprintf(name, sizeof name, "index%u", generation);
            model_expect_sound(scratch_at(&s, name));
            store = model_open(scratch_at(&s, name), BM_STORE_WRITE);
            *committed = *m;
        }
        if (i % 4 == 0 || i + 1 == operations)
            model_check(m, store, true);
    }
    bm_store_close(store);
    model_expect_sound(scratch_at(&s, name));
    free(m);
    free(committed);
}

Test(store_model, answers_are_those_of_plain_arrays)
{
    for (uint64_t seed = 1; seed <= 12; seed++)
        random_operations(seed, 150);
}

/* Small batches are merged into few runs, and the file does not grow for ever. */
Test(store_model, many_small_commits_leave_few_runs)
{
    SCRATCH s = scratch_open();
    scratch_folder(&s, "index");
    uint64_t r = 5;
    model *m = calloc(1, sizeof *m);
    bm_store *store = model_create(scratch_at(&s, "index"));
    model_commit(store);
    for (int i = 0; i < 300; i++) {
        cr_assert_eq(model_add(m, store, 1, &r, NULL), BM_OK);
        model_commit(store);
    }
    bm_store_view *view = world_open(bm_store_view, store);
    const bm_store_counts counts = bm_store_view_counts(view);
    bm_store_view_close(view);
    cr_assert_leq(counts.runs, 3 * 5, "%" PRIu64 " runs", counts.runs);
    cr_assert_lt(counts.file_bytes, 4 << 20, "%" PRIu64 " bytes", counts.file_bytes);
    model_check(m, store, true);
    bm_store_close(store);
    model_expect_sound(scratch_at(&s, "index"));
    free(m);
}

/* Runs that are not yet committed are merged and freed too, while those of the last commit remain.
 */
Test(store_model, many_batches_of_one_commit_are_merged_before_it)
{
    SCRATCH s = scratch_open();
    scratch_folder(&s, "index");
    uint64_t r = 6;
    model *m = calloc(1, sizeof *m), *committed = malloc(sizeof *m);
    bm_store *store = model_create(scratch_at(&s, "index"));
    for (int i = 0; i < 50; i++) /* the first build stores ids only */
        cr_assert_eq(model_add(m, store, 1 + world_below(&r, 9), &r, NULL), BM_OK);
    model_check(m, store, false);
    model_commit(store);
    *committed = *m;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 100; i++) {
            cr_assert_eq(model_add(m, store, 1 + world_below(&r, 9), &r, NULL), BM_OK);
            cr_assert_eq(model_remove(m, store, 1, &r, NULL), BM_OK);
            if (i % 10 == 0)
                model_check(m, store, true);
        }
        if (round == 0) { /* close without a commit */
            bm_store_close(store);
            *m = *committed;
            store = model_open(scratch_at(&s, "index"), BM_STORE_WRITE);
            model_check(m, store, true);
        }
    }
    model_commit(store);
    model_check(m, store, true);
    bm_store_close(store);
    model_expect_sound(scratch_at(&s, "index"));
    free(m);
    free(committed);
}

/* More entries of one key than fit in a piece; and a batch of many pieces. */
Test(store_model, a_key_of_many_pieces_is_found_whole)
{
    enum { N = 200000 };
    SCRATCH s = scratch_open();
    scratch_folder(&s, "index");
    bm_store *store = model_create(scratch_at(&s, "index"));
    bm_store_doc *docs = calloc(N, sizeof *docs);
    const uint64_t **sets = calloc(N, sizeof *sets);
    uint64_t *keys = calloc((size_t)N * BANDS, sizeof *keys), one = 77;
    char(*ids)[12] = calloc(N, sizeof *ids);
    for (uint32_t i = 0; i < N; i++) {
        snprintf(ids[i], sizeof ids[i], "%" PRIu32, i);
        docs[i] = (bm_store_doc){.id = {ids[i], strlen(ids[i])}, .n_shingles = 1};
        sets[i] = &one;
        keys[i * BANDS] = i % 10 != 0 ? 1000 : i;
        keys[i * BANDS + 1] = UINT64_MAX - i / 2;
        keys[i * BANDS + 2] = 9;
    }
    uint32_t first;
    for (uint32_t i = 0; i < N; i += N / 2) { /* builds half, then adds the other half */
        const bm_store_batch batch = {N / 2, docs + i, sets + i, NULL, keys + (size_t)i * BANDS};
        cr_assert_eq(bm_store_add(store, &batch, &first, NULL), BM_OK);
        cr_assert_eq(first, i);
        model_commit(store);
    }
    bm_store_view *view = world_open(bm_store_view, store);
    bm_store_hits hits = {0};
    const uint64_t asked[4] = {9, 1000, 1000, UINT64_MAX};
    const size_t want[BANDS] = {2 * (N - N / 10 + 1), 2, N};
    for (uint32_t b = 0; b < BANDS; b++) {
        const bm_store_ask ask = {.table = b, .keys = asked, .n = 4};
        hits.n = 0;
        cr_assert_eq(bm_store_view_find(view, &ask, &hits, NULL), BM_OK);
        cr_assert_eq(hits.n, want[b], "band %u: %zu", b, hits.n);
    }
    for (uint32_t i = 0; i < N; i += 997) {
        uint32_t number;
        cr_assert_eq(bm_store_view_id(view, docs[i].id, &number, NULL), BM_OK);
        cr_assert_eq(number, i);
    }
    free(hits.list);
    bm_store_view_close(view);
    bm_store_close(store);
    model_expect_sound(scratch_at(&s, "index"));
    free(docs);
    free(sets);
    free(keys);
    free(ids);
}

Test(store_model, an_unnamed_index_leaves_nothing_behind)
{
    SCRATCH s = scratch_open();
    const bm_store_cfg cfg = {.mode = BM_STORE_WRITE, .temp_dir = s.root};
    const bm_store_facts facts = model_facts();
    bm_store *store = NULL;
    bm_error err = {0};
    uint64_t r = 3;
    model *m = calloc(1, sizeof *m);
    cr_assert_eq(bm_store_create_unnamed(&facts, &cfg, &store, &err), BM_OK, "%s", err.message);
    cr_assert_eq(scratch_count(&s, "."), 0);
    for (int i = 0; i < 5; i++)
        cr_assert_eq(model_add(m, store, 100, &r, NULL), BM_OK);
    model_check(m, store, false);
    model_commit(store);
    model_check(m, store, true);
    cr_assert_eq(model_add(m, store, 100, &r, NULL), BM_OK);
    cr_assert_eq(model_remove(m, store, 10, &r, NULL), BM_OK);
    model_check(m, store, true);
    bm_store_close(store);
    free(m);
}
