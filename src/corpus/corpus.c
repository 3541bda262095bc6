/* SPDX-License-Identifier: Apache-2.0 */
/* corpus.c -- adds documents: makes room for them, stores their sizes, finds copies, and stores
 * sets, words and keys. One thread copies the set of a representative, once. The set does not move
 * while pointers to it exist.
 *
 * Tests: tests/unit/corpus/test_corpus_copies.c, tests/unit/job/test_checkpoint_documents.c,
 *        tests/unit/job/test_corpus_range.c,
 *        tests/unit/job/test_corpus_spill.c, tests/unit/match/test_match_all_pairs.c */
#include "corpus/corpus.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "corpus/corpus_parts.h"
#include "lsh/similarity.h"
#include "model/option_words.h"

/* === corpus memory ===
 *
 * Decides what is moved to files, and when.
 *
 * If the job's peak memory (corpus_sets.c) would exceed --memory, sets are moved to a file first.
 * They are by far the largest part, with 8 bytes for each shingle. If that does not suffice, band
 * keys follow, with 8 bytes for each band. docs/memory.md lists the other memory of a document. */

/* A column of the corpus, and the pointer to its elements. */
typedef struct array {
    bm_column *column;
    void *elements; /* address of the corpus member that points to the elements */
    size_t size;    /* bytes of one element */
    bool is_wanted;
    bool may_leave; /* elements are read in order, so the column may be in a file */
} array;

static bm_status grow_array(const array *a, size_t n, const char *dir, bm_error *err)
{
    void *none;
    if (!a->is_wanted)
        return BM_OK;
    BM_TRY(bm_column_grow(a->column, n * a->size, a->may_leave ? dir : NULL, err));
    memcpy(&none, a->elements, sizeof none);
    if (none == NULL) /* stored only once, because other threads may be reading the pointer */
        memcpy(a->elements, &a->column->data, sizeof a->column->data);
    return BM_OK;
}

