/* against_signed.c -- rows of signatures.npy to band keys, and these into an index.
 *
 * For estimates one index does: all documents, with their words. Exact similarities need sets, and only of documents that
 * share a band with one of the job's:
 *
 *     keys of all known documents -> index without words -> which are found by keys of the corpus -> marks
 *     marked documents' inputs, read again -> sets (against_sets.h) -> index of these alone
 *
 * The second index answers as one of all known documents would: it holds every candidate, in the same order.
 *
 * Tests: tests/cli/cases/dedup_against.sh, tests/cli/cases/against_exact.sh, tests/reference/test_against.py */
#include "jobs/against_signed.h"

#include <string.h>

#include <bandmill/sketch.h>

#include "model/scheme_facts.h"
#include "base/error.h"
#include "base/memory.h"
#include "model/option_names.h"
#include "lsh/verify.h"
#include "job/job_stages.h"
#include "corpus/corpus_range.h"
#include "index/search_hits.h"
#include "jobs/against_sets.h"
#include "jobs/against_state.h"
#include "store/store_write.h"

#define BLOCK_ROWS 4096u
#define SORT_GRAIN 16u
#define HIT_BYTES  16u /* in a list of hits, while it is sorted */
#define HITS_LEAST ((size_t)1 << 16)

/* --- blocks of rows --- */

/* Of the rows of one block those that are wanted. */
typedef struct block {
    bm_sign_dir *dir;
    const bm_band_plan *plan;
    bm_scheme scheme;
    size_t n;
    uint32_t *words, *n_shingles;
    uint64_t *keys;
    size_t *ends;
    bm_buf ids;
    bm_store_doc *docs;
    const uint64_t **sets; /* into `hashes` */
    uint64_t *hashes;
    size_t cap_hashes;
} block;

static bm_status open_block(block *b, bm_sign_dir *dir, const bm_settings *s, bm_error *err)
{
    const bm_band_plan *plan = &s->plan;
    const size_t row = bm_scheme_row_uints(s->sketch.scheme, plan->perms);
    *b = (block){.dir = dir, .plan = plan, .scheme = s->sketch.scheme};
    b->words = bm_alloc(BLOCK_ROWS * row, sizeof *b->words);
    b->n_shingles = bm_alloc(BLOCK_ROWS, sizeof *b->n_shingles);
    b->keys = bm_alloc((size_t)BLOCK_ROWS * plan->bands, sizeof *b->keys);
    b->ends = bm_alloc(BLOCK_ROWS, sizeof *b->ends);
    b->docs = bm_alloc(BLOCK_ROWS, sizeof *b->docs);
    b->sets = bm_alloc(BLOCK_ROWS, sizeof *b->sets);
    return b->words == NULL || b->n_shingles == NULL || b->keys == NULL || b->ends == NULL ||
                   b->docs == NULL || b->sets == NULL
               ? bm_fail_nomem(err, BLOCK_ROWS * row * sizeof *b->words)
               : BM_OK;
}

static void reset_block(block *b)
{
    bm_free(b->words);
    bm_free(b->n_shingles);
    bm_free(b->keys);
    bm_free(b->ends);
    bm_free(b->docs);
    bm_free(b->sets);
    bm_free(b->hashes);
    bm_buf_reset(&b->ids);
}

