/* SPDX-License-Identifier: Apache-2.0 */
/* corpus_again.c -- makes dropped sets again from their texts when the sets must be compared.
 *
 *     documents   0   1   2   3   4   5 …      texts: offset of each record in its file
 *                     |       |       |
 *     arena      [ 1         | 5   | 3        |   free   ]      sets made since it was last emptied
 *
 * Most documents are never candidates, and most candidates are compared in one band only. So a
 * small arena suffices, which takes little memory and few new pages. It is emptied when it is full.
 * If sets often have to be made more than once, as in large buckets, the arena grows as far as the
 * job's memory allows.
 *
 * A set is accepted if its size and its content hash are those of the first reading. All threads of
 * the pool make sets, each with its own maker.
 *
 * Tests: tests/unit/corpus/test_corpus_again.c */
#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"
#include "corpus/corpus_parts.h"
#include "lsh/verify.h"

#include <string.h>
#include <sys/mman.h>

#define FIRST_BYTES ((uint64_t)32 << 20) /* initial size of the arena */
#define GROWTH      2u
/* the arena grows if more than 1 / REMADE_PART of it are sets that were made repeatedly */
#define REMADE_PART 4u
#define GRAIN       256u
/* approximate bytes of text whose sets are made in one call */
#define TEXT_BYTES ((uint64_t)256 << 10)
/* most bytes of memory that making a set needs for each byte of text (sign/ingest.c) */
#define TEXT_FOLD  28u
#define HUGE_BYTES ((size_t)2 << 20)

struct bm_corpus_made {
    uint32_t *at;     /* for each document: 1 + index of its set in `arena`; 0: the arena does not
                       * have it */
    uint8_t *before;  /* for each document: whether its set was made at least once */
    uint64_t *arena;  /* the sorted sets */
    size_t used, cap; /* in words */
    size_t most;      /* limit of `cap`, in words; an arena that would exceed it is emptied */
    size_t remade;    /* words in the arena that belong to sets made more than once */
    uint64_t *docs;   /* documents whose sets are made next */
    size_t n_docs, cap_docs;
    bm_set_maker **makers; /* one for each thread; NULL: not made yet */
    uint32_t n_makers;
};

/* --- long documents --- */

/* Bytes that the makers of sets may use in addition to the arena; 0: no limit. */
static uint64_t maker_bytes(const bm_corpus *corpus)
{
    return corpus->cfg.memory == 0 ? 0 : corpus->cfg.budget.arena / 2;
}

static bool is_too_long(const bm_corpus *corpus, uint64_t text_bytes)
{
    const uint64_t most = maker_bytes(corpus);
    return corpus->cfg.temp_dir != NULL && most != 0 && text_bytes * TEXT_FOLD > most;
}

bool bm_corpus_too_long_to_make(const bm_corpus *corpus, uint64_t text_bytes)
{
    return corpus->sets.state == BM_SETS_AGAIN && is_too_long(corpus, text_bytes);
}

/* Is the set of this document stored because its text is long? False for copies and empty
 * documents, which need no set. */
static bool is_stored(const bm_corpus *corpus, size_t doc)
{
    return corpus->rep[doc] == doc && corpus->sizes[doc] > 0 &&
           is_too_long(corpus, bm_doc_table_row(corpus->cfg.docs, doc)->text_bytes);
}

static bm_status open_stored(bm_corpus_sets *sets, const char *temp_dir, bm_error *err)
{
    if (sets->file == NULL)
        BM_TRY(bm_spill_open(temp_dir, BM_SPILL_SETS, BM_SETS_BUFFER, &sets->file, err));
    return bm_grow_array(&sets->stored, &sets->cap_stored, sets->n_stored + 1, err);
}

/* The stored set of a document; NULL: there is none. */
static const bm_stored_set *find_stored(const bm_corpus *corpus, size_t doc)
{
    const bm_corpus_sets *sets = &corpus->sets;
    bm_bisect b = {0, sets->n_stored};
    while (b.low < b.high)
        bm_bisect_go(&b, sets->stored[bm_middle(&b)].doc < doc);
    return b.low < sets->n_stored && sets->stored[b.low].doc == doc ? &sets->stored[b.low] : NULL;
}