/* Make room for n documents in total. Existing elements do not move. */
static bm_status grow(bm_corpus *corpus, size_t n, bm_error *err)
{
    const bm_corpus_cfg *cfg = &corpus->cfg;
    bm_corpus_sets *sets = &corpus->sets;
    bm_doc_copies *copies = &corpus->copies;
    const bool apart = cfg->memory != 0 && n * BM_COLUMNS_DOC > bm_corpus_columns_part(corpus),
               stay = sets->state != BM_SETS_AGAIN;
    const array arrays[] = {
        {&corpus->rep_column, &corpus->rep, sizeof *corpus->rep, true, true},
        {&corpus->skip_column, &corpus->skip, sizeof *corpus->skip, true, false},
        {&corpus->sizes_column, &corpus->sizes, sizeof *corpus->sizes, true, true},
        {&copies->content_column, &copies->content, sizeof *copies->content, cfg->find_identical,
         true},
        {&sets->texts_column, &sets->texts, sizeof *sets->texts, cfg->again.source != NULL, true},
        {&sets->sorted_column, &sets->sorted, sizeof *sets->sorted,
         stay && !bm_corpus_sets_in_file(corpus), false},
        {&sets->places_column, &sets->places, sizeof *sets->places, stay, true}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        BM_TRY(grow_array(&arrays[i], n, apart ? cfg->temp_dir : NULL, err));
    if (copies->rep == NULL) { /* set only once, as in grow_array */
        copies->sizes = corpus->sizes;
        copies->skip = corpus->skip;
        copies->rep = corpus->rep;
    }
    return bm_corpus_keys_grow(corpus, n, err);
}

/* If many documents were added, remove from memory the file pages of their columns, which will not
 * be read soon. */
static void leave_added(bm_corpus *corpus)
{
    if ((corpus->n - corpus->n_left) * BM_COLUMNS_DOC > bm_corpus_columns_part(corpus) / 4) {
        bm_corpus_leave(corpus);
        corpus->n_left = corpus->n;
    }
}

static bool fits(const bm_corpus *corpus, const bm_corpus_sums *sums)
{
    uint64_t memory = corpus->cfg.memory;
    return memory == 0 || bm_corpus_bytes_needed(corpus, sums) <= memory;
}

/* Move the sets to a file. If making them again is cheaper, drop them instead. */
static bm_status move_sets(bm_corpus *corpus, uint64_t bytes, uint64_t read, bm_error *err)
{
    bool few = false;
    if (corpus->cfg.again.source != NULL && corpus->sets.state == BM_SETS_IN_MEMORY &&
        !bm_corpus_sets_have_name(corpus))
        BM_TRY(bm_corpus_few_candidates(corpus, read, &few, err));
    if (!few)
        return bm_corpus_move_sets(corpus, bytes, read, err);
    BM_TRY(bm_corpus_store_long(corpus, err));
    bm_corpus_drop_sets(corpus);
    return BM_OK;
}

/* If a corpus with these sums would not fit into memory, take the sets out of memory (move_sets),
 * and if that does not suffice, move the keys to a file. With cfg.spill_now, do both even if the
 * corpus fits. Without cfg.temp_dir, nothing is moved. BM_ERR_NOMEM: the corpus still does not
 * fit. */
static bm_status spill(bm_corpus *corpus, bm_corpus_sums sums, uint64_t read, bm_error *err)
{
    const bm_corpus_cfg *cfg = &corpus->cfg;
    if (!cfg->spill_now && fits(corpus, &sums))
        return BM_OK;
    if (cfg->temp_dir != NULL && (cfg->hashes || cfg->words.uints > 0))
        BM_TRY(move_sets(corpus, sums.set_bytes, read, err));
    if (corpus->sets.state == BM_SETS_AGAIN)
        sums.set_bytes = 0;
    if (cfg->temp_dir != NULL && (cfg->spill_now || !fits(corpus, &sums)))
        BM_TRY(bm_corpus_move_keys(corpus, read, err));
    if (fits(corpus, &sums))
        return BM_OK;
    return bm_corpus_too_large(corpus, sums.n, bm_corpus_bytes_needed(corpus, &sums), err);
}

bm_status bm_corpus_reclaim(void *ctx, uint64_t wanted, uint64_t *free, bm_error *err)
{
    bm_corpus *corpus = ctx;
    const bm_corpus_cfg *cfg = &corpus->cfg;
    bm_status status = BM_OK;
    corpus->batch_bytes = 0;
    *free = bm_corpus_free_bytes(corpus);
    if (*free < wanted && cfg->temp_dir != NULL && corpus->sets.bytes > BM_SETS_BUFFER)
        status = move_sets(corpus, corpus->sets.bytes, cfg->input_bytes, err);
    *free = bm_corpus_free_bytes(corpus);
    return status;
}

/* Record what bm_corpus_bytes_needed must know of a batch, apart from its documents and sets. */
static void see_batch(bm_corpus *corpus, const bm_corpus_more *more)
{
    corpus->batch_bytes = more->batch_bytes;
    corpus->longest = corpus->longest > more->longest ? corpus->longest : more->longest;
}

static bm_corpus_sums with(const bm_corpus_sums *sums, const bm_corpus_more *more)
{
    bm_corpus_sums all = *sums;
    all.n += more->docs;
    all.set_bytes += more->set_bytes;
    return all;
}

/* Would adding the documents of `more` to `sums` require a file: for sets, for keys, or for the set
 * of a long document? row_bytes and id_bytes of `sums` must include these documents already. */
static bool corpus_moves_for(bm_corpus *corpus, const bm_corpus_sums *sums,
                             const bm_corpus_more *more)
{
    const bm_corpus_sums all = with(sums, more);
    see_batch(corpus, more);
    return (corpus->cfg.spill_now && corpus->sets.state == BM_SETS_IN_MEMORY) ||
           bm_corpus_too_long_to_make(corpus, more->longest) || !fits(corpus, &all);
}

/* Prepare for adding documents: move sets and keys to files if necessary, then make room.
 * BM_ERR_NOMEM: memory does not suffice even then. BM_ERR_IO. */
static bm_status corpus_reserve(bm_corpus *corpus, const bm_corpus_more *more, bm_error *err)
{
    const bm_corpus_sums now = bm_corpus_sums_now(corpus);
    const size_t n = corpus->n + more->docs;
    if (n > BM_DOCS_MAX)
        return bm_fail(err, BM_ERR_INPUT, "more than %u documents in one run",
                       (unsigned)BM_DOCS_MAX);
    see_batch(corpus, more);
    BM_TRY(spill(corpus, with(&now, more), more->input_bytes_read, err));
    return grow(corpus, n, err);
}

/* === corpus sort ===
 *
 * Sets in memory are sorted when they are first needed, since most documents are never
 * candidates. */

#define SORT_GRAIN 64u

typedef struct sort_job {
    bm_corpus *corpus;
    uint32_t *docs;
    size_t n, cap;
} sort_job;

static bm_status sort_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    sort_job *job = ctx;
    bm_corpus *corpus = job->corpus;
    bm_sorter sorter = {0};
    bm_status status = BM_OK;
    for (size_t i = begin; status == BM_OK && i < end; i++)
        status = bm_sorter_sort(&sorter, corpus->sets.places[job->docs[i]].set,
                                corpus->sizes[job->docs[i]], err);
    bm_sorter_reset(&sorter);
    return status;
}

static bm_status want_sorted(sort_job *job, uint32_t doc, bm_error *err)
{
    uint32_t rep = job->corpus->rep[doc];
    if (job->corpus->sets.sorted[rep] || job->corpus->cfg.weighted) /* weighted sets were sorted
                                                                     * when they were added */
        return BM_OK;
    BM_TRY(bm_grow(&job->docs, &job->cap, job->n + 1, sizeof *job->docs, err));
    job->docs[job->n++] = rep;
    job->corpus->sets.sorted[rep] = 1;
    return BM_OK;
}

static bm_status sort_wanted(sort_job *job, bm_status status, bm_pool *pool, bm_error *err)
{
    if (status == BM_OK)
        status = bm_pool_for(pool, (bm_pool_split){job->n, SORT_GRAIN}, sort_range, job, err);
    bm_free(job->docs);
    return status;
}

/* Sort those sets of the pairs' documents that are not sorted yet, on all threads. Sets must be in
 * memory. */
static bm_status corpus_sort(bm_corpus *corpus, const bm_pair *pairs, size_t n, bm_pool *pool,
                             bm_error *err)
{
    sort_job job = {.corpus = corpus};
    bm_status status = BM_OK;
    for (size_t i = 0; i < n; i++) {
        BM_TRY_OUT(want_sorted(&job, pairs[i].a, err));
        BM_TRY_OUT(want_sorted(&job, pairs[i].b, err));
    }
out:
    return sort_wanted(&job, status, pool, err);
}