/* Rows at … at+BLOCK_ROWS-1, or as many as there are; all of them, or those that are marked. */
static bm_status load_block(block *b, uint64_t at, const bm_row_marks *marks, bm_error *err)
{
    const uint64_t left = bm_sign_dir_docs(b->dir) - at;
    const size_t n = left < BLOCK_ROWS ? (size_t)left : BLOCK_ROWS, bands = b->plan->bands;
    b->n = b->ids.len = 0;
    bool any = marks == NULL;
    for (size_t i = 0; !any && i < n; i++)
        any = bm_row_is_marked(marks, at + i);
    if (!any)
        return BM_OK;
    BM_TRY(bm_sign_dir_rows(b->dir, at, n, b->words, err));
    BM_TRY(bm_sign_dir_n_shingles(b->dir, at, n, b->n_shingles, err));
    BM_TRY(bm_sign_dir_ids(b->dir, at, n, &(bm_sign_ids){&b->ids, b->ends}, err));
    BM_TRY(bm_signed_rows_keys(&(bm_signed_rows){b->scheme, b->words, n}, b->plan, b->keys, err));
    for (size_t i = 0; i < n; i++) {
        const size_t begin = i == 0 ? 0 : b->ends[i - 1];
        if (marks != NULL && !bm_row_is_marked(marks, at + i))
            continue;
        b->docs[b->n] = (bm_store_doc){.id = {b->ids.data + begin, b->ends[i] - begin},
                                       .n_shingles = b->n_shingles[i]};
        if (b->n < i)
            memcpy(b->keys + b->n * bands, b->keys + i * bands, bands * sizeof *b->keys);
        b->n++;
    }
    return BM_OK;
}

/* --- all documents, with their words or without --- */

static bm_status load_all(bm_against *against, bm_job_context *context, uint32_t words,
                          bm_error *err)
{
    const bm_settings *s = context->settings;
    const bm_store_facts facts = {
        .kind = BM_STORE_SIGNATURES, .bands = s->plan.bands, .words = words};
    const bm_store_cfg cfg = {
        .mode = BM_STORE_WRITE, .memory = context->budget.arena, .temp_dir = s->temp_dir};
    const uint64_t n_docs = bm_sign_dir_docs(against->dir);
    block b;
    uint32_t first;
    bm_status status = BM_OK;
    BM_TRY_OUT(open_block(&b, against->dir, s, err));
    BM_TRY_OUT(bm_store_create_unnamed(&facts, &cfg, &against->store, err));
    for (uint64_t at = 0; at < n_docs; at += BLOCK_ROWS) {
        BM_TRY_OUT(load_block(&b, at, NULL, err));
        const bm_store_batch batch = {
            .n = b.n, .docs = b.docs, .words = words > 0 ? b.words : NULL, .keys = b.keys};
        BM_TRY_OUT(bm_store_add(against->store, &batch, &first, err));
        BM_TRY_OUT(bm_meter_check(&context->meter, err));
    }
out:
    reset_block(&b);
    return status;
}

static bm_status end_store(bm_against *against, bm_error *err)
{
    BM_TRY(bm_store_commit(against->store, err));
    return bm_store_view_open(against->store, &against->view, err);
}

static void close_store(bm_against *against)
{
    bm_store_view_close(against->view);
    bm_store_close(against->store);
    against->view = NULL;
    against->store = NULL;
}

/* --- candidates --- */

typedef struct asking {
    uint64_t *keys;
    uint32_t *n_shingles;
    bm_row_marks *marks;
} asking;

static void mark_found(const bm_search_hits *hits, size_t n, bm_row_marks *marks, uint64_t *left)
{
    for (size_t i = 0; i < hits->n_lists; i++) {
        const bm_hit_list *list = &hits->lists[i];
        for (size_t k = 0; k < list->n; k++)
            bm_row_mark(marks, list->list[k] >> 32);
        for (size_t c = 0; c < list->n_crowded; c++)
            for (size_t k = 0; k < list->crowded[c].n_numbers; k++)
                bm_row_mark(marks, list->crowded[c].numbers[k]);
    }
    for (size_t i = 0; hits->left != NULL && i < n; i++)
        *left += hits->left[i];
}

/* Mark what n documents find, of which fewer are asked for at once where they find very much; *left: documents that were
 * left out, summed. */
static bm_status ask(const bm_key_batch *all, bm_row_marks *marks, uint64_t *left, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t at = 0, n = all->n; status == BM_OK && at < all->n;) {
        bm_key_batch batch = *all;
        bm_search_hits hits = {0};
        bool many = false;
        batch.n = n < all->n - at ? n : all->n - at;
        batch.alone = batch.n == 1;
        batch.keys = all->keys + at * all->bands;
        batch.n_shingles = all->n_shingles + at;
        status = bm_search_look_up(&batch, &hits, &many, err);
        if (status == BM_OK && many) {
            n = batch.n / 2;
            continue;
        }
        if (status == BM_OK)
            mark_found(&hits, batch.n, marks, left);
        bm_search_hits_reset(&hits);
        at += batch.n;
    }
    return status;
}