bm_status bm_corpus_place_long(bm_corpus *corpus, size_t first, size_t n, bm_error *err)
{
    bm_corpus_sets *sets = &corpus->sets;
    for (size_t doc = first; doc < first + n; doc++) {
        const size_t len = corpus->sizes[doc] * sizeof(uint64_t);
        uint64_t record;
        if (!is_stored(corpus, doc))
            continue;
        BM_TRY(open_stored(sets, corpus->cfg.temp_dir, err));
        BM_TRY(bm_spill_reserve(sets->file, 1, BM_SPILL_RECORD + len, &record, err));
        sets->stored[sets->n_stored++] = (bm_stored_set){doc, record};
    }
    return BM_OK;
}

bm_status bm_corpus_store_long(bm_corpus *corpus, bm_error *err)
{
    bm_corpus_sets *sets = &corpus->sets;
    for (size_t doc = 0; doc < corpus->n; doc++) {
        uint64_t record;
        if (!is_stored(corpus, doc))
            continue;
        BM_TRY(open_stored(sets, corpus->cfg.temp_dir, err));
        BM_TRY(bm_spill_add(sets->file, sets->places[doc].set,
                            corpus->sizes[doc] * sizeof(uint64_t), &record, err));
        sets->stored[sets->n_stored++] = (bm_stored_set){doc, record};
    }
    return BM_OK;
}

bm_status bm_corpus_put_long(const bm_corpus *corpus, const bm_shingle_batch *shingles,
                             size_t first, bm_error *err)
{
    bm_spill_put put = {.file = corpus->sets.file};
    bm_status status = BM_OK;
    for (size_t i = 0; i < shingles->n_docs; i++) {
        const bm_stored_set *stored =
            is_stored(corpus, first + i) ? find_stored(corpus, first + i) : NULL;
        if (stored != NULL)
            BM_TRY_OUT(bm_spill_put_add(
                &put, stored->record, shingles->hashes + shingles->offsets[i],
                (size_t)(shingles->offsets[i + 1] - shingles->offsets[i]) * sizeof(uint64_t), err));
    }
out:
    return bm_spill_put_end(&put, status, err);
}

/* --- are candidates few enough to make sets again? --- */

#define LOOK_DOCS ((size_t)1 << 17)
/* if at most this share of the documents are candidates, making sets again is cheaper than a
 * file */
#define CANDIDATES 0.4

static uint64_t hash_of(uint64_t key, uint64_t seed)
{
    return seed == 0 ? key * UINT64_C(0x9E3779B97F4A7C15) : bm_hash_seeded(key, 0, seed);
}

static uint64_t hash_again(const void *keys, uint32_t doc, uint64_t seed)
{
    return hash_of(((const uint64_t *)keys)[doc], seed);
}

static bool has_key(const void *keys, uint32_t doc, const void *key)
{
    return ((const uint64_t *)keys)[doc] == *(const uint64_t *)key;
}

/* Among the first n documents, mark those that share their key in this band with another one. */
static bm_status mark_candidates(const bm_corpus *corpus, uint32_t band, size_t n,
                                 bm_hash_table *table, uint8_t *marks, bm_error *err)
{
    const uint64_t *keys = corpus->keys.columns[band];
    BM_TRY(bm_hash_table_clear(table, n, err));
    for (size_t doc = 0; doc < n; doc++) {
        if (corpus->skip[doc])
            continue;
        BM_TRY(bm_hash_table_reserve(table, hash_again, keys, err));
        const uint64_t hash = hash_of(keys[doc], table->seed);
        const size_t at = bm_hash_table_find(table, hash, has_key, keys, &keys[doc]);
        if (bm_hash_table_is_free(table, at))
            bm_hash_table_put(table, at, hash, (uint32_t)doc);
        else
            marks[doc] = marks[bm_hash_table_number(table, at)] = 1;
    }
    return BM_OK;
}

/* Let N be the expected number of documents, of which the first n are examined. If documents come
 * in random order, the first n include n / N of the partners of each document. So the share of the
 * n documents that have a partner among them is multiplied by N / n, which estimates the share of
 * candidates among all N. */
