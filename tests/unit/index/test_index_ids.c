/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of a batch against those of an index, as a plain table has them: who has an id, who goes,
 * which number is free. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index/index_adder.h"

#define BANDS 1u

typedef struct world {
    bm_store *store;
    bm_store_view *view;
    bm_store_facts facts;
} world;

static bm_str str(const char *text)
{
    return (bm_str){text, strlen(text)};
}

/* An index of documents without shingles under these ids, of which the second is removed. */
static world make_world(const char *const *ids, size_t n)
{
    world w = {.facts = {.kind = BM_STORE_SETS, .bands = BANDS, .settings = {"{}", 2}}};
    const bm_store_cfg cfg = {.mode = BM_STORE_WRITE, .temp_dir = "/tmp"};
    bm_store_doc docs[16] = {0};
    const uint64_t *sets[16] = {0}, keys[16] = {0};
    uint32_t first, gone = 1;
    cr_assert_eq(bm_store_create_unnamed(&w.facts, &cfg, &w.store, NULL), BM_OK);
    for (size_t i = 0; i < n; i++)
        docs[i].id = str(ids[i]);
    const bm_store_batch batch = {.n = n, .docs = docs, .sets = sets, .keys = keys};
    cr_assert_eq(bm_store_add(w.store, &batch, &first, NULL), BM_OK);
    cr_assert_eq(bm_store_remove(w.store, &gone, 1, NULL), BM_OK);
    cr_assert_eq(bm_store_commit(w.store, NULL), BM_OK);
    cr_assert_eq(bm_store_view_open(w.store, &w.view, NULL), BM_OK);
    return w;
}

static void end_world(world *w)
{
    bm_store_view_close(w->view);
    bm_store_close(w->store);
}

static const char *const there[] = {"a", "removed", "b", "b#2", "a#2", "a#4"};

static void expect_taken(const bm_index_ids *ids, size_t i, bool in_batch, uint32_t who)
{
    bool is_in_batch;
    uint32_t number;
    cr_assert(bm_index_ids_owner(ids, i, &is_in_batch, &number), "document %zu", i);
    cr_assert_eq(is_in_batch, in_batch, "document %zu", i);
    cr_assert_eq(number, who, "document %zu: %u", i, (unsigned)number);
}

static bool is_free(const bm_index_ids *ids, size_t i)
{
    bool in_batch;
    uint32_t number;
    return !bm_index_ids_owner(ids, i, &in_batch, &number);
}

Test(index_ids, an_id_is_taken_by_the_index_or_by_one_before_in_the_batch)
{
    world w = make_world(there, 6);
    bm_store_doc docs[] = {
        {.id = str("new")}, {.id = str("b")}, {.id = str("removed")}, {.id = str("new")}};
    const bm_gathered batch = {.n = 4, .docs = docs};
    bm_index_ids ids = {0};
    for (int round = 0; round < 2; round++) { /* nothing stays from one batch to the next */
        cr_assert_eq(bm_index_ids_begin(&ids, w.view, BANDS, &batch, NULL), BM_OK);
        cr_assert(is_free(&ids, 0));
        cr_assert_eq(bm_index_ids_add(&ids, 0, NULL), BM_OK);
        expect_taken(&ids, 1, false, 2);
        cr_assert(is_free(&ids, 2));
        expect_taken(&ids, 3, true, 0);
    }
    bm_index_ids_reset(&ids);
    end_world(&w);
}