/* Copies and documents without shingles ask for nothing. */
static bm_status ask_rows(const bm_against *against, bm_job_context *context,
                          const bm_corpus *corpus, asking *a, bm_error *err)
{
    bm_key_batch batch = {.view = against->view,
                          .pool = context->pool,
                          .bands = corpus->cfg.bands,
                          .keys = a->keys,
                          .n_shingles = a->n_shingles,
                          .most = (size_t)(context->budget.arena / HIT_BYTES),
                          .first = BM_SEARCH_FIRST,
                          .keep_crowded = true};
    if (batch.most < HITS_LEAST)
        batch.most = HITS_LEAST;
    for (size_t row = 0; row < corpus->n; row += batch.n) {
        batch.n = corpus->n - row < BLOCK_ROWS ? corpus->n - row : BLOCK_ROWS;
        for (size_t i = 0; i < batch.n; i++)
            a->n_shingles[i] = corpus->skip[row + i] ? 0 : corpus->sizes[row + i];
        BM_TRY(bm_corpus_copy_keys(corpus, row, batch.n, a->keys, err));
        BM_TRY(ask(&batch, a->marks, &context->against.not_compared, err));
        BM_TRY(bm_meter_check(&context->meter, err));
    }
    return BM_OK;
}

static bm_status find_candidates(const bm_against *against, bm_job_context *context,
                                 const bm_corpus *corpus, bm_row_marks *out, bm_error *err)
{
    const size_t n_keys = (size_t)BLOCK_ROWS * corpus->cfg.bands;
    asking a = {.keys = bm_alloc(n_keys, sizeof *a.keys),
                .n_shingles = bm_alloc(BLOCK_ROWS, sizeof *a.n_shingles),
                .marks = out};
    bm_status status = a.keys == NULL || a.n_shingles == NULL
                           ? bm_fail_nomem(err, n_keys * sizeof *a.keys)
                           : ask_rows(against, context, corpus, &a, err);
    bm_free(a.keys);
    bm_free(a.n_shingles);
    return status;
}

/* --- candidates with their sets --- */

typedef struct filling {
    bm_store *store;
    bm_pool *pool;
    const bm_spill_file *file;
    uint64_t place; /* of the next record */
    uint64_t most;  /* bytes of sets at a time */
} filling;

static bm_status sort_sets(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    const block *b = ctx;
    size_t largest = 16;
    for (size_t i = begin; i < end; i++)
        largest = b->docs[i].n_shingles > largest ? b->docs[i].n_shingles : largest;
    const size_t cap = largest < BM_SORT_SCRATCH ? largest : BM_SORT_SCRATCH;
    uint64_t *scratch = NULL;
    BM_TRY(bm_new(&scratch, cap, err));
    for (size_t i = begin; i < end; i++)
        bm_hashes_sort_within(b->hashes + (b->sets[i] - b->hashes), b->docs[i].n_shingles, scratch,
                              cap);
    bm_free(scratch);
    return BM_OK;
}

/* Sets of documents first … first+n-1 of the block, n being as many as fit, one at least. */
static bm_status read_sets(filling *f, block *b, size_t first, size_t *n, bm_error *err)
{
    uint64_t hashes = b->docs[first].n_shingles;
    for (*n = 1; first + *n < b->n; ++*n) {
        const uint64_t more = b->docs[first + *n].n_shingles;
        if ((hashes + more) * sizeof *b->hashes > f->most)
            break;
        hashes += more;
    }
    bm_status status = bm_grow_array(&b->hashes, &b->cap_hashes, (size_t)hashes, err);
    uint64_t *to = b->hashes;
    for (size_t i = first; status == BM_OK && i < first + *n; i++) {
        const size_t bytes = b->docs[i].n_shingles * sizeof *to;
        status = bm_spill_read(f->file, f->place, to, bytes, err);
        f->place += BM_SPILL_RECORD + bytes;
        b->sets[i] = to;
        to += b->docs[i].n_shingles;
    }
    return status;
}

