/* SPDX-License-Identifier: Apache-2.0 */
/* test_ingest_stages.c -- static functions of src/sign/ingest.c. */
#include "sign/ingest.c"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu_backend.h"
#include "sketch/scheme.h"
#include "tests/world/world_text.h"

/* === entries ===
 *
 * The result for an entry of a dictionary is repeated unchanged: hashes, counts, content hash, and
 * whether it counts as empty or short; and the memory for entries is bounded. */

#define KIB ((size_t)1 << 10)

/* Appends a document with the n hashes first, first + 1 and so on, as a shingler would. */
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

/* Appends the document of the entry, made if it is not stored; true: it was stored. */
static bool get(bm_ingest_entries *entries, uint64_t entry, size_t n, bm_shingle_batch *batch)
{
    bool was_made;
    cr_assert_eq(ingest_entries_add(entries, entry, batch, &was_made, NULL), BM_OK);
    if (!was_made) {
        append(batch, entry * 1000, n, false);
        ingest_entries_keep(entries, entry, batch);
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
    static const bool there[] = {0, 0, 1, 0, 1, 1, 1, 0, 0, 1}; /* 4096 + 7 replaces 7 */
    for (int counted = 0; counted < 2; counted++) {
        bm_ingest_entries entries = {.most_bytes = 64 * KIB};
        bm_shingle_batch got = {.counted = counted}, wanted = {.counted = counted};
        for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
            cr_assert_eq(get(&entries, asked[i], asked[i] % 10, &got), there[i], "%zu", i);
            append(&wanted, asked[i] * 1000, asked[i] % 10, false);
        }
        check_same(&got, &wanted);
        ingest_entries_reset(&entries);
        bm_shingle_batch_reset(&got);
        bm_shingle_batch_reset(&wanted);
    }
}

Test(ingest_entries, documents_without_shingles_are_counted_as_they_were)
{
    bm_ingest_entries entries = {.most_bytes = 64 * KIB};
    bm_shingle_batch got = {0}, wanted = {0};
    bool was_made;
    for (uint64_t entry = 1; entry < 3; entry++) { /* entry 1 is empty, entry 2 too short */
        cr_assert_eq(ingest_entries_add(&entries, entry, &got, &was_made, NULL), BM_OK);
        append(&got, entry, 0, entry == 2);
        ingest_entries_keep(&entries, entry, &got);
        append(&wanted, entry, 0, entry == 2);
    }
    for (uint64_t i = 0; i < 5; i++) {
        cr_assert_eq(ingest_entries_add(&entries, 1 + i % 2, &got, &was_made, NULL), BM_OK);
        cr_assert(was_made);
        append(&wanted, 1 + i % 2, 0, i % 2 == 1);
    }
    check_same(&got, &wanted);
    ingest_entries_reset(&entries);
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
    ingest_entries_reset(&entries);
    bm_shingle_batch_reset(&batch);
}

Test(ingest_entries, texts_that_are_no_entries_take_nothing)
{
    bm_ingest_entries entries = {.most_bytes = 64 * KIB};
    bm_shingle_batch batch = {0};
    append(&batch, 5, 5, false);
    ingest_entries_keep(&entries, 0, &batch);
    cr_assert_null(entries.slots);
    bm_shingle_batch_reset(&batch);
}

/* === text ===
 *
 * A batch of texts ends with the same result as a batch of hashes: after a device, without one, and
 * with some documents left to the host. The scalar reference stands in for the device. */

enum { PERMS = 24, BANDS = 6, ROWS = 4, N = 7 };

static const bm_text_options options = {.normalize = BM_NORM_LOWER, .shingle_k = 2};
static char long_word[300];

typedef struct setting {
    bm_device_set device_set;
    bm_shingler *shingler;
    bm_shingle_batch right; /* the result of bm_shingler_add */
    bm_ingest_batch batch;
    uint32_t words[N * PERMS], right_words[N * PERMS], n_shingles[N];
    uint64_t keys[N * BANDS], right_keys[N * BANDS];
} setting;

static bm_str text_of(size_t i)
{
    static const char *const texts[N] = {
        "The cat sat on the mat", "", "one", long_word, "a b a b a b", "x y", long_word};
    return world_str(texts[i]);
}

static void begin(setting *s)
{
    memset(s, 0, sizeof *s);
    memset(long_word, 'w', sizeof long_word - 1);
    memcpy(long_word + 20, " and a ", 7);
    const bm_backend_cfg cfg = {
        .sketch = {.perms = PERMS, .seed = 3}, .bands = BANDS, .rows = ROWS, .device = "cpu"};
    s->device_set =
        (bm_device_set){.perms_used = PERMS, .row_uints = PERMS, .bands = BANDS, .rows = ROWS};
    cr_assert_eq(bm_backend_cpu.open(&cfg, &s->device_set.cpu, NULL), BM_OK);
    cr_assert_eq(bm_scheme_draw(&cfg.sketch, &s->device_set.params, NULL), BM_OK);
    cr_assert_eq(bm_shingler_open(&options, NULL, &s->shingler, NULL), BM_OK);
    bm_ingest_batch *batch = &s->batch;
    batch->as_text = true;
    batch->text.options = options;
    batch->n_docs = N;
    batch->docs = calloc(N, sizeof *batch->docs);
    batch->made.n_shingles = s->n_shingles;
    for (size_t i = 0; i < N; ++i) {
        cr_assert_eq(bm_unit_text_add(s->shingler, text_of(i), &batch->text, NULL), BM_OK);
        cr_assert_eq(bm_shingler_add(s->shingler, text_of(i), &s->right, NULL), BM_OK);
        const size_t n = (size_t)(s->right.offsets[i + 1] - s->right.offsets[i]);
        bm_scheme_affine32.sign(&s->device_set.params, s->right.hashes + s->right.offsets[i], n,
                                s->right_words + i * PERMS);
        bm_band_keys_scalar(s->right_words + i * PERMS, BANDS, ROWS, n == 0,
                            s->right_keys + i * BANDS);
    }
    cr_assert_eq(batch->text.n_by_host, 2, "the texts with the long word");
    batch->task = (bm_sign_task){.offsets = batch->text.slots,
                                 .text = &batch->text,
                                 .n_docs = N,
                                 .words = s->words,
                                 .keys = s->keys,
                                 .n_shingles = s->n_shingles};
}

