/* store_add.c -- documents, their ids and their band keys into the index.
 *
 * The ids of a batch are sorted and written as a run of their own, and so are the keys of each band; those of a build are
 * sorted aside until its commit.
 *
 * Tests: tests/unit/store/test_store_model.c */
#include <inttypes.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "store/bytes/le_bytes.h"
#include "store/bytes/set_code.h"
#include "store/run_writer.h"
#include "store/store_build.h"
#include "store/store_merge.h"
#include "store/store_write.h"

#define RECORD_BYTES 40u /* that sorting takes for each in memory */

/* Its set, or its words, as bytes. */
static bm_status encode(bm_store *store, const bm_store_batch *batch, size_t i, bm_error *err)
{
    bm_writer *w = store->writer;
    const uint32_t n_words = w->state.facts.words;
    const bool sets = w->state.facts.kind == BM_STORE_SETS;
    const size_t n = batch->docs[i].n_shingles;
    const size_t size = sets ? bm_set_code_size(n) : n_words * (size_t)4;
    w->body.len = 0;
    BM_TRY(bm_buf_reserve(&w->body, size, err));
    w->body.len = size;
    uint8_t *out = (uint8_t *)w->body.data;
    if (sets)
        bm_set_code_write(n > 0 ? batch->sets[i] : NULL, n, out);
    for (uint32_t word = 0; !sets && word < n_words; word++)
        bm_le32_put(out + 4 * (size_t)word, batch->words[i * n_words + word]);
    return BM_OK;
}

static bm_status add_documents(bm_store *store, const bm_store_batch *batch, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < batch->n; i++) {
        status = encode(store, batch, i, err);
        bm_store_doc doc = batch->docs[i];
        doc.body = (bm_str){store->writer->body.data, store->writer->body.len};
        if (status == BM_OK)
            status = bm_writer_document(store, &doc, err);
    }
    return status;
}

/* Sorted records as the next table of a run. */
static bm_status write_table(bm_run_writer *run, bm_sorted_runs *records, bm_error *err)
{
    bm_run_record r;
    bm_status status = bm_sorted_runs_begin(records, err);
    while (status == BM_OK && (status = bm_sorted_runs_next(records, &r, err)) == BM_OK)
        status = bm_run_writer_add(run, (bm_posting){r.key, (uint32_t)r.value}, err);
    return status == BM_NOT_FOUND ? bm_run_writer_end_table(run, err) : status;
}

/* A batch whose documents have the numbers from `first` on. */
typedef struct added {
    bm_store *store;
    const bm_store_batch *batch;
    uint64_t first;
} added;

/* The entries of a table: of band keys, or behind them of ids. */
static bm_status sort_table(const added *a, uint32_t table, bm_sorted_runs *records, bm_error *err)
{
    const uint32_t bands = a->store->facts.bands;
    for (size_t i = 0; i < a->batch->n; i++) {
        const bm_store_doc *doc = &a->batch->docs[i];
        if (table == bands) {
            BM_TRY(bm_sorted_runs_add(records, XXH3_64bits(doc->id.data, doc->id.len), a->first + i,
                                      err));
        } else if (doc->n_shingles > 0)
            BM_TRY(
                bm_sorted_runs_add(records, a->batch->keys[i * bands + table], a->first + i, err));
    }
    return BM_OK;
}

static bm_status write_run(const added *a, uint32_t first_table, uint32_t n_tables, bm_error *err)
{
    bm_run_writer run;
    bm_status status = BM_OK;
    bm_run_writer_begin(a->store, first_table, n_tables, &run);
    for (uint32_t i = 0; status == BM_OK && i < n_tables; i++) {
        bm_sorted_runs *records = NULL;
        status = bm_sorted_runs_open(NULL, a->batch->n * RECORD_BYTES, &records, err);
        if (status == BM_OK)
            status = sort_table(a, first_table + i, records, err);
        if (status == BM_OK)
            status = write_table(&run, records, err);
        bm_sorted_runs_close(records);
    }
    if (status == BM_OK)
        status = bm_run_writer_end(&run, err);
    bm_run_writer_reset(&run);
    return status;
}

static bm_status add_tables(const added *a, bm_error *err)
{
    const bm_writer *w = a->store->writer;
    const uint32_t bands = a->store->facts.bands;
    bm_status status = write_run(a, bands, 1, err);
    if (!w->build)
        return status == BM_OK ? write_run(a, 0, bands, err) : status;
    for (uint32_t b = 0; status == BM_OK && b < bands; b++)
        status = sort_table(a, b, w->bands[b], err);
    return status;
}

bm_status bm_store_add(bm_store *store, const bm_store_batch *batch, uint32_t *first, bm_error *err)
{
    BM_TRY(bm_writer_ready(store, err));
    const uint64_t next = store->writer->state.counts.next_number;
    if (batch->n > BM_DOCS_MAX - next)
        return bm_fail_at(err, BM_ERR_INPUT, store->place.path, 0,
                          "more than %" PRIu32 " documents in an index", BM_DOCS_MAX);
    *first = (uint32_t)next;
    if (batch->n == 0)
        return BM_OK;
    bm_status status = BM_OK;
    BM_TRY_OUT(add_documents(store, batch, err));
    BM_TRY_OUT(add_tables(&(added){store, batch, next}, err));
    status = bm_store_merge(store, BM_MERGE_SOME, err);
out:
    return bm_writer_failed(store, status, err);
}

/* --- a build --- */

bm_status bm_store_build_begin(bm_store *store, bm_error *err)
{
    bm_writer *w = store->writer;
    const uint32_t bands = w->state.facts.bands;
    const uint64_t memory = store->cfg.memory != 0 ? store->cfg.memory : BM_STORE_MEMORY;
    const char *dir = store->temp_dir != NULL ? store->temp_dir : store->place.path;
    bm_status status = BM_OK;
    w->bands = bm_alloc_zero(bands, sizeof(bm_sorted_runs *));
    if (w->bands == NULL)
        return bm_fail_nomem(err, bands * sizeof(bm_sorted_runs *));
    for (uint32_t b = 0; b < bands; b++)
        BM_TRY_OUT(bm_sorted_runs_open(dir, (size_t)(memory / bands), &w->bands[b], err));
out:
    w->build = status == BM_OK;
    return status;
}

bm_status bm_store_build_end(bm_store *store, bm_error *err)
{
    bm_writer *w = store->writer;
    bm_run_writer run;
    bm_status status = BM_OK;
    bm_run_writer_begin(store, 0, w->state.facts.bands, &run);
    for (uint32_t b = 0; status == BM_OK && b < w->state.facts.bands; b++) {
        status = write_table(&run, w->bands[b], err);
        bm_sorted_runs_close(w->bands[b]);
        w->bands[b] = NULL;
    }
    if (status == BM_OK)
        status = bm_run_writer_end(&run, err);
    bm_run_writer_reset(&run);
    w->build = false;
    return status;
}