static bm_status add_block(filling *f, block *b, bm_error *err)
{
    uint32_t number;
    for (size_t first = 0, n = 0; first < b->n; first += n) {
        BM_TRY(read_sets(f, b, first, &n, err));
        block part = *b;
        part.docs = b->docs + first;
        part.sets = b->sets + first;
        BM_TRY(bm_pool_for(f->pool, (bm_pool_split){n, SORT_GRAIN}, sort_sets, &part, err));
        const bm_store_batch batch = {
            .n = n, .docs = part.docs, .sets = part.sets, .keys = b->keys + first * b->plan->bands};
        BM_TRY(bm_store_add(f->store, &batch, &number, err));
    }
    return BM_OK;
}

static bm_status load_marked(bm_against *against, bm_job_context *context,
                             const bm_marked_sets *sets, bm_error *err)
{
    const bm_settings *s = context->settings;
    const bm_store_facts facts = {.kind = BM_STORE_SETS, .bands = s->plan.bands};
    const bm_store_cfg cfg = {
        .mode = BM_STORE_WRITE, .memory = context->budget.arena / 2, .temp_dir = s->temp_dir};
    filling f = {.pool = context->pool,
                 .file = sets->file,
                 .place = BM_SPILL_HEADER,
                 .most = context->budget.arena / 4};
    block b;
    bm_status status = BM_OK;
    BM_TRY_OUT(open_block(&b, against->dir, s, err));
    BM_TRY_OUT(bm_store_create_unnamed(&facts, &cfg, &against->store, err));
    f.store = against->store;
    for (uint64_t at = 0; at < sets->rows.n_rows; at += BLOCK_ROWS) {
        BM_TRY_OUT(load_block(&b, at, &sets->rows, err));
        BM_TRY_OUT(add_block(&f, &b, err));
        BM_TRY_OUT(bm_meter_check(&context->meter, err));
    }
out:
    reset_block(&b);
    return status;
}

static bm_status load_exact(bm_against *against, bm_job_context *context, bm_corpus *corpus,
                            bm_error *err)
{
    bm_marked_sets sets = {.rows = {.n_rows = bm_sign_dir_docs(against->dir)}};
    const size_t n_bits = (size_t)(sets.rows.n_rows / 64 + 1);
    bm_status status = load_all(against, context, 0, err);
    if (status == BM_OK)
        status = end_store(against, err);
    sets.rows.bits = bm_alloc_zero(n_bits, sizeof *sets.rows.bits);
    if (status == BM_OK && sets.rows.bits == NULL)
        status = bm_fail_nomem(err, n_bits * sizeof *sets.rows.bits);
    if (status == BM_OK)
        status = find_candidates(against, context, corpus, &sets.rows, err);
    close_store(against);
    bm_job_context_stage(context, BM_STAGE_READ, "bytes");
    if (status == BM_OK)
        status = bm_against_sets(against, context, corpus, &sets, err);
    if (status == BM_OK)
        status = load_marked(against, context, &sets, err);
    bm_spill_close(sets.file);
    bm_free(sets.rows.bits);
    return status;
}

bm_status bm_against_load(bm_against *against, bm_job_context *context, bm_corpus *corpus,
                          bm_error *err)
{
    const bm_settings *s = context->settings;
    if (against->dir == NULL)
        return BM_OK;
    close_store(against); /* of a run that gave way */
    bm_job_context_stage(context, BM_STAGE_LOAD, "documents");
    BM_TRY(bm_verify_reads_sets(s->pairs.verify)
               ? load_exact(against, context, corpus, err)
               : load_all(against, context, bm_scheme_row_uints(s->sketch.scheme, s->plan.perms),
                          err));
    return end_store(against, err);
}

uint64_t bm_against_documents(const bm_against *against)
{
    if (against->dir != NULL)
        return bm_sign_dir_docs(against->dir);
    return bm_store_view_counts(against->view).documents;
}