static void end(setting *s)
{
    free(s->batch.docs);
    bm_text_batch_reset(&s->batch.text);
    bm_shingle_batch_reset(&s->batch.shingles);
    bm_shingle_batch_reset(&s->right);
    bm_shingler_close(s->shingler);
    bm_scheme_params_reset(&s->device_set.params);
    bm_backend_cpu.close(s->device_set.cpu);
}

static void check_counts(const setting *s)
{
    for (size_t i = 0; i < N; ++i)
        cr_assert_eq(s->batch.docs[i].row.n_shingles, s->right.offsets[i + 1] - s->right.offsets[i],
                     "document %zu", i);
    cr_assert_eq(s->batch.shingles.n_empty + s->batch.text.n_empty, s->right.n_empty);
    cr_assert_eq(s->batch.shingles.n_short + s->batch.text.n_short, s->right.n_short);
}

Test(ingest_text, what_a_device_left_to_the_host_is_signed_into_its_own_row)
{
    setting s;
    begin(&s);
    memset(s.words, 0xFF, sizeof s.words); /* as for empty documents */
    memset(s.keys, 0xFF, sizeof s.keys);
    for (size_t i = 0; i < N; ++i) {
        if (s.batch.text.docs[i].by_host)
            continue;
        memcpy(s.words + i * PERMS, s.right_words + i * PERMS, PERMS * sizeof *s.words);
        memcpy(s.keys + i * BANDS, s.right_keys + i * BANDS, BANDS * sizeof *s.keys);
        s.n_shingles[i] = (uint32_t)(s.right.offsets[i + 1] - s.right.offsets[i]);
    }
    cr_assert_eq(ingest_text_finish(&s.device_set, &s.batch, s.shingler, NULL), BM_OK);
    cr_assert_arr_eq(s.words, s.right_words, sizeof s.words);
    cr_assert_arr_eq(s.keys, s.right_keys, sizeof s.keys);
    check_counts(&s);
    end(&s);
}

Test(ingest_text, keys_alone_and_words_alone_are_signed_as_well)
{
    setting s;
    begin(&s);
    for (int words = 0; words < 2; ++words) {
        memset(s.words, 0xFF, sizeof s.words);
        memset(s.keys, 0xFF, sizeof s.keys);
        s.batch.task.words = words ? s.words : NULL;
        s.batch.task.keys = words ? NULL : s.keys;
        cr_assert_eq(ingest_text_finish(&s.device_set, &s.batch, s.shingler, NULL), BM_OK);
        for (size_t i = 3; i < N; i += 3) {
            cr_assert_eq(memcmp(s.words + i * PERMS, s.right_words + i * PERMS,
                                sizeof(uint32_t) * PERMS) == 0,
                         words);
            cr_assert_eq(
                memcmp(s.keys + i * BANDS, s.right_keys + i * BANDS, sizeof(uint64_t) * BANDS) == 0,
                !words);
        }
    }
    end(&s);
}

Test(ingest_text, a_batch_that_no_device_took_has_the_hashes_of_the_shingler)
{
    setting s;
    begin(&s);
    cr_assert_eq(ingest_text_hash(&s.batch, s.shingler, NULL), BM_OK);
    cr_assert_not(s.batch.as_text);
    cr_assert_eq(s.batch.shingles.n_docs, N);
    cr_assert_arr_eq(s.batch.shingles.offsets, s.right.offsets, (N + 1) * sizeof *s.right.offsets);
    cr_assert_arr_eq(s.batch.shingles.hashes, s.right.hashes,
                     s.right.offsets[N] * sizeof *s.right.hashes);
    check_counts(&s);
    end(&s);
}

Test(ingest_text, a_batch_is_hashed_here_where_more_than_an_eighth_of_it_is_left_to_the_host)
{
    bm_ingest_batch batch = {.text.bytes.len = 800, .text.host_bytes.len = 100};
    cr_assert_not(ingest_text_pointless(&batch));
    batch.text.host_bytes.len = 101;
    cr_assert(ingest_text_pointless(&batch));
    batch.text.bytes.len = 0;
    cr_assert(ingest_text_pointless(&batch));
    batch.text.host_bytes.len = 0;
    cr_assert_not(ingest_text_pointless(&batch), "nothing at all");
}
