/* index_follow.c -- one thread that reads, signs, looks up, and answers.
 *
 * A run of the index for each document would be as many runs as documents, so those that are added wait in a
 * batch, as they do elsewhere: a document is compared with the index as it was before the batch, and with the batch.
 * The batch goes into the index when it is full, and before each commit.
 *
 * Tests: tests/cli/cases/index_follow.sh */
#include "index/index_follow.h"

#include <string.h>

#include "base/error.h"
#include "index/signed_lines.h"

#define BATCH_DOCS  4096u
#define BATCH_BYTES ((uint64_t)8 << 20)

typedef struct follow {
    bm_index_adder *adder;
    bm_signed_lines lines;
    bm_gathered batch;
    void **owned; /* copies of ids and sets of the batch */
    size_t n_owned, cap_owned;
    uint64_t bytes;      /* of these copies */
    bool begun;          /* the adder knows the batch */
    bool uncommitted;    /* something was added since the last commit */
    bm_status committed; /* while nothing came: not BM_OK, why not */
    bm_error why;
} follow;

/* --- the batch --- */

/* The document that was appended last does not stay. */
static void drop_last(follow *f)
{
    const size_t n = f->adder->shape.sets ? 2 : 1;
    f->batch.n--;
    for (size_t i = 0; i < n; i++)
        bm_free(f->owned[--f->n_owned]);
}

static void clear_batch(follow *f)
{
    while (f->n_owned > 0)
        bm_free(f->owned[--f->n_owned]);
    bm_gathered_clear(&f->batch);
    f->bytes = 0;
    f->begun = false;
}

/* What waits goes into the index. */
static bm_status write_batch(follow *f, bm_error *err)
{
    bm_status status = BM_OK;
    if (f->begun)
        status = bm_index_adder_end_batch(f->adder, &f->batch, err);
    clear_batch(f);
    return status;
}

static bm_status begin_batch(follow *f, bm_error *err)
{
    if (f->begun)
        return BM_OK;
    bm_status status = bm_index_adder_begin_batch(f->adder, &f->batch, BATCH_DOCS, err);
    f->begun = status == BM_OK;
    return status;
}

/* A copy, freed with the batch; NULL: no memory. */
static void *own(follow *f, const void *data, size_t len)
{
    void *copy = bm_grow_array(&f->owned, &f->cap_owned, f->n_owned + 1, NULL) == BM_OK
                     ? bm_alloc(len, 1)
                     : NULL;
    if (copy != NULL && len > 0)
        memcpy(copy, data, len);
    if (copy != NULL)
        f->owned[f->n_owned++] = copy;
    return copy;
}

/* The document that was just signed, behind the others. */
static bm_status append(follow *f, const bm_record *record, bm_error *err)
{
    const bm_gather_shape *shape = &f->adder->shape;
    const bm_doc_signer *s = &f->lines.signer;
    bm_gathered *g = &f->batch;
    const size_t n = g->n, n_shingles = s->n_shingles[0];
    BM_TRY(bm_gathered_reserve(g, shape, n + 1, err));
    const char *id = own(f, record->id.data, record->id.len);
    const uint64_t *set = NULL;
    if (id != NULL && shape->sets)
        set = own(f, n_shingles > 0 ? s->sets[0] : NULL, n_shingles * sizeof *set);
    if (id == NULL || (shape->sets && set == NULL))
        return bm_fail_nomem(err, n_shingles * sizeof *set);
    g->docs[n] = (bm_store_doc){.id = {id, record->id.len},
                                .content = s->batch.content[0],
                                .text_bytes = record->text_bytes,
                                .line = record->line,
                                .input = shape->first_input,
                                .n_shingles = s->n_shingles[0]};
    if (shape->sets)
        g->sets[n] = set;
    else
        memcpy(g->words + n * shape->words, s->words, shape->words * sizeof *g->words);
    memcpy(g->keys + n * shape->bands, s->keys, shape->bands * sizeof *g->keys);
    g->n++;
    g->input_bytes = record->text_bytes;
    f->bytes += n_shingles * sizeof *set + record->id.len;
    return BM_OK;
}

/* --- commits --- */

static bool is_due(const follow *f)
{
    return f->uncommitted && bm_index_adder_is_due(f->adder);
}

static bm_status commit(follow *f, bm_error *err)
{
    bm_status status = write_batch(f, err);
    f->uncommitted = false;
    return status == BM_OK ? bm_index_adder_finish(f->adder, err) : status;
}

/* Asked while nothing comes: the time for a commit may be over. */
static bool on_wait(void *ctx)
{
    follow *f = ctx;
    if (f->committed == BM_OK && is_due(f))
        f->committed = commit(f, &f->why);
    return f->committed != BM_OK || bm_meter_check(&f->adder->job->meter, NULL) != BM_OK;
}

/* --- lines --- */

static bm_status add(void *ctx, const bm_record *record, bm_error *err)
{
    follow *f = ctx;
    BM_TRY(begin_batch(f, err));
    BM_TRY(append(f, record, err));
    const size_t last = f->batch.n - 1;
    bm_status status = bm_index_adder_take_one(f->adder, &f->batch, err);
    if (status == BM_OK && !f->adder->stays[last])
        drop_last(f);
    else
        f->uncommitted = true;
    return status;
}

static bm_status answer_lines(follow *f, bm_error *err)
{
    bm_rows *rows = &f->adder->rows;
    bm_line_got got = BM_LINE_RECORD;
    bm_status status = BM_OK;
    for (;;) {
        BM_TRY_OUT(bm_signed_lines_next(&f->lines, add, f, &got, err));
        if (got == BM_LINE_END)
            break;
        BM_TRY_OUT(bm_buf_add(&rows->buf, "\n", 1, err));
        BM_TRY_OUT(bm_rows_flush(rows, true, err));
        if ((f->batch.n >= BATCH_DOCS || f->bytes >= BATCH_BYTES))
            BM_TRY_OUT(write_batch(f, err));
        if (is_due(f))
            BM_TRY_OUT(commit(f, err));
    }
out:
    if (f->committed != BM_OK) { /* that is why the reading stopped */
        status = f->committed;
        if (err != NULL)
            *err = f->why;
    }
    return status == BM_OK ? write_batch(f, err) : status;
}

bm_status bm_index_follow_run(bm_index_adder *adder, bm_error *err)
{
    follow f = {.adder = adder};
    const bm_callbacks callbacks = {.ctx = &f, .cancelled = on_wait};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_signed_lines_open(adder->job, !adder->shape.sets, &callbacks, &f.lines, err));
    status = answer_lines(&f, err);
out:
    clear_batch(&f);
    bm_gathered_reset(&f.batch);
    bm_free(f.owned);
    bm_signed_lines_close(&f.lines);
    return status;
}