static bm_status corpus_sort_docs(bm_corpus *corpus, const uint32_t *docs, size_t n, bm_pool *pool,
                                  bm_error *err)
{
    sort_job job = {.corpus = corpus};
    bm_status status = BM_OK;
    for (size_t i = 0; i < n; i++)
        BM_TRY_OUT(want_sorted(&job, docs[i], err));
out:
    return sort_wanted(&job, status, pool, err);
}

bm_status bm_corpus_sort_all(bm_corpus *corpus, bm_pool *pool, bm_error *err)
{
    sort_job job = {.corpus = corpus};
    bm_status status = BM_OK;
    for (size_t i = 0; i < corpus->n; i++)
        BM_TRY_OUT(want_sorted(&job, (uint32_t)i, err));
out:
    return sort_wanted(&job, status, pool, err);
}

/* === corpus compare ===
 *
 * Computes similarities of pairs. The sets may be in memory or in a file, or are made again.
 *
 * Sets in memory are sorted if necessary, and compared. Sets in a file are read back to an arena,
 * for as many pairs at a time as fit. The documents of these pairs are listed once each in
 * ascending order, which is the order of the records. Then all threads read the sets, sort them and
 * compare the pairs.
 *
 *     pairs   (3,9) (3,20) (9,12) …        documents   3 9 12 20      sets   -> arena
 *
 * Reading a set back costs less than making it again from its text, which would have to be found,
 * read, parsed and hashed. Besides, a stream cannot be read twice. Most pages of the file were
 * written recently and are still in the page cache, which does not count as memory of the
 * process. */

#define PAIR_GRAIN 256u
#define DOC_GRAIN  512u
#define PAIRS_MOST ((size_t)1 << 20) /* most pairs whose sets are read at a time */

typedef struct comparison {
    bm_corpus *corpus;
    bm_similarity_rule rule;
    bm_pool *pool;
    bm_pair *pairs;
    size_t n;
    /* Used if sets are in a file: */
    uint64_t *docs; /* the documents of the current pairs, each once, ascending */
    uint64_t *at;   /* for each document: offset of its set in the arena; until then scratch
                     * memory */
    uint32_t *of;   /* elements 2i and 2i + 1: index in `docs` of the documents a and b of pair i */
    size_t n_docs;
} comparison;

/* --- comparing --- */

/* The set of the representative `rep`. c->of[at] is its index in `docs`. */
static const void *set_of(const comparison *c, size_t at, uint32_t rep)
{
    const bm_corpus_sets *sets = &c->corpus->sets;
    if (sets->state == BM_SETS_AGAIN)
        return bm_corpus_made_set(c->corpus, rep);
    return bm_corpus_sets_in_file(c->corpus) ? sets->arena + c->at[c->of[at]]
                                             : (const void *)sets->places[rep].set;
}

static double similarity(const comparison *c, size_t i)
{
    const bm_corpus *corpus = c->corpus;
    uint32_t x = corpus->rep[c->pairs[i].a], y = corpus->rep[c->pairs[i].b];
    const void *set_x = set_of(c, 2 * i, x), *set_y = set_of(c, 2 * i + 1, y);
    if (x == y && c->rule.verify != BM_VERIFY_SIGNATURE)
        return 1.0;
    return bm_similarity(&c->rule, (bm_compared){set_x, corpus->sizes[x]},
                         (bm_compared){set_y, corpus->sizes[y]});
}

static bm_status compare_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    (void)err;
    comparison *c = ctx;
    for (size_t i = begin; i < end; i++)
        c->pairs[i].similarity = similarity(c, i);
    return BM_OK;
}

static bm_status compare(comparison *c, bm_error *err)
{
    if (c->n <= PAIR_GRAIN) /* too few pairs to wake other threads */
        return compare_range(c, 0, 0, c->n, err);
    return bm_pool_for(c->pool, (bm_pool_split){c->n, PAIR_GRAIN}, compare_range, c, err);
}

/* --- sets in a file --- */

static size_t set_len(const comparison *c, uint64_t rep)
{
    const bm_corpus *corpus = c->corpus;
    return c->rule.verify == BM_VERIFY_SIGNATURE
               ? corpus->cfg.words.uints * sizeof(uint32_t)
               : corpus->sizes[rep] * bm_corpus_element_bytes(corpus);
}

/* List the documents of the first c->n pairs. Returns the bytes of their sets. */
static uint64_t list_docs(comparison *c)
{
    const size_t n = 2 * c->n;
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        const bm_pair *pair = &c->pairs[i / 2];
        c->docs[i] = (uint64_t)c->corpus->rep[i % 2 == 0 ? pair->a : pair->b] << 32 | i;
    }
    bm_hashes_sort(c->docs, n, c->at);
    c->n_docs = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t doc = c->docs[i] >> 32;
        const uint32_t place = (uint32_t)c->docs[i];
        if (c->n_docs == 0 || c->docs[c->n_docs - 1] != doc) {
            c->docs[c->n_docs] = doc;
            c->at[c->n_docs++] = bytes;
            bytes += set_len(c, doc);
        }
        c->of[place] = (uint32_t)c->n_docs - 1;
    }
    return bytes;
}

/* Of the next `left` pairs, choose as many as fit into the arena: at least one, at most PAIRS_MOST.
 * Returns the bytes of their sets. */
