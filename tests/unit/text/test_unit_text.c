/* SPDX-License-Identifier: Apache-2.0 */
/* test_unit_text.c -- slots and starts, compared with a plain reading of the definition in
 * model/batches.h; and the hashes of the slots, compared with the exact shingler. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "text/unit_text.h"
#include "tests/world/sized.h"
#include "tests/unit/text/shingle_oracle.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_order.h"
#include "tests/world/world_random.h"

static bool continues(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* The hash of slot `i` of a document, as a device must compute it. */
static uint64_t slot_hash(const bm_text_batch *batch, size_t doc, uint64_t i)
{
    const bm_text_doc *d = &batch->docs[doc];
    const bm_str text = bm_text_batch_text(batch, doc);
    const uint32_t k = batch->options.shingle_k;
    size_t begin = i, end;
    if (batch->options.shingle == BM_SHINGLE_WORD) {
        const uint32_t *starts = batch->starts + d->first_start;
        begin = starts[i];
        end = starts[i + k < d->n_starts - 1 ? i + k : d->n_starts - 1] - 1;
    } else if (batch->options.shingle == BM_SHINGLE_BYTE) {
        end = begin + k < text.len ? begin + k : text.len;
    } else {
        while (continues(text.data[begin]))
            begin--;
        end = begin;
        for (uint32_t units = 0; units < k && end < text.len; units++)
            do
                end++;
            while (end < text.len && continues(text.data[end]));
    }
    cr_assert(begin < end && end <= text.len && end - begin <= BM_TEXT_SHINGLE_MAX,
              "slot %lu: %zu to %zu of %zu", (unsigned long)i, begin, end, text.len);
    return XXH3_64bits(text.data + begin, end - begin);
}

static size_t sort_unique(uint64_t *values, size_t n)
{
    size_t m = 0;
    qsort(values, n, sizeof *values, world_ascending);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || values[i] != values[i - 1])
            values[m++] = values[i];
    return m;
}

static void check_set(const bm_shingle_batch *right, size_t doc, uint64_t *hashes, size_t n)
{
    const size_t n_right = (size_t)(right->offsets[doc + 1] - right->offsets[doc]);
    uint64_t *expected = malloc((n_right + 1) * sizeof *expected);
    if (n_right > 0)
        memcpy(expected, right->hashes + right->offsets[doc], n_right * sizeof *expected);
    sort_unique(expected, n_right);
    n = sort_unique(hashes, n);
    cr_assert_eq(n, n_right, "document %zu has %zu distinct shingles, by the exact path %zu", doc,
                 n, n_right);
    cr_assert_arr_eq(hashes, expected, n * sizeof *hashes);
    free(expected);
}

/* Expects the hashes of slots that do not begin inside a code point to be the document's, in order.
 */
static void check_sequence(const bm_text_batch *batch, size_t doc, const uint64_t *hashes, size_t n,
                           const bm_hash128 *right)
{
    const bm_str text = bm_text_batch_text(batch, doc);
    uint64_t *run = malloc((n + 1) * sizeof *run);
    bm_content_sums sums = {0};
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (batch->options.shingle != BM_SHINGLE_CHAR || !continues(text.data[i]))
            run[m++] = hashes[i];
    cr_assert_eq(batch->docs[doc].n_shingles, m, "document %zu", doc);
    bm_content_add(run, m, 0, &sums);
    bm_hash128 made = bm_content_end(&sums, m);
    made.hi ^= batch->docs[doc].second; /* a device gives the sequence's part */
    if (m > 0)
        cr_assert_eq(batch->docs[doc].second, XXH3_64bits(text.data, text.len));
    cr_assert_arr_eq(&made, right, sizeof made, "document %zu", doc);
    free(run);
}

static const char *const pieces[] = {"a",
                                     "bc",
                                     " ",
                                     "  ",
                                     "\n",
                                     "The",
                                     "end.",
                                     "\xC3\xA9t\xC3\xA9",
                                     "\xE4\xB8\xAD",
                                     "\xE6\x96\x87",
                                     "\xF0\x9F\x98\x80",
                                     "0",
                                     "\xC2\xA0",
                                     "-",
                                     "\u00AD",
                                     "\u200B",
                                     "\uFE0F\u20E3",
                                     "E",
                                     "word"};
#define N_PIECES (sizeof pieces / sizeof pieces[0])

/* Makes a random text; every tenth is one long ASCII word. */
static size_t make_text(uint64_t *state, char *out, size_t longest)
{
    size_t len = 0, n = world_random(state) % longest;
    const uint64_t kind = world_random(state) % 10;
    for (size_t i = 0; i < n; i++) {
        const char *piece =
            kind == 0 ? "x" : pieces[world_random(state) % (kind < 5 ? 7 : N_PIECES)];
        memcpy(out + len, piece, strlen(piece));
        len += strlen(piece);
    }
    return len;
}