Test(index_ids, who_is_dropped_has_its_id_no_more)
{
    world w = make_world(there, 6);
    bm_store_doc docs[] = {{.id = str("b")}, {.id = str("b")}, {.id = str("b")}, {.id = str("x")}};
    const bm_gathered batch = {.n = 4, .docs = docs};
    bm_index_ids ids = {0};
    uint32_t dropped;
    cr_assert_eq(bm_index_ids_begin(&ids, w.view, BANDS, &batch, NULL), BM_OK);
    cr_assert_not(bm_index_ids_is_gone(&ids, 2));
    cr_assert_eq(bm_index_ids_drop(&ids, 0, &dropped, NULL), BM_OK); /* that of the index */
    cr_assert_eq(dropped, BM_ID_NONE);
    cr_assert(bm_index_ids_is_gone(&ids, 2));
    cr_assert_not(bm_index_ids_is_gone(&ids, 0));
    cr_assert_eq(ids.n_gone, 1);
    cr_assert_eq(ids.gone[0], 2);
    cr_assert(is_free(&ids, 0));
    for (size_t i = 0; i < 2; i++) { /* then one of the batch after the other */
        cr_assert_eq(bm_index_ids_add(&ids, i, NULL), BM_OK);
        expect_taken(&ids, i + 1, true, (uint32_t)i);
        cr_assert_eq(bm_index_ids_drop(&ids, i + 1, &dropped, NULL), BM_OK);
        cr_assert_eq(dropped, i);
        cr_assert(is_free(&ids, i + 1));
    }
    cr_assert_eq(bm_index_ids_drop(&ids, 3, &dropped, NULL), BM_OK); /* nobody has it */
    cr_assert_eq(dropped, BM_ID_NONE);
    cr_assert_eq(ids.n_gone, 1);
    bm_index_ids_reset(&ids);
    end_world(&w);
}

Test(index_ids, the_next_number_is_free_in_index_and_batch)
{
    world w = make_world(there, 6);
    bm_store_doc docs[] = {
        {.id = str("a")}, {.id = str("a")}, {.id = str("a#3")}, {.id = str("a")}};
    const bm_gathered batch = {.n = 4, .docs = docs};
    static const char *const wanted[] = {"a#3", "a#5", "a#3#2", "a#6"};
    bm_index_ids ids = {0};
    cr_assert_eq(bm_index_ids_begin(&ids, w.view, BANDS, &batch, NULL), BM_OK);
    for (size_t i = 0; i < 4; i++) { /* a#2 and a#4 are in the index */
        cr_assert_not(is_free(&ids, i));
        cr_assert_eq(bm_index_ids_number(&ids, docs[i].id, &docs[i].id, NULL), BM_OK);
        cr_assert_eq(docs[i].id.len, strlen(wanted[i]));
        cr_assert_arr_eq(docs[i].id.data, wanted[i], strlen(wanted[i]));
        cr_assert_eq(bm_index_ids_add(&ids, i, NULL), BM_OK);
    }
    bm_index_ids_reset(&ids);
    end_world(&w);
}

Test(index_ids, a_batch_that_grows_looks_up_one_by_one)
{
    world w = make_world(there, 6);
    bm_store_doc docs[5] = {0};
    bm_gathered batch = {.n = 0, .docs = docs};
    static const char *const names[] = {"b#2", "none", "a", "removed", "b#2"};
    static const uint32_t numbers[] = {3, BM_ID_NONE, 0, BM_ID_NONE, 3};
    bm_index_ids ids = {0};
    uint32_t dropped;
    cr_assert_eq(bm_index_ids_begin(&ids, w.view, BANDS, &batch, NULL), BM_OK);
    for (size_t i = 0; i < 5; i++) {
        docs[i].id = str(names[i]);
        batch.n = i + 1;
        cr_assert_eq(bm_index_ids_find(&ids, i, NULL), BM_OK);
        cr_assert_eq(ids.known[i], numbers[i], "document %zu", i);
        if (numbers[i] == BM_ID_NONE || i == 4)
            cr_assert(is_free(&ids, i), "document %zu", i);
        else
            expect_taken(&ids, i, false, numbers[i]);
        if (i == 0) {
            cr_assert_eq(bm_index_ids_drop(&ids, 0, &dropped, NULL), BM_OK);
            cr_assert(bm_index_ids_is_gone(&ids, 3));
        }
    }
    cr_assert(bm_index_ids_is_gone(&ids, 3)); /* also when the same was looked up again */
    cr_assert_not(bm_index_ids_is_gone(&ids, 0));
    bm_index_ids_reset(&ids);
    end_world(&w);
}