static uint64_t choose_pairs(comparison *c, size_t left)
{
    uint64_t most = c->corpus->cfg.budget.arena;
    c->n = left < PAIRS_MOST ? left : PAIRS_MOST;
    for (;;) {
        uint64_t bytes = list_docs(c);
        if (bytes <= most || c->n == 1)
            return bytes;
        size_t fewer = (size_t)((double)c->n * (double)most / (double)bytes * .9);
        c->n = fewer < 1 ? 1 : fewer < c->n ? fewer : c->n - 1;
    }
}

static bm_status read_sets(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    comparison *c = ctx;
    const bool sorts = c->rule.verify != BM_VERIFY_SIGNATURE && !c->corpus->cfg.weighted;
    bm_set_reader reader = {.corpus = c->corpus};
    bm_status status = BM_OK;
    for (size_t i = begin; i < end; i++) {
        size_t len = set_len(c, c->docs[i]);
        void *to = c->corpus->sets.arena + c->at[i];
        BM_TRY_OUT(bm_set_reader_copy(&reader, c->docs[i], to, len, err));
        if (sorts)
            BM_TRY_OUT(bm_sorter_sort(&reader.sorter, to, len / sizeof(uint64_t), err));
    }
out:
    bm_set_reader_reset(&reader);
    return status;
}

static bm_status load(comparison *c, uint64_t bytes, bm_error *err)
{
    bm_corpus_sets *sets = &c->corpus->sets;
    const uint64_t arena = c->corpus->cfg.budget.arena;
    if (bytes > arena && arena != 0) {
        /* two long documents may exceed the arena */
        BM_TRY(bm_corpus_check_matching(c->corpus, bytes - arena, err));
    }
    if (bytes > sets->cap_arena) {
        bm_free(sets->arena);
        sets->arena = NULL;
        sets->cap_arena = 0;
        sets->arena = bm_alloc((size_t)bytes, 1);
        if (sets->arena == NULL)
            return bm_fail_nomem(err, (size_t)bytes);
        sets->cap_arena = (size_t)bytes;
    }
    sets->bytes_back += bytes;
    return bm_pool_for(c->pool, (bm_pool_split){c->n_docs, DOC_GRAIN}, read_sets, c, err);
}

static bm_status compare_from_file(comparison *c, size_t n, bm_error *err)
{
    bm_status status = BM_OK;
    const size_t most = 2 * (n < PAIRS_MOST ? n : PAIRS_MOST);
    BM_TRY_OUT(bm_new(&c->docs, most, err));
    BM_TRY_OUT(bm_new(&c->at, most, err));
    BM_TRY_OUT(bm_new(&c->of, most, err));
    for (size_t left = n; left > 0; left -= c->n) {
        uint64_t bytes = choose_pairs(c, left);
        BM_TRY_OUT(load(c, bytes, err));
        BM_TRY_OUT(compare(c, err));
        c->pairs += c->n;
    }
out:
    bm_free(c->docs);
    bm_free(c->at);
    bm_free(c->of);
    return status;
}

/* --- sets made again --- */

static bm_status compare_made(comparison *c, size_t n, bm_error *err)
{
    for (size_t left = n; left > 0; left -= c->n) {
        BM_TRY(bm_corpus_make_sets(c->corpus, c->pairs, left, c->pool, &c->n, err));
        BM_TRY(compare(c, err));
        c->pairs += c->n;
    }
    return BM_OK;
}

bm_status bm_corpus_compare(bm_corpus *corpus, const bm_comparison *how, bm_pair *pairs, size_t n,
                            bm_error *err)
{
    comparison c = {.corpus = corpus, .rule = how->rule, .pool = how->pool, .pairs = pairs, .n = n};
    c.rule.weighted = corpus->cfg.weighted;
    c.rule.words = corpus->cfg.words;
    if (how->rule.verify == BM_VERIFY_NONE) {
        for (size_t i = 0; i < n; i++)
            pairs[i].similarity = NAN;
        return BM_OK;
    }
    if (bm_corpus_sets_in_file(corpus))
        return n == 0 ? BM_OK : compare_from_file(&c, n, err);
    if (corpus->sets.state == BM_SETS_AGAIN)
        return compare_made(&c, n, err);
    if (bm_verify_reads_sets(how->rule.verify))
        BM_TRY(corpus_sort(corpus, pairs, n, how->pool, err));
    return compare(&c, err);
}

/* === corpus range ===
 *
 * Keys are copied. Sets in memory are sorted in place; sets in a file are read back. */

#define SET_GRAIN 512u

void bm_corpus_range_reset(bm_corpus_range *range)
{
    bm_free(range->docs);
    bm_free(range->sizes);
    bm_free(range->keys);
    bm_free(range->sets);
    bm_free(range->words);
    bm_free(range->arena);
    *range = (bm_corpus_range){0};
}

/* Resize one of the arrays that share a capacity, which the caller stores. */
static bm_status range_array(void *elements, size_t cap, size_t size, bm_error *err)
{
    size_t had = 0;
    return bm_grow(elements, &had, cap, size, err);
}

/* Make all arrays large enough for `cap` documents. */
static bm_status range_grow(const bm_corpus *corpus, bm_corpus_range *range, size_t cap,
                            bm_error *err)
{
    BM_TRY(bm_grow_array(&range->keys, &range->cap_keys, cap * corpus->cfg.bands, err));
    if (corpus->cfg.words.uints > 0)
        BM_TRY(bm_grow_array(&range->words, &range->cap_words, cap * corpus->cfg.words.uints, err));
    if (cap <= range->cap)
        return BM_OK;
    BM_TRY(range_array(&range->docs, cap, sizeof *range->docs, err));
    BM_TRY(range_array(&range->sizes, cap, sizeof *range->sizes, err));
    BM_TRY(range_array(&range->sets, cap, sizeof *range->sets, err));
    range->cap = cap;
    return BM_OK;
}