static void check_options(bm_text_options options, uint64_t seed)
{
    enum { DOCS = 60, LONGEST = 400 };
    static char text[LONGEST * 8];
    bm_error err = {0};
    bm_shingler *shingler = NULL;
    bm_text_batch batch = {.options = options};
    bm_shingle_batch right = {0}, again = {0};
    world_ok(bm_shingler_open(&options, NULL, &shingler, &err), &err);
    for (size_t i = 0; i < DOCS; i++) {
        size_t len = make_text(&seed, text,
                               i == 7    ? 1
                               : i == 50 ? LONGEST * 3
                               : i < 30  ? 20
                                         : LONGEST);
        world_ok(bm_unit_text_add(shingler, (bm_str){text, len}, &batch, &err), &err);
        world_ok(shingle_exactly(&options, (bm_str){text, len}, &right, &err), &err);
    }
    uint64_t *hashes = malloc((batch.slots[DOCS] + 1) * sizeof *hashes);
    for (size_t i = 0; i < DOCS; i++) {
        const size_t n = (size_t)(batch.slots[i + 1] - batch.slots[i]);
        cr_assert(n > 0 || batch.docs[i].by_host || right.offsets[i] == right.offsets[i + 1]);
        world_ok(bm_unit_text_hash(shingler, &batch, i, &again, &err), &err);
        cr_assert_eq(again.offsets[i + 1], right.offsets[i + 1], "hashed by the host, document %zu",
                     i);
        if (batch.docs[i].by_host)
            continue;
        for (size_t j = 0; j < n; j++)
            hashes[j] = slot_hash(&batch, i, j);
        check_sequence(&batch, i, hashes, n, &right.content[i]);
        check_set(&right, i, hashes, n);
    }
    cr_assert_arr_eq(again.hashes, right.hashes, right.offsets[DOCS] * sizeof *right.hashes);
    cr_assert_eq(again.n_empty + batch.n_empty, right.n_empty);
    cr_assert_eq(again.n_short + batch.n_short, right.n_short);
    free(hashes);
    bm_text_batch_reset(&batch);
    bm_shingle_batch_reset(&right);
    bm_shingle_batch_reset(&again);
    bm_shingler_close(shingler);
}

Test(unit_text, slots_hash_to_the_shingles_of_the_exact_path)
{
    static const uint32_t ks[] = {1, 2, 5, 8, 31, 60, 61, 100, 120, 240};
    for (int kind = 0; kind < 3; kind++)
        for (size_t i = 0; i < sizeof ks / sizeof ks[0]; i++)
            for (int more = (int)sized(0, i % 3); more < 8; more += (int)sized(1, 3)) {
                bm_text_options options = {.shingle = (bm_shingle_kind)kind, .shingle_k = ks[i]};
                options.normalize = more & 1 ? BM_NORM_LOWER : BM_NORM_NFC | BM_NORM_STRIP_ACCENTS;
                options.normalize |= more % 3 == 0 ? BM_NORM_PUNCT : 0;
                options.normalize |= more % 4 < 2 ? BM_NORM_INVISIBLE : 0;
                options.words = more & 2 ? BM_WORDS_SPACE : BM_WORDS_ALNUM;
                if (more & 2 && ks[i] % 2 == 1)
                    options.words = BM_WORDS_TEXT_DEDUP;
                options.short_rule = more & 4 ? BM_SHORT_SKIP : BM_SHORT_WHOLE;
                if (bm_text_batch_able(&options))
                    check_options(options, ks[i] * 16 + (uint64_t)more);
            }
}

Test(unit_text, a_shingle_of_more_than_240_bytes_leaves_its_document_to_the_host)
{
    char text[242];
    memset(text, 'x', sizeof text);
    for (int kind = 0; kind < 3; kind++)
        for (size_t len = 240; len <= 241; len++) {
            bm_text_options options = {.shingle = (bm_shingle_kind)kind,
                                       .shingle_k = kind == 0 ? 5 : 240};
            bm_text_batch batch = {.options = options};
            if (kind != 0) { /* fewer units than K: the shingle is the whole text */
                options.shingle_k = batch.options.shingle_k = 300;
                cr_assert_not(bm_text_batch_able(&options));
            }
            bm_shingler *shingler = world_open(bm_shingler, &options, NULL);
            cr_assert_eq(bm_unit_text_add(shingler, (bm_str){text, len}, &batch, NULL), BM_OK);
            cr_assert_eq(batch.n_by_host, len > 240);
            cr_assert_eq(batch.slots[1], len <= 240);
            cr_assert_eq(batch.n_short + batch.n_by_host, 1);
            bm_text_batch_reset(&batch);
            bm_shingler_close(shingler);
        }
}

Test(unit_text, a_batch_that_is_cleared_is_empty)
{
    bm_text_options options = {.shingle = BM_SHINGLE_WORD, .shingle_k = 2};
    bm_text_batch batch = {.options = options};
    bm_shingler *shingler = world_open(bm_shingler, &options, NULL);
    for (int round = 0; round < 2; round++) {
        cr_assert_eq(bm_unit_text_add(shingler, (bm_str){"ab c d", 6}, &batch, NULL), BM_OK);
        cr_assert_eq(bm_unit_text_add(shingler, (bm_str){"e f", 3}, &batch, NULL), BM_OK);
        const uint32_t starts[] = {0, 3, 5, 7, 0, 2, 4};
        cr_assert_eq(batch.n_docs, 2);
        cr_assert_eq(batch.n_starts, 7);
        cr_assert_arr_eq(batch.starts, starts, sizeof starts);
        cr_assert_eq(batch.bytes.len, 11);
        cr_assert_arr_eq(batch.bytes.data, "ab c d e f ", 11);
        bm_text_batch_clear(&batch);
    }
    bm_text_batch_reset(&batch);
    bm_shingler_close(shingler);
}
