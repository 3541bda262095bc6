/* against_sets.c -- the inputs of signatures are read as they were when they were signed, through the ingest.
 *
 *     rows of the directory    input 0  |   input 1   | input 2 ...       sources.tsv: how many of each
 *     marked                    *    *  |             |    *
 *     read                     ----------             ----------          documents in order are rows in order
 *
 * That a file is the one that was signed is known when its last byte was read, by its digest; before that, a document
 * that has another number of shingles tells that it is not.
 *
 * Tests: tests/cli/cases/against_exact.sh, tests/reference/test_against.py */
#include "jobs/against_sets.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/memory.h"
#include "results/result_tables.h"
#include "results/source_table.h"
#include "model/file_names.h"
#include "job/recipe_ingest.h"
#include "corpus/corpus_room.h"
#include "jobs/against_state.h"

/* The inputs that are read: all arrays are of `part.n_inputs`. */
typedef struct chosen {
    bm_recipe part;  /* borrows from the recipe of all, but for the arrays */
    uint64_t *begin; /* first row of each */
    uint64_t *end;   /* behind its last */
} chosen;

typedef struct reading {
    bm_against *against;
    const bm_row_marks *rows;
    chosen inputs;
    size_t file;  /* of the chosen, that is being read */
    uint64_t row; /* of its next document */
    bm_spill_file *out;
} reading;

/* --- which inputs --- */

static bool has_marked(const bm_row_marks *rows, uint64_t begin, uint64_t end)
{
    for (uint64_t row = begin; row < end; row++) {
        if (row % 64 == 0)
            while (end - row >= 64 && rows->bits[row / 64] == 0)
                row += 64;
        if (row < end && bm_row_is_marked(rows, row))
            return true;
    }
    return false;
}

static void reset_chosen(chosen *c)
{
    bm_free(c->part.inputs);
    bm_free(c->part.names);
    bm_free(c->part.paths);
    bm_free(c->begin);
    bm_free(c->end);
}

static bm_status alloc_chosen(chosen *c, size_t n, bm_error *err)
{
    c->part.inputs = bm_alloc(n, sizeof *c->part.inputs);
    c->part.names = bm_alloc(n, sizeof *c->part.names);
    c->part.paths = bm_alloc(n, sizeof *c->part.paths);
    c->begin = bm_alloc(n, sizeof *c->begin);
    c->end = bm_alloc(n, sizeof *c->end);
    return c->part.inputs == NULL || c->part.names == NULL || c->part.paths == NULL ||
                   c->begin == NULL || c->end == NULL
               ? bm_fail_nomem(err, n * sizeof *c->begin)
               : BM_OK;
}

static bm_status choose(reading *r, bm_error *err)
{
    const bm_recipe *all = &r->against->recipe;
    chosen *c = &r->inputs;
    uint64_t row = 0;
    bm_source_column column = {.field = BM_SOURCES_DOCUMENTS};
    c->part = (bm_recipe){.manifests = all->manifests, .n = all->n};
    bm_status status = BM_OK;
    BM_TRY_OUT(alloc_chosen(c, all->n_inputs, err));
    column.rows = bm_alloc(all->n_inputs, sizeof *column.rows);
    if (column.rows == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, all->n_inputs * sizeof *column.rows));
    BM_TRY_OUT(bm_source_table_read(r->against->manifest, &column, 1, err));
    if (column.sum != r->rows->n_rows)
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_FORMAT, bm_sign_dir_path(r->against->dir), 0,
                              "%s counts %" PRIu64 " documents (the manifest %" PRIu64 ")",
                              BM_FILE_SOURCES, column.sum, r->rows->n_rows));
    for (size_t i = 0; i < all->n_inputs; i++) {
        const uint64_t begin = row, end = row + column.rows[i];
        const size_t n = c->part.n_inputs;
        row = end;
        if (!has_marked(r->rows, begin, end))
            continue;
        c->part.inputs[n] = all->inputs[i];
        c->part.names[n] = all->names[i];
        c->part.paths[n] = all->paths[i];
        c->begin[n] = begin;
        c->end[n] = end;
        c->part.n_inputs++;
    }
out:
    bm_free(column.rows);
    return status;
}

/* --- their documents --- */

static bm_status other_documents(const reading *r, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_FORMAT, r->inputs.part.names[r->file], 0,
                      "its documents are not those that %s was made from",
                      bm_sign_dir_path(r->against->dir));
}

/* The next document is of this file: those before it have all that they should. */
static bm_status move_to(reading *r, size_t file, bm_error *err)
{
    for (; r->file < file; r->row = r->inputs.begin[++r->file])
        if (r->row != r->inputs.end[r->file])
            return other_documents(r, err);
    return BM_OK;
}

static bm_status take(reading *r, const bm_shingle_batch *shingles, size_t i, bm_error *err)
{
    const uint64_t begin = shingles->offsets[i], n = shingles->offsets[i + 1] - begin;
    uint32_t signed_n;
    BM_TRY(bm_sign_dir_n_shingles(r->against->dir, r->row, 1, &signed_n, err));
    if (n != signed_n)
        BM_TRY(other_documents(r, err));
    return bm_spill_add(r->out, shingles->hashes + begin, (size_t)n * sizeof *shingles->hashes,
                        NULL, err);
}

/* A bm_ingest_sink. Of a batch that failed nothing is wanted. */
static bm_status on_batch(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    (void)first_row;
    reading *r = ctx;
    for (size_t i = 0; batch->status == BM_OK && i < batch->n_docs; i++) {
        BM_TRY(move_to(r, batch->docs[i].row.file, err));
        if (r->row == r->inputs.end[r->file])
            BM_TRY(other_documents(r, err));
        if (bm_row_is_marked(r->rows, r->row))
            BM_TRY(take(r, &batch->shingles, i, err));
        r->row++;
    }
    return BM_OK;
}

/* --- all of it --- */

static bm_status read_inputs(reading *r, bm_job_context *context, bm_corpus *corpus, bm_error *err)
{
    const chosen *c = &r->inputs;
    const bm_ingest_wish wish = {
        .sink = on_batch, .sink_ctx = r, .room = bm_corpus_room, .room_ctx = corpus};
    r->row = c->begin[0];
    BM_TRY(bm_recipe_ingest(&c->part, &r->against->known, context, &wish, err));
    BM_TRY(move_to(r, c->part.n_inputs - 1, err));
    if (r->row != c->end[r->file])
        BM_TRY(other_documents(r, err));
    return BM_OK;
}

bm_status bm_against_sets(bm_against *against, bm_job_context *context, bm_corpus *corpus,
                          bm_marked_sets *sets, bm_error *err)
{
    reading r = {.against = against, .rows = &sets->rows};
    bm_status status = choose(&r, err);
    if (status == BM_OK)
        bm_meter_log(&context->meter, BM_LOG_DEBUG,
                     "%" PRIu64 " of %" PRIu64 " known documents are candidates: %zu of %zu inputs "
                     "of %s are read again",
                     r.rows->n, r.rows->n_rows, r.inputs.part.n_inputs, against->recipe.n_inputs,
                     bm_sign_dir_path(against->dir));
    if (status == BM_OK)
        status =
            bm_spill_open(context->settings->temp_dir, BM_SPILL_SETS, BM_SETS_BUFFER, &r.out, err);
    if (status == BM_OK && r.inputs.part.n_inputs > 0) {
        status = read_inputs(&r, context, corpus, err);
        against->changed = status == BM_ERR_FORMAT;
    }
    if (status == BM_OK)
        status = bm_spill_flush(r.out, err);
    sets->file = r.out;
    reset_chosen(&r.inputs);
    return status;
}