/* The number of rows in the range that begins at range->next. Sets *hashes to the number of hashes
 * in their sets. */
static size_t count_rows(const bm_corpus *corpus, const bm_corpus_range *range, uint64_t most,
                         uint64_t *hashes)
{
    const uint64_t each =
        corpus->cfg.bands * sizeof(uint64_t) + corpus->cfg.words.uints * sizeof(uint32_t);
    const uint64_t fit = each > 0 ? most / BM_RANGE_PART / each : 0;
    const uint64_t n_rows = fit < BM_RANGE_ROWS ? BM_RANGE_ROWS : fit;
    size_t row = range->next;
    *hashes = 0;
    for (; row < corpus->n && row - range->next < n_rows; row++) {
        const uint64_t size = corpus->skip[row] ? 0 : corpus->sizes[row];
        if (*hashes > 0 && (*hashes + size) * sizeof(uint64_t) > most)
            break;
        *hashes += size;
    }
    return row - range->next;
}

/* Read the keys of the next n_rows rows, and keep those of documents that can be compared. */
static bm_status read_rows(const bm_corpus *corpus, bm_corpus_range *range, size_t n_rows,
                           bm_error *err)
{
    const uint32_t bands = corpus->cfg.bands;
    bm_status status = bm_corpus_copy_keys(corpus, range->next, n_rows, range->keys, err);
    range->n = 0;
    for (size_t i = 0; status == BM_OK && i < n_rows; i++) {
        const size_t row = range->next + i;
        if (corpus->skip[row])
            continue;
        range->docs[range->n] = (uint32_t)row;
        range->sizes[range->n] = corpus->sizes[row];
        memmove(range->keys + range->n++ * bands, range->keys + i * bands,
                bands * sizeof *range->keys);
    }
    range->next += n_rows;
    return status;
}

/* --- sets --- */

typedef struct reading {
    const bm_corpus *corpus;
    bm_corpus_range *range;
} reading;

bm_status bm_corpus_copy_set(bm_set_reader *reader, size_t row, void *to, bm_error *err)
{
    const bm_corpus *corpus = reader->corpus;
    const size_t words = corpus->cfg.words.uints,
                 len = words > 0 ? words * sizeof(uint32_t) : corpus->sizes[row] * sizeof(uint64_t);
    BM_TRY(bm_set_reader_copy(reader, row, to, len, err));
    return words > 0 ? BM_OK : bm_sorter_sort(&reader->sorter, to, corpus->sizes[row], err);
}

static bm_status read_some(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    const reading *r = ctx;
    const bm_corpus_range *range = r->range;
    const size_t perms = r->corpus->cfg.words.uints;
    bm_set_reader reader = {.corpus = r->corpus};
    bm_status status = BM_OK;
    for (size_t i = begin; i < end; i++) {
        void *to = perms > 0 ? (void *)(range->words + i * perms)
                             : range->arena + (range->sets[i] - range->arena);
        BM_TRY_OUT(bm_corpus_copy_set(&reader, range->docs[i], to, err));
    }
out:
    bm_set_reader_reset(&reader);
    return status;
}

static bm_status sort_in_memory(bm_corpus *corpus, bm_corpus_range *range, bm_pool *pool,
                                bm_error *err)
{
    BM_TRY(corpus_sort_docs(corpus, range->docs, range->n, pool, err));
    for (size_t i = 0; i < range->n; i++)
        range->sets[i] = corpus->sets.places[range->docs[i]].set;
    return BM_OK;
}

static bm_status place_in_arena(bm_corpus_range *range, uint64_t hashes, bm_error *err)
{
    size_t at = 0;
    BM_TRY(bm_grow_array(&range->arena, &range->cap_arena, (size_t)hashes, err));
    for (size_t i = 0; i < range->n; i++) {
        range->sets[i] = range->arena + at;
        at += range->sizes[i];
    }
    return BM_OK;
}

bm_status bm_corpus_range_next(bm_corpus *corpus, uint64_t most, bm_pool *pool,
                               bm_corpus_range *range, bm_error *err)
{
    const bool in_file = bm_corpus_sets_in_file(corpus), words = corpus->cfg.words.uints > 0;
    reading r = {corpus, range};
    uint64_t hashes;
    if (range->next >= corpus->n)
        return BM_NOT_FOUND;
    const size_t n_rows = count_rows(corpus, range, most, &hashes);
    BM_TRY(range_grow(corpus, range, n_rows, err));
    BM_TRY(read_rows(corpus, range, n_rows, err));
    if (!in_file && !words)
        return sort_in_memory(corpus, range, pool, err);
    if (in_file)
        BM_TRY(bm_spill_flush(corpus->sets.file, err));
    if (!words)
        BM_TRY(place_in_arena(range, hashes, err));
    return bm_pool_for(pool, (bm_pool_split){range->n, SET_GRAIN}, read_some, &r, err);
}

/* === corpus save ===
 *
 * Restores the rows of a saved corpus. */

/* Among n documents from `first`, find and count the copies. The content hashes of all n must be
 * set. */
