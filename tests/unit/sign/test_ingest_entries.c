/* SPDX-License-Identifier: Apache-2.0 */
/* test_ingest_entries.c -- what was made of an entry of a dictionary is given out again as it was:
 * hashes, counts, content hash, and what it is counted as; and the memory for it is bounded. */
#include <criterion/criterion.h>
#include <string.h>

#include "sign/ingest_stages.h"

#define KIB ((size_t)1 << 10)

/* A document of n hashes, first, first + 1 …, as a shingler would append it. */
static void append(bm_shingle_batch *batch, uint64_t first, size_t n, bool is_short)
{
    cr_assert_eq(bm_shingle_batch_reserve(batch, 1, n, NULL), BM_OK);
    for (size_t i = 0; i < n; i++) {
        const size_t at = bm_shingle_batch_hashes(batch) + i;
        batch->hashes[at] = first + i;
        if (batch->counted)
            batch->counts[at] = (uint32_t)(first + 2 * i);
    }
    bm_shingle_batch_commit(batch, n, (bm_hash128){first, n});
    batch->n_short += is_short;
    batch->n_empty += n == 0 && !is_short;
}

/* The document of the entry, made where it is not there. */
static bool get(bm_ingest_entries *entries, uint64_t entry, size_t n, bm_shingle_batch *batch)
{
    bool was_made;
    cr_assert_eq(bm_ingest_entries_add(entries, entry, batch, &was_made, NULL), BM_OK);
    if (!was_made) {
        append(batch, entry * 1000, n, false);
        bm_ingest_entries_keep(entries, entry, batch);
    }
    return was_made;
}

static void check_same(const bm_shingle_batch *a, const bm_shingle_batch *b)
{
    const size_t n = bm_shingle_batch_hashes(b);
    cr_assert(a->n_docs == b->n_docs && bm_shingle_batch_hashes(a) == n);
    cr_assert(a->n_empty == b->n_empty && a->n_short == b->n_short);
    cr_assert_eq(memcmp(a->offsets, b->offsets, (a->n_docs + 1) * sizeof *a->offsets), 0);
    cr_assert_eq(memcmp(a->content, b->content, a->n_docs * sizeof *a->content), 0);
    cr_assert(n == 0 || memcmp(a->hashes, b->hashes, n * sizeof *a->hashes) == 0);
    cr_assert(!b->counted || memcmp(a->counts, b->counts, n * sizeof *a->counts) == 0);
}

Test(ingest_entries, the_same_document_again)
{
    static const uint64_t asked[] = {7, 8, 7, 9, 9, 8, 7, 4096 + 7, 7, 7};
    static const bool there[] = {0, 0, 1, 0, 1, 1, 1, 0, 0, 1}; /* 4096 + 7 takes the place of 7 */
    for (int counted = 0; counted < 2; counted++) {
        bm_ingest_entries entries = {.most_bytes = 64 * KIB};
        bm_shingle_batch got = {.counted = counted}, wanted = {.counted = counted};
        for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
            cr_assert_eq(get(&entries, asked[i], asked[i] % 10, &got), there[i], "%zu", i);
            append(&wanted, asked[i] * 1000, asked[i] % 10, false);
        }
        check_same(&got, &wanted);
        bm_ingest_entries_reset(&entries);
        bm_shingle_batch_reset(&got);
        bm_shingle_batch_reset(&wanted);
    }
}

Test(ingest_entries, documents_without_shingles_are_counted_as_they_were)
{
    bm_ingest_entries entries = {.most_bytes = 64 * KIB};
    bm_shingle_batch got = {0}, wanted = {0};
    bool was_made;
    for (uint64_t entry = 1; entry < 3; entry++) { /* 1 is empty, 2 short */
        cr_assert_eq(bm_ingest_entries_add(&entries, entry, &got, &was_made, NULL), BM_OK);
        append(&got, entry, 0, entry == 2);
        bm_ingest_entries_keep(&entries, entry, &got);
        append(&wanted, entry, 0, entry == 2);
    }
    for (uint64_t i = 0; i < 5; i++) {
        cr_assert_eq(bm_ingest_entries_add(&entries, 1 + i % 2, &got, &was_made, NULL), BM_OK);
        cr_assert(was_made);
        append(&wanted, 1 + i % 2, 0, i % 2 == 1);
    }
    check_same(&got, &wanted);
    bm_ingest_entries_reset(&entries);
    bm_shingle_batch_reset(&got);
    bm_shingle_batch_reset(&wanted);
}

Test(ingest_entries, memory_is_bounded_and_used_anew)
{
    bm_ingest_entries entries = {.most_bytes = 64 * KIB};
    bm_shingle_batch batch = {0};
    cr_assert_not(get(&entries, 1, 64 * KIB / sizeof(uint64_t), &batch));
    cr_assert_not(get(&entries, 1, 10, &batch), "one that is too large is not kept");
    for (uint64_t entry = 2; entry < 200; entry++) {
        cr_assert_not(get(&entries, entry, 300, &batch));
        cr_assert(get(&entries, entry, 300, &batch), "the last one is there");
        cr_assert_leq(bm_shingle_batch_hashes(&entries.made) * sizeof(uint64_t), 64 * KIB);
    }
    cr_assert_not(get(&entries, 2, 300, &batch), "the first has gone");
    bm_ingest_entries_reset(&entries);
    bm_shingle_batch_reset(&batch);
}

Test(ingest_entries, texts_that_are_no_entries_take_nothing)
{
    bm_ingest_entries entries = {.most_bytes = 64 * KIB};
    bm_shingle_batch batch = {0};
    append(&batch, 5, 5, false);
    bm_ingest_entries_keep(&entries, 0, &batch);
    cr_assert_null(entries.slots);
    bm_shingle_batch_reset(&batch);
}
