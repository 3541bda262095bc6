/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_filter.c -- filters of a growing store: they report every document with enough hashes,
 * and damage. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_writer.h"
#include "store/store_write.h"
#include "tests/world/scratch.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"

#define DOCS  900u
#define SIZE  4000u
#define WORDS 40000u /* number of different hashes */

/* Does document d have hash number w? Each document has its own share of all hashes. */
static bool holds(uint32_t d, uint32_t w)
{
    return world_random_at(d * UINT64_C(1000003) + w) % WORDS <
           world_random_at(d) % (SIZE - 20) + 20;
}

static uint64_t hash_of(uint32_t w)
{
    return ((uint64_t)(w + 1) << 44) + (uint32_t)world_random_at(w);
}

static uint32_t set_of(uint32_t d, uint64_t *out)
{
    uint32_t n = 0;
    for (uint32_t w = 0; d % 11 != 5 && w < WORDS; w++) /* some documents have no hashes */
        if (holds(d, w))
            out[n++] = hash_of(w);
    return n;
}

static void add(bm_store *store, uint32_t begin, uint32_t end)
{
    uint64_t *set = malloc(WORDS * sizeof *set);
    for (uint32_t d = begin; d < end; d++) {
        char id[16];
        snprintf(id, sizeof id, "d%u", d);
        const bm_store_doc doc = {.id = {id, strlen(id)}, .n_shingles = set_of(d, set)};
        const uint64_t *sets[1] = {set}, keys[1] = {world_random_at(d)};
        const bm_store_batch batch = {.n = 1, .docs = &doc, .sets = sets, .keys = keys};
        uint32_t first;
        cr_assert_eq(bm_store_add(store, &batch, &first, NULL), BM_OK);
    }
    free(set);
    cr_assert_eq(bm_store_commit(store, NULL), BM_OK);
}

static bm_store *create(const char *dir)
{
    const bm_store_facts facts = {.kind = BM_STORE_SETS, .bands = 1, .settings = {"{}", 2}};
    bm_store *store = NULL;
    cr_assert_eq(
        bm_store_create(dir, &facts, &(bm_store_cfg){.mode = BM_STORE_WRITE}, &store, NULL), BM_OK);
    return store;
}

static bm_store *opened(const char *dir, bm_store_mode mode)
{
    return world_open(bm_store, dir, &(bm_store_cfg){.mode = mode});
}

static bool has(const uint8_t *bits, uint32_t d)
{
    return bits[d / 8] >> d % 8 & 1;
}

/* Each document d of `gone` to n - 1 is found by half of its hashes, and hardly any other document
 * is. The first `gone` documents are no longer in the store. */
static void assert_told(const bm_store_view *view, uint32_t n, size_t at_least, uint32_t gone)
{
    const size_t filters = bm_store_view_filters(view);
    uint64_t *set = malloc(WORDS * sizeof *set);
    uint8_t untold[DOCS / 8 + 1] = {0};
    uint64_t found = 0, asked = 0;
    cr_assert_geq(filters, at_least);
    bm_store_view_unfiltered(view, untold);
    for (uint32_t d = gone; d < n; d += 13) {
        uint8_t bits[DOCS / 8 + 1];
        const uint32_t size = set_of(d, set) / 2;
        const bm_filter_ask ask = {set, size, size};
        if (size < 20)
            continue;
        memcpy(bits, untold, sizeof bits);
        for (size_t f = 0; f < filters; f++)
            cr_assert_eq(bm_store_view_filter(view, f, &ask, 1, bits, NULL), BM_OK);
        cr_assert(has(bits, d - gone), "document %u", d);
        for (uint32_t other = 0; other < n - gone; other++)
            if (other != d - gone && !has(untold, other)) {
                found += has(bits, other);
                asked++;
            }
    }
    free(set);
    cr_assert(asked == 0 || found < asked / 100, "%lu of %lu", (unsigned long)found,
              (unsigned long)asked);
}

static unsigned said;

static void count(void *ctx, const char *what)
{
    (void)ctx;
    (void)what;
    said++;
}

static bm_status check(const char *dir)
{
    said = 0;
    return bm_store_check(dir, &(bm_store_check_cfg){.report = count}, NULL);
}

static void assert_view(bm_store *store, uint32_t n, size_t at_least, uint32_t gone)
{
    bm_store_view *view = world_open(bm_store_view, store);
    assert_told(view, n, at_least, gone);
    bm_store_view_close(view);
}

Test(store_filter, tells_of_all_that_were_added_in_any_pieces)
{
    SCRATCH s = scratch_open();
    scratch_folder(&s, "index");
    scratch_folder(&s, "copy");
    bm_store *store = create(scratch_at(&s, "index"));
    add(store, 0, 260);
    assert_view(store, 260, 1, 0);
    add(store, 260, 300);
    bm_store_close(store);
    for (uint32_t n = 300; n < 600; n += 60) {
        store = opened(scratch_at(&s, "index"), BM_STORE_WRITE);
        add(store, n, n + 60);
        bm_store_close(store);
        cr_assert_eq(check(scratch_at(&s, "index")), BM_OK);
    }
    store = opened(scratch_at(&s, "index"), BM_STORE_WRITE);
    assert_view(store, 600, 3, 0);
    uint32_t first[100];
    for (uint32_t i = 0; i < 100; i++)
        first[i] = i;
    cr_assert_eq(bm_store_remove(store, first, 100, NULL), BM_OK);
    cr_assert_eq(bm_store_commit(store, NULL), BM_OK);
    assert_view(store, 600, 3, 0);
    bm_store *copy = create(scratch_at(&s, "copy"));
    cr_assert_eq(bm_store_copy(store, copy, NULL), BM_OK);
    cr_assert_eq(bm_store_commit(copy, NULL), BM_OK);
    assert_view(copy, 600, 3, 100);
    bm_store_close(copy);
    bm_store_close(store);
    cr_assert_eq(check(scratch_at(&s, "copy")), BM_OK);
}