static bm_status find_copies(bm_corpus *corpus, size_t first, size_t n, bm_error *err)
{
    uint64_t found = 0;
    const bm_status status = bm_doc_copies_find(&corpus->copies, first, n, &found, err);
    corpus->n_identical += found;
    return status;
}

static bm_status restore_copies(bm_corpus *corpus, const bm_corpus_rows *rows, bm_error *err)
{
    size_t first = corpus->n;
    if (rows->content != NULL && corpus->copies.content == NULL)
        return bm_fail(err, BM_ERR_FORMAT,
                       "documents are saved with content hashes, and this job has none");
    for (size_t i = 0; i < rows->n && rows->content != NULL; i++)
        corpus->copies.content[first + i] = rows->content[i];
    bm_doc_copies_begin(&corpus->copies, first, rows->n);
    if (rows->rep == NULL)
        return find_copies(corpus, first, rows->n, err);
    for (size_t i = 0; i < rows->n; i++) {
        size_t row = first + i;
        uint32_t rep = rows->rep[i];
        if (rep > row || (rep < row && corpus->rep[rep] != rep))
            return bm_fail(err, BM_ERR_FORMAT, "document %zu is saved as a copy of no original",
                           row);
        corpus->rep[row] = rep;
        corpus->skip[row] = corpus->sizes[row] == 0 || rep != row;
        corpus->n_identical += rep != row;
    }
    return BM_OK;
}

bm_status bm_corpus_restore_rows(bm_corpus *corpus, const bm_corpus_rows *rows, bm_error *err)
{
    size_t first = corpus->n;
    BM_TRY(corpus_reserve(corpus, &(bm_corpus_more){.docs = rows->n}, err));
    for (size_t i = 0; i < rows->n; i++)
        corpus->sizes[first + i] = rows->docs[i].n_shingles;
    bm_corpus_sets_clear(corpus, first, rows->n);
    BM_TRY(restore_copies(corpus, rows, err));
    bm_corpus_sets_place(corpus, first, rows->n);
    BM_TRY(bm_corpus_add_keys(corpus, rows->keys, rows->n, err));
    bm_corpus_put_keys(corpus, rows->keys, first, rows->n);
    if (rows->texts != NULL && corpus->sets.texts != NULL)
        memcpy(corpus->sets.texts + first, rows->texts, rows->n * sizeof *rows->texts);
    else if (corpus->sets.state == BM_SETS_AGAIN && rows->n > 0)
        return bm_fail(err, BM_ERR_FORMAT, "documents are saved without sets");
    corpus->n += rows->n;
    return BM_OK;
}

bm_status bm_corpus_restore_end(bm_corpus *corpus, bm_error *err)
{
    const bm_corpus_sets *sets = &corpus->sets;
    if (!bm_corpus_sets_in_file(corpus) || (sets->saved.bytes == bm_spill_bytes(sets->file) &&
                                            sets->saved.records == bm_spill_records(sets->file)))
        return BM_OK;
    return bm_fail(
        err, BM_ERR_FORMAT, "the saved sets are those of other documents (%llu bytes, not %llu)",
        (unsigned long long)bm_spill_bytes(sets->file), (unsigned long long)sets->saved.bytes);
}

void bm_corpus_init(bm_corpus *corpus, const bm_corpus_cfg *cfg)
{
    memset(corpus, 0, sizeof *corpus);
    corpus->cfg = *cfg;
    corpus->copies.wanted = cfg->find_identical;
    corpus->copies.given_keys = cfg->given_keys;
    if (cfg->again.source != NULL && cfg->never_kept)
        corpus->sets.state = BM_SETS_AGAIN;
}

void bm_corpus_reset(bm_corpus *corpus)
{
    bm_column_reset(&corpus->rep_column);
    bm_column_reset(&corpus->sizes_column);
    bm_column_reset(&corpus->skip_column);
    bm_doc_copies_reset(&corpus->copies);
    bm_corpus_made_close(corpus->sets.made);
    bm_corpus_sets_reset(&corpus->sets);
    bm_corpus_keys_reset(corpus);
    memset(corpus, 0, sizeof *corpus);
}

/* --- adding --- */

/* The number of documents of a batch. A batch of a sample has no rows, but shingles. */
static size_t docs_of(const bm_ingest_batch *batch)
{
    return batch->as_text ? batch->n_docs : batch->shingles.n_docs;
}

/* For each document of the batch, store the offset of its record in the input. Its set may be made
 * again from this record. */
static void note_places(const bm_corpus *corpus, const bm_ingest_batch *batch, size_t first)
{
    for (size_t i = 0; i < batch->n_docs; i++)
        corpus->sets.texts[first + i] = batch->docs[i].place;
}

/* Upper bounds of the memory that the batch adds. */
static bm_corpus_more more_of(const bm_corpus *corpus, const bm_ingest_batch *batch)
{
    const uint64_t all = bm_shingle_batch_hashes(&batch->shingles), n_docs = docs_of(batch);
    uint64_t hashes = corpus->cfg.hashes && corpus->sets.state != BM_SETS_AGAIN ? all : 0;
    uint64_t words = n_docs * corpus->cfg.words.uints;
    return (bm_corpus_more){.docs = n_docs,
                            .set_bytes =
                                hashes * bm_corpus_element_bytes(corpus) + words * sizeof(uint32_t),
                            .batch_bytes = all * bm_corpus_element_bytes(corpus),
                            .longest = batch->turn.longest,
                            .input_bytes_read = batch->turn.bytes_read};
}