bm_status bm_corpus_few_candidates(const bm_corpus *corpus, uint64_t read, bool *few, bm_error *err)
{
    const uint64_t all = corpus->cfg.input_bytes;
    const size_t n = corpus->n < LOOK_DOCS ? corpus->n : LOOK_DOCS;
    const double fold = read > 0 && all > read ? (double)all / (double)read : 1;
    bm_hash_table table = {0};
    uint8_t *marks = NULL;
    size_t n_marked = 0;
    bm_status status = BM_OK;
    *few = false;
    if (corpus->keys.state != BM_KEYS_IN_MEMORY || n == 0)
        return BM_OK;
    BM_TRY_OUT(bm_new_zero(&marks, n, err));
    for (uint32_t band = 0; band < corpus->cfg.bands; band++)
        BM_TRY_OUT(mark_candidates(corpus, band, n, &table, marks, err));
    for (size_t doc = 0; doc < n; doc++)
        n_marked += marks[doc];
    *few = (double)n_marked / (double)n * fold * (double)corpus->n / (double)n <= CANDIDATES;
out:
    bm_hash_table_reset(&table);
    bm_free(marks);
    return status;
}

/* --- opening and closing --- */

static bm_status open_made(bm_corpus *corpus, bm_error *err)
{
    struct bm_corpus_made *made = NULL;
    const uint64_t arena = corpus->cfg.budget.arena / 2,
                   first = arena != 0 && arena < FIRST_BYTES ? arena : FIRST_BYTES;
    if (corpus->sets.made != NULL)
        return BM_OK;
    BM_TRY(bm_new_zero(&made, 1, err));
    corpus->sets.made = made;
    made->most = (size_t)first / sizeof *made->arena;
    BM_TRY(bm_new_zero(&made->at, corpus->n, err));
    return bm_new_zero(&made->before, corpus->n, err);
}

void bm_corpus_made_close(struct bm_corpus_made *made)
{
    if (made == NULL)
        return;
    for (uint32_t i = 0; i < made->n_makers; i++)
        bm_set_maker_close(made->makers[i]);
    bm_free(made->makers);
    bm_free(made->at);
    bm_free(made->before);
    bm_free(made->arena);
    bm_free(made->docs);
    bm_free(made);
}

const uint64_t *bm_corpus_made_set(const bm_corpus *corpus, uint32_t doc)
{
    const struct bm_corpus_made *made = corpus->sets.made;
    return made->arena + made->at[doc] - 1;
}

/* --- the arena --- */

/* The most words that the arena may have: the arena's half of budget.arena, and half of the memory
 * that is left for matching. */
static size_t most_words(const bm_corpus *corpus)
{
    const uint64_t left = bm_corpus_matching_bytes(corpus);
    const uint64_t bytes =
        left == 0 ? UINT64_MAX : corpus->cfg.budget.arena / 2 + (left + corpus->sets.bytes) / 2;
    return bytes / sizeof(uint64_t) < UINT32_MAX ? (size_t)(bytes / sizeof(uint64_t))
                                                 : UINT32_MAX - 1;
}

/* Empty the arena. If many of its sets were made repeatedly, raise its limit. */
static void empty(bm_corpus *corpus)
{
    struct bm_corpus_made *made = corpus->sets.made;
    const size_t most = most_words(corpus);
    if (made->remade > made->used / REMADE_PART && made->most < most)
        made->most = made->most < most / GROWTH ? made->most * GROWTH : most;
    memset(made->at, 0, corpus->n * sizeof *made->at);
    made->used = made->remade = 0;
}

static bm_status grow_arena(bm_corpus *corpus, bm_error *err)
{
    struct bm_corpus_made *made = corpus->sets.made;
    const uint64_t arena = corpus->cfg.budget.arena / 2;
    size_t cap = made->used + made->used / 2;
    if (made->used <= made->cap)
        return BM_OK;
    cap = cap < made->most ? cap : made->most;
    cap = cap < made->used ? made->used : cap;
    const uint64_t bytes = (uint64_t)cap * sizeof *made->arena;
    corpus->sets.bytes = arena != 0 && bytes > arena ? bytes - arena : 0;
    if (cap > made->most) /* two long documents may exceed the arena */
        BM_TRY(bm_corpus_check_matching(corpus, 0, err));
    uint64_t *words = bm_resize(made->arena, cap, sizeof *words);
    if (words == NULL)
        return bm_fail_nomem(err, (size_t)bytes);
    made->arena = words;
    made->cap = cap;
#if defined(MADV_HUGEPAGE)
    char *const begin = (char *)words;
    const size_t skip = (HUGE_BYTES - (uintptr_t)begin % HUGE_BYTES) % HUGE_BYTES;
    if (skip + HUGE_BYTES <= bytes) /* a failure has no consequence, because this is only advice */
        (void)madvise(begin + skip, ((size_t)bytes - skip) / HUGE_BYTES * HUGE_BYTES,
                      MADV_HUGEPAGE);
#endif
    return BM_OK;
}