/* Filters of a writer that ended before its commit do not count; the next writer makes its own. */
Test(store_filter, forgets_those_of_an_interrupted_writer)
{
    SCRATCH s = scratch_open();
    scratch_folder(&s, "index");
    bm_store *store = create(scratch_at(&s, "index"));
    add(store, 0, 100);
    bm_store_close(store);
    store = opened(scratch_at(&s, "index"), BM_STORE_WRITE);
    bm_filter_writer *next = &store->writer->filters.next;
    while (next->first == 0) { /* until the file has a filter */
        uint64_t *set = malloc(WORDS * sizeof *set);
        const bm_store_doc doc = {.id = {"x", 1}, .n_shingles = set_of(1, set)};
        const uint64_t *sets[1] = {set}, keys[1] = {7};
        const bm_store_batch batch = {.n = 1, .docs = &doc, .sets = sets, .keys = keys};
        uint32_t first;
        cr_assert_eq(bm_store_add(store, &batch, &first, NULL), BM_OK);
        free(set);
    }
    bm_store_view *view = world_open(bm_store_view, store); /* written but not committed */
    cr_assert_eq(bm_store_view_filters(view), 1);
    bm_store_view_close(view);
    bm_store_close(store);
    store = opened(scratch_at(&s, "index"), BM_STORE_WRITE);
    assert_view(store, 100, 0, 0);
    add(store, 100, 400);
    assert_view(store, 400, 2, 0);
    bm_store_close(store);
    cr_assert_eq(check(scratch_at(&s, "index")), BM_OK);
}

/* The index is as if made by a version without filters. */
Test(store_filter, an_index_without_is_told_to_hold_all_of_its_documents)
{
    SCRATCH s = scratch_open();
    scratch_folder(&s, "index");
    bm_store *store = create(scratch_at(&s, "index"));
    add(store, 0, 300);
    bm_store_view *view = world_open(bm_store_view, store);
    for (size_t f = view->snapshot.filters; f < view->snapshot.after_filters; f++)
        cr_assert_eq(bm_writer_drop(store, &view->snapshot.pieces.list[f].key, NULL), BM_OK);
    bm_store_view_close(view);
    cr_assert_eq(bm_store_commit(store, NULL), BM_OK);
    bm_store_close(store);
    cr_assert_eq(check(scratch_at(&s, "index")), BM_OK);
    store = opened(scratch_at(&s, "index"), BM_STORE_WRITE);
    assert_view(store, 300, 0, 0);
    add(store, 300, 310); /* a small index: the missing filters are built */
    assert_view(store, 310, 1, 0);
    bm_store_close(store);
}

Test(store_filter, damage_is_found)
{
    SCRATCH s = scratch_open();
    scratch_folder(&s, "index");
    bm_store *store = create(scratch_at(&s, "index"));
    add(store, 0, 200);
    bm_store_close(store);
    store = opened(scratch_at(&s, "index"), BM_STORE_READ);
    bm_store_view *view = world_open(bm_store_view, store);
    const bm_snapshot *snapshot = &view->snapshot;
    const bm_piece_ref ref = snapshot->pieces.list[snapshot->filters];
    const off_t begin = (off_t)(ref.bytes - snapshot->map);
    bm_store_view_close(view);
    bm_store_close(store);
    char path[4096];
    snprintf(path, sizeof path, "%s/data.mdb", scratch_at(&s, "index"));
    const int fd = open(path, O_RDWR);
    for (uint64_t i = 0; i < 40; i++) {
        const off_t at = begin + (off_t)(i < 8 ? i : world_random_at(i) % ref.size);
        const uint64_t hash = 5;
        uint8_t byte, changed, bits[DOCS / 8 + 1] = {0};
        cr_assert_eq(pread(fd, &byte, 1, at), 1);
        changed = (uint8_t)(byte ^ 1u << i % 8);
        cr_assert_eq(pwrite(fd, &changed, 1, at), 1);
        cr_assert_eq(check(scratch_at(&s, "index")), BM_ERR_FORMAT);
        store = opened(scratch_at(&s, "index"), BM_STORE_READ);
        cr_assert_eq(bm_store_view_open(store, &view, NULL), BM_OK);
        bm_store_view_unfiltered(view, bits);
        cr_assert_eq(bm_store_view_filter(view, 0, &(bm_filter_ask){&hash, 1, 1}, 1, bits, NULL),
                     BM_ERR_FORMAT);
        bm_store_view_close(view);
        bm_store_close(store);
        cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
    }
    close(fd);
    cr_assert_eq(check(scratch_at(&s, "index")), BM_OK);
}