/* Would adding these documents now require a file, as in corpus_moves_for? */
static bool moves_now(bm_corpus *corpus, const bm_corpus_more *more)
{
    const bm_corpus_sums now = bm_corpus_sums_now(corpus);
    return corpus_moves_for(corpus, &now, more);
}

static bool corpus_claim(void *ctx, const bm_ingest_batch *batch, size_t first_row, bool first)
{
    bm_corpus *corpus = ctx;
    const bm_doc_table *docs = corpus->cfg.docs;
    const bm_corpus_more more = more_of(corpus, batch);
    bm_corpus_sums *ahead = &corpus->ahead;
    if (first)
        *ahead = (bm_corpus_sums){
            .n = corpus->n, .n_contents = corpus->copies.n, .set_bytes = corpus->sets.bytes};
    if (docs != NULL)
        ahead->row_bytes = bm_doc_table_bytes_with(docs, &batch->turn.sums, &ahead->id_bytes);
    ahead->row_bytes -= ahead->id_bytes;
    if (batch->status != BM_OK || first_row != ahead->n || corpus_moves_for(corpus, ahead, &more) ||
        grow(corpus, ahead->n + more.docs, NULL) != BM_OK)
        return false;
    ahead->n += more.docs;
    ahead->n_contents += corpus->cfg.find_identical ? more.docs : 0;
    ahead->set_bytes += more.set_bytes;
    return true;
}

/* Count the copies of a claimed batch. Called when the batch is next in input order. */
static void accept(bm_corpus *corpus, const bm_ingest_copies *found)
{
    const size_t n = (size_t)atomic_load(&found->n);
    corpus->n_identical += n;
    if (corpus->cfg.find_identical)
        corpus->copies.n += (size_t)found->n_filled - n;
}

/* Add the rows of a batch that was not claimed, but not their sets. */
static bm_status add_rows(bm_corpus *corpus, const bm_ingest_batch *batch,
                          const bm_corpus_more *more, size_t first_row, bm_error *err)
{
    BM_TRY(corpus_reserve(corpus, more, err));
    bm_doc_copies_note(&corpus->copies, batch, first_row, more->docs);
    bm_corpus_sets_clear(corpus, first_row, more->docs);
    return find_copies(corpus, first_row, more->docs, err);
}

/* Add the rows of a batch, and reserve space for its sets. Sets and keys are moved to files if
 * necessary. */
static bm_status place_batch(bm_corpus *corpus, const bm_ingest_batch *batch, size_t first_row,
                             bm_error *err)
{
    const size_t n = docs_of(batch);
    bm_set_sums sums;
    if (n == 0)
        return BM_OK;
    if (batch->turn.claimed) {
        accept(corpus, &batch->copies);
        sums = bm_corpus_sum_batch(corpus, batch);
    } else {
        const bm_corpus_more more = more_of(corpus, batch);
        BM_TRY(add_rows(corpus, batch, &more, first_row, err));
        sums = bm_corpus_sum_sets(corpus, first_row, first_row + n);
    }
    BM_TRY(bm_corpus_place_sets(corpus, first_row, n, &sums, err));
    if (!batch->as_text && bm_corpus_too_long_to_make(corpus, batch->turn.longest))
        BM_TRY(bm_corpus_place_long(corpus, first_row, n, err));
    BM_TRY(bm_corpus_add_keys(corpus, batch->keys, n, err));
    corpus->n += n;
    leave_added(corpus);
    return BM_OK;
}

static bm_status corpus_place(void *ctx, const bm_ingest_batch *batch, size_t first_row,
                              bm_error *err)
{
    bm_corpus *corpus = ctx;
    const bm_corpus_more more = more_of(corpus, batch);
    if (!batch->turn.claimed && !batch->turn.all_put && moves_now(corpus, &more))
        return BM_NOT_FOUND;
    return place_batch(corpus, batch, first_row, err);
}

static bm_status corpus_put(void *ctx, const bm_ingest_batch *batch, size_t first_row,
                            bm_error *err)
{
    const bm_corpus *corpus = ctx;
    const bm_shingle_batch none = {.n_docs = docs_of(batch)};
    bm_corpus_put_keys(corpus, batch->keys, first_row, none.n_docs);
    if (corpus->cfg.again.source != NULL)
        note_places(corpus, batch, first_row);
    if (!batch->as_text && corpus->sets.n_stored > 0)
        BM_TRY(bm_corpus_put_long(corpus, &batch->shingles, first_row, err));
    return bm_corpus_put_sets(corpus, batch->as_text ? &none : &batch->shingles, batch->words,
                              first_row, err);
}

bm_ingest_sink bm_corpus_sink(bm_corpus *corpus)
{
    return (bm_ingest_sink){corpus_place, corpus_put, corpus};
}

bm_ingest_early bm_corpus_early(bm_corpus *corpus)
{
    return (bm_ingest_early){corpus_claim, corpus, &corpus->copies};
}

bm_status bm_corpus_add(bm_corpus *corpus, const bm_ingest_batch *batch, size_t first_row,
                        bm_error *err)
{
    BM_TRY(place_batch(corpus, batch, first_row, err));
    return corpus_put(corpus, batch, first_row, err);
}