/* --- making --- */

static bm_record_place place_of(const bm_corpus *corpus, size_t doc)
{
    const bm_doc_row *row = bm_doc_table_row(corpus->cfg.docs, doc);
    return (bm_record_place){row->file, row->line, corpus->sets.texts[doc], row->text_bytes};
}

/* Is the document so long that the memory of one maker does not suffice if all threads make sets at
 * the same time? */
static bool is_long(const bm_corpus *corpus, size_t doc)
{
    const struct bm_corpus_made *made = corpus->sets.made;
    const uint64_t most = maker_bytes(corpus);
    return most != 0 && bm_doc_table_row(corpus->cfg.docs, doc)->text_bytes * TEXT_FOLD >
                            most / (made->n_makers + 1);
}

/* Is set i of `made` the same as the document's dropped set? */
static bool is_same(const bm_corpus *corpus, size_t doc, const bm_shingle_batch *made, size_t i)
{
    const bm_hash128 *content = corpus->copies.content;
    return made->offsets[i + 1] - made->offsets[i] == corpus->sizes[doc] &&
           (content == NULL ||
            (content[doc].lo == made->content[i].lo && content[doc].hi == made->content[i].hi));
}

/* Make the sets of n documents in one call of the maker. */
static bm_status make_some(bm_corpus *corpus, bm_set_maker *maker, const uint64_t *docs, size_t n,
                           bm_record_place *places, bm_error *err)
{
    struct bm_corpus_made *made = corpus->sets.made;
    const bm_shingle_batch *sets = NULL;
    bm_sorter sorter = {0};
    bm_status status = BM_OK;
    for (size_t i = 0; i < n; i++)
        places[i] = place_of(corpus, docs[i]);
    BM_TRY(bm_set_maker_make(maker, places, n, &sets, err));
    for (size_t i = 0; i < n; i++) {
        const size_t doc = docs[i], size = corpus->sizes[doc];
        if (doc % BM_DOC_LEAVE_ROWS == 0)
            bm_corpus_leave(corpus);
        uint64_t *to = made->arena + made->at[doc] - 1;
        if (!is_same(corpus, doc, sets, i))
            BM_TRY_OUT(bm_set_maker_changed(&corpus->cfg.again, &places[i], err));
        memcpy(to, sets->hashes + sets->offsets[i], size * sizeof *to);
        BM_TRY_OUT(bm_sorter_sort(&sorter, to, size, err));
    }
out:
    bm_sorter_reset(&sorter);
    return status;
}

static bm_status make_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    bm_corpus *corpus = ctx;
    struct bm_corpus_made *made = corpus->sets.made;
    bm_record_place places[GRAIN];
    if (made->makers[thread] == NULL)
        BM_TRY(bm_set_maker_open(&corpus->cfg.again, &made->makers[thread], err));
    for (size_t i = begin, n; i < end; i += n) {
        uint64_t bytes = bm_doc_table_row(corpus->cfg.docs, made->docs[i])->text_bytes;
        for (n = 1; i + n < end && n < GRAIN; n++) {
            bytes += bm_doc_table_row(corpus->cfg.docs, made->docs[i + n])->text_bytes;
            if (bytes > TEXT_BYTES)
                break;
        }
        BM_TRY(make_some(corpus, made->makers[thread], made->docs + i, n, places, err));
    }
    return BM_OK;
}

/* Read the stored set of a long document. */
static bm_status read_stored(bm_corpus *corpus, const bm_stored_set *stored, bm_error *err)
{
    struct bm_corpus_made *made = corpus->sets.made;
    const size_t size = corpus->sizes[stored->doc];
    uint64_t *to = made->arena + made->at[stored->doc] - 1;
    bm_sorter sorter = {0};
    BM_TRY(bm_spill_read(corpus->sets.file, stored->record, to, size * sizeof *to, err));
    const bm_status status = bm_sorter_sort(&sorter, to, size, err);
    bm_sorter_reset(&sorter);
    corpus->sets.bytes_back += size * sizeof *to;
    return status;
}

/* Make the sets of long documents one after another, each with its own maker. If the set is stored,
 * read it instead. */
static bm_status make_long(bm_corpus *corpus, size_t first, bm_error *err)
{
    struct bm_corpus_made *made = corpus->sets.made;
    bm_set_maker *maker = NULL;
    bm_status status = BM_OK;
    for (size_t i = first; i < made->n_docs; i++) {
        const uint64_t bytes = bm_doc_table_row(corpus->cfg.docs, made->docs[i])->text_bytes *
                               TEXT_FOLD,
                       most = maker_bytes(corpus);
        const bm_stored_set *stored = find_stored(corpus, made->docs[i]);
        bm_record_place place;
        if (stored != NULL) {
            BM_TRY_OUT(read_stored(corpus, stored, err));
            continue;
        }
        if (bytes > most)
            BM_TRY_OUT(bm_corpus_check_matching(corpus, bytes - most, err));
        BM_TRY_OUT(bm_set_maker_open(&corpus->cfg.again, &maker, err));
        BM_TRY_OUT(make_some(corpus, maker, made->docs + i, 1, &place, err));
        bm_set_maker_close(maker);
        maker = NULL;
        bm_memory_trim();
    }
out:
    bm_set_maker_close(maker);
    return status;
}

/* Sort the documents whose sets are made next: in the order of the inputs, except that long
 * documents come last. Sets *n_short to the number of documents that are not long. */
static bm_status order_docs(bm_corpus *corpus, size_t *n_short, bm_error *err)
{
    struct bm_corpus_made *made = corpus->sets.made;
    uint64_t *scratch = NULL;
    size_t n = 0, n_long = 0;
    BM_TRY(bm_new(&scratch, made->n_docs + 16, err));
    bm_hashes_sort(made->docs, made->n_docs, scratch);
    for (size_t i = 0; i < made->n_docs; i++) {
        const uint64_t doc = made->docs[i];
        if (is_long(corpus, doc))
            scratch[n_long++] = doc;
        else
            made->docs[n++] = doc;
    }
    memcpy(made->docs + n, scratch, n_long * sizeof *scratch);
    bm_free(scratch);
    *n_short = n;
    return BM_OK;
}

static bm_status make_listed(bm_corpus *corpus, bm_pool *pool, bm_error *err)
{
    struct bm_corpus_made *made = corpus->sets.made;
    size_t n_short;
    if (made->n_docs == 0)
        return BM_OK;
    if (made->makers == NULL) {
        BM_TRY(bm_new_zero(&made->makers, bm_pool_size(pool), err));
        made->n_makers = bm_pool_size(pool);
    }
    BM_TRY(grow_arena(corpus, err));
    BM_TRY(order_docs(corpus, &n_short, err));
    BM_TRY(n_short <= GRAIN
               ? make_range(corpus, 0, 0, n_short, err) /* too few documents to wake other
                                                         * threads */
               : bm_pool_for(pool, (bm_pool_split){n_short, GRAIN}, make_range, corpus, err));
    return make_long(corpus, n_short, err);
}

/* If the arena does not have the document's set, reserve space for it and list the document. */
static bm_status want(bm_corpus *corpus, uint32_t doc, bm_error *err)
{
    struct bm_corpus_made *made = corpus->sets.made;
    if (made->at[doc] != 0)
        return BM_OK;
    BM_TRY(bm_grow_array(&made->docs, &made->cap_docs, made->n_docs + 1, err));
    made->docs[made->n_docs++] = doc;
    made->at[doc] = (uint32_t)made->used + 1;
    made->used += corpus->sizes[doc];
    made->remade += made->before[doc] != 0 ? corpus->sizes[doc] : 0;
    made->before[doc] = 1;
    return BM_OK;
}

bm_status bm_corpus_make_sets(bm_corpus *corpus, const bm_pair *pairs, size_t n, bm_pool *pool,
                              size_t *n_made, bm_error *err)
{
    BM_TRY(open_made(corpus, err));
    struct bm_corpus_made *made = corpus->sets.made;
    made->n_docs = 0;
    size_t i = 0;
    for (; i < n; i++) {
        const uint32_t a = corpus->rep[pairs[i].a], b = corpus->rep[pairs[i].b];
        const size_t more = (made->at[a] == 0 ? corpus->sizes[a] : 0) +
                            (made->at[b] == 0 && a != b ? corpus->sizes[b] : 0);
        if (made->used + more > made->most && i > 0)
            break;
        if (made->used + more > made->most)
            empty(corpus);
        BM_TRY(want(corpus, a, err));
        BM_TRY(want(corpus, b, err));
    }
    *n_made = i;
    return make_listed(corpus, pool, err);
}