bm_status bm_corpus_add_words(bm_corpus *corpus, const bm_signed_docs *docs, bm_error *err)
{
    size_t first = corpus->n, n = docs->n;
    uint64_t words = (uint64_t)n * corpus->cfg.words.uints;
    bm_corpus_more more = {.docs = n, .set_bytes = words * sizeof *docs->words};
    BM_TRY(corpus_reserve(corpus, &more, err));
    corpus->copies.given = corpus->cfg.find_identical && docs->content != NULL;
    for (size_t i = 0; i < n; i++) {
        corpus->sizes[first + i] = docs->n_shingles[i];
        if (corpus->copies.given)
            corpus->copies.content[first + i] = docs->content[i];
    }
    bm_doc_copies_begin(&corpus->copies, first, n);
    bm_corpus_sets_clear(corpus, first, n);
    if (corpus->copies.given)
        BM_TRY(find_copies(corpus, first, n, err));
    if (corpus->cfg.words.uints > 0) {
        const bm_set_sums sums = bm_corpus_sum_sets(corpus, first, first + n);
        BM_TRY(bm_corpus_place_sets(corpus, first, n, &sums, err));
    }
    BM_TRY(bm_corpus_add_keys(corpus, docs->keys, n, err));
    corpus->n += n;
    bm_corpus_put_keys(corpus, docs->keys, first, n);
    return corpus->cfg.words.uints == 0
               ? BM_OK
               : bm_corpus_put_sets(corpus, &(bm_shingle_batch){.n_docs = n}, docs->words, first,
                                    err);
}

/* Is the text of this row still the text that was signed? Compares its number of shingles and, if
 * the corpus has it, its content hash. */
static bool as_signed(const bm_corpus *corpus, size_t row, const bm_shingle_batch *shingles,
                      size_t i)
{
    const bm_hash128 *content = &shingles->content[i], *given = &corpus->copies.content[row];
    return corpus->sizes[row] == shingles->offsets[i + 1] - shingles->offsets[i] &&
           (!corpus->copies.given || (content->lo == given->lo && content->hi == given->hi));
}

static bm_status place_hashes(void *ctx, const bm_ingest_batch *batch, size_t first_row,
                              bm_error *err)
{
    bm_corpus *corpus = ctx;
    const bm_shingle_batch *shingles = &batch->shingles;
    if (first_row + shingles->n_docs > corpus->n)
        return bm_fail(err, BM_ERR_FORMAT,
                       "the inputs hold more documents than were signed (%llu were)",
                       (unsigned long long)corpus->n);
    for (size_t i = 0; i < shingles->n_docs; i++)
        if (!as_signed(corpus, first_row + i, shingles, i))
            return bm_fail(err, BM_ERR_FORMAT,
                           "document %llu is not the one that was signed (its shingles differ)",
                           (unsigned long long)(first_row + i));
    bm_corpus_more more = more_of(corpus, batch);
    more.docs = 0; /* the documents are in the corpus already */
    if (!batch->turn.all_put && moves_now(corpus, &more))
        return BM_NOT_FOUND;
    BM_TRY(corpus_reserve(corpus, &more, err));
    if (!corpus->copies.given) {
        bm_doc_copies_note(&corpus->copies, batch, first_row, shingles->n_docs);
        bm_corpus_sets_clear(corpus, first_row, shingles->n_docs);
        BM_TRY(find_copies(corpus, first_row, shingles->n_docs, err));
    }
    const bm_set_sums sums = bm_corpus_sum_sets(corpus, first_row, first_row + shingles->n_docs);
    return bm_corpus_place_sets(corpus, first_row, shingles->n_docs, &sums, err);
}

static bm_status put_hashes(void *ctx, const bm_ingest_batch *batch, size_t first_row,
                            bm_error *err)
{
    return bm_corpus_put_sets(ctx, &batch->shingles, NULL, first_row, err);
}

bm_ingest_sink bm_corpus_hash_sink(bm_corpus *corpus)
{
    return (bm_ingest_sink){place_hashes, put_hashes, corpus};
}

bm_status bm_corpus_end_adding(bm_corpus *corpus, bm_error *err)
{
    if (corpus->sets.state == BM_SETS_AGAIN) /* content hashes are needed to recognise texts when
                                              * their sets are made again */
        bm_doc_copies_drop_tables(&corpus->copies);
    else
        bm_doc_copies_reset(&corpus->copies);
    bm_memory_trim();
    bm_corpus_leave(corpus);
    BM_TRY(bm_corpus_sets_end(corpus, err));
    return bm_corpus_keys_end(corpus, err);
}

bm_status bm_corpus_begin_matching(bm_corpus *corpus, bm_error *err)
{
    corpus->was_apart = bm_corpus_is_apart(corpus);
    BM_TRY(bm_column_to_memory(&corpus->rep_column, corpus->n * sizeof *corpus->rep, err));
    return bm_column_to_memory(&corpus->sizes_column, corpus->n * sizeof *corpus->sizes, err);
}

bm_status bm_corpus_sets_to_file(bm_corpus *corpus, bm_error *err)
{
    if (bm_corpus_sets_in_file(corpus) || corpus->n == 0)
        return BM_OK;
    BM_TRY(bm_corpus_move_sets(corpus, corpus->sets.bytes, corpus->cfg.input_bytes, err));
    return bm_corpus_sets_end(corpus, err);
}

bm_corpus_spilled bm_corpus_spilled_bytes(const bm_corpus *corpus)
{
    return (bm_corpus_spilled){.set_bytes = corpus->sets.file_bytes,
                               .key_bytes = corpus->keys.file_bytes,
                               .bytes_back = corpus->sets.bytes_back};
}
