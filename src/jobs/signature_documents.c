/* signature_documents.c -- what is known of the documents of signatures without their texts: ids and
 * sizes from the arrays; from which input they came, and what was skipped there, from the tables
 * that lie beside these. In which line a document stood is not known.
 *
 * Tests: tests/cli/cases/staged.sh */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "results/result_dir.h"
#include "results/source_table.h"
#include "model/counts.h"
#include "model/file_names.h"
#include "model/id_bytes.h"
#include "model/option_names.h"
#include "jobs/signature_ids.h"
#include "jobs/signature_inputs.h"
#include "jobs/signature_inputs_state.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define IDS_BLOCK 256u

/* The inputs of one directory: file numbers first … first+n-1 of the job. */
typedef struct sources {
    const bm_sign_dir *dir;
    bm_job_context *context;
    uint32_t first, n;
    uint64_t *documents, *skipped; /* of each */
    bm_signature_ids ids;
} sources;

/* --- sources.tsv and skipped.tsv --- */

static bm_status read_sources(sources *s, bm_error *err)
{
    const bm_manifest *manifest = bm_sign_dir_manifest(s->dir);
    bm_source_column columns[] = {{.field = BM_SOURCES_DOCUMENTS, .rows = s->documents},
                                  {.field = BM_SOURCES_SKIPPED, .rows = s->skipped}};
    BM_TRY(bm_source_table_read(manifest, columns, 2, err));
    if (columns[0].sum != bm_sign_dir_docs(s->dir))
        return bm_fail_at(err, BM_ERR_FORMAT, bm_sign_dir_path(s->dir), 0,
                          BM_FILE_SOURCES " counts %" PRIu64 " documents (the manifest %" PRIu64
                                          ")",
                          columns[0].sum, bm_sign_dir_docs(s->dir));
    return bm_manifest_compare_count(manifest, "skipped", columns[1].sum, BM_FILE_SOURCES, err);
}

typedef struct skipping {
    sources *s;
    bm_source_walk rows;
    uint64_t left, line; /* rows that are still to come; the last row read */
} skipping;

/* A bm_result_row_fn. */
static bm_status add_skipped(void *ctx, const bm_tsv_table *row, bm_error *err)
{
    skipping *k = ctx;
    const bm_str reason = row->fields[BM_SKIPPED_REASON];
    if (k->left == 0)
        return bm_fail_at(err, BM_ERR_FORMAT, row->path, row->line,
                          "more rows than " BM_FILE_SOURCES " counts");
    BM_TRY(bm_source_walk_row(&k->rows, row, BM_SKIPPED_FILE, err));
    bm_skipped skipped = {.file = k->s->first + (uint32_t)k->rows.file};
    k->left--;
    k->line = row->line;
    BM_TRY(bm_tsv_table_uint(row, BM_SKIPPED_LINE, &skipped.line, err));
    skipped.reason = bm_strndup(reason.data, reason.len);
    if (skipped.reason == NULL)
        return bm_fail_nomem(err, reason.len + 1);
    bm_status status = bm_doc_table_skip(&k->s->context->docs, &skipped, err);
    if (status != BM_OK)
        bm_free(skipped.reason);
    return status;
}

/* Rows come in input order, as many of each input as sources.tsv counts. */
static bm_status read_skipped(sources *s, bm_error *err)
{
    const bm_manifest *manifest = bm_sign_dir_manifest(s->dir);
    const bm_result_dir dir = {.manifest = manifest};
    skipping k = {.s = s, .rows = {manifest, s->skipped, s->n, 0}, .line = 1};
    for (uint32_t i = 0; i < s->n; i++)
        k.left += s->skipped[i];
    if (k.left == 0)
        return BM_OK;
    BM_TRY(bm_result_rows(&dir, BM_TABLE_SKIPPED, add_skipped, &k, err));
    return k.left == 0 ? BM_OK
                       : bm_result_fail(&dir, BM_FILE_SKIPPED, k.line,
                                        "not the rows that " BM_FILE_SOURCES " counts", err);
}

/* --- documents --- */

static bm_status add_document(sources *s, bm_doc_row *row, bm_str id, bm_error *err)
{
    bm_job_context *context = s->context;
    while (s->documents[row->file] == 0)
        row->file++;
    s->documents[row->file]--;
    if (id.len > BM_ID_BYTES_MAX)
        return bm_fail_at(err, BM_ERR_FORMAT, bm_sign_dir_path(s->dir), 0,
                          "an id in " BM_FILE_IDS " has %zu bytes (at most %zu)", id.len,
                          BM_ID_BYTES_MAX);
    bm_doc_row known = *row;
    known.file += s->first;
    context->counts.empty += row->n_shingles == 0;
    context->counts.shingles += row->n_shingles;
    BM_TRY(bm_signature_ids_original(&s->ids, id, &id, err));
    return bm_doc_table_add(&context->docs, &known, (bm_doc_id){id, XXH3_64bits(id.data, id.len)},
                            context->inputs.names.names[known.file], err);
}

static bm_status load_documents(sources *s, bm_error *err)
{
    size_t ends[IDS_BLOCK];
    uint32_t sizes[IDS_BLOCK];
    uint64_t bytes[IDS_BLOCK] = {0};
    bm_buf text = {0};
    bm_doc_row row = {0}; /* its file from document to document */
    bm_status status = BM_OK;
    uint64_t n_docs = bm_sign_dir_docs(s->dir);
    for (uint64_t at = 0; at < n_docs; at += IDS_BLOCK) {
        size_t n = n_docs - at < IDS_BLOCK ? (size_t)(n_docs - at) : IDS_BLOCK;
        text.len = 0;
        BM_TRY_OUT(bm_sign_dir_ids(s->dir, at, n, &(bm_sign_ids){&text, ends}, err));
        BM_TRY_OUT(bm_sign_dir_n_shingles(s->dir, at, n, sizes, err));
        if (bm_sign_dir_has_bytes(s->dir))
            BM_TRY_OUT(bm_sign_dir_n_bytes(s->dir, at, n, bytes, err));
        for (size_t i = 0; i < n; i++) {
            size_t begin = i == 0 ? 0 : ends[i - 1];
            row.n_shingles = sizes[i];
            row.text_bytes = bytes[i];
            BM_TRY_OUT(add_document(s, &row, (bm_str){text.data + begin, ends[i] - begin}, err));
        }
    }
out:
    bm_buf_reset(&text);
    return status;
}

/* Did `sign` number the ids that were repeated? */
static bool were_numbered(const bm_sign_dir *dir)
{
    const char *word = bm_option_word(BM_OPTION_DUPLICATE_IDS, BM_DUPLICATE_IDS_NUMBER);
    return strcmp(bm_sign_dir_provenance(dir)->texts[BM_ROW_DUPLICATE_IDS], word) == 0;
}

static bm_status load_dir(sources *s, bm_error *err)
{
    s->n = (uint32_t)bm_manifest_n_inputs(bm_sign_dir_manifest(s->dir));
    s->documents = bm_alloc_zero(s->n, sizeof *s->documents);
    s->skipped = bm_alloc_zero(s->n, sizeof *s->skipped);
    bm_status status = BM_OK;
    if (s->documents == NULL || s->skipped == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, s->n * sizeof *s->skipped));
    BM_TRY_OUT(read_sources(s, err));
    if (s->context->docs.number_duplicates && were_numbered(s->dir))
        BM_TRY_OUT(bm_signature_ids_load(s->dir, &s->ids, err));
    BM_TRY_OUT(load_documents(s, err));
    status = read_skipped(s, err);
out:
    bm_signature_ids_reset(&s->ids);
    bm_free(s->documents);
    bm_free(s->skipped);
    s->first += s->n;
    return status;
}

/* --- the job --- */

/* What the manifest counts of the directory's documents: numbers that cannot be are refused. */
static bm_status add_counts(const bm_manifest *manifest, const bm_sign_dir *dir, bm_counts *counts,
                            bm_error *err)
{
    const uint64_t n_docs = bm_sign_dir_docs(dir);
    const uint64_t skipped = counts->skipped, records = counts->records;
    for (size_t i = 0; i < BM_N_COUNTS; i++) {
        const bm_count_row *row = &bm_count_rows[i];
        uint64_t *sum = bm_count_at(counts, row), n = 0;
        if (!row->of_reading)
            continue;
        BM_TRY(bm_manifest_count(manifest, row->name, &n, err));
        if (__builtin_add_overflow(*sum, n, sum))
            return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifest), 0,
                              "counts.%s is %" PRIu64 ", which passes 2^64", row->name, n);
    }
    uint64_t n_short = 0, n_none = 0;
    BM_TRY(bm_sign_dir_short(dir, &n_short, &n_none, err));
    if (n_short > n_docs)
        return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifest), 0,
                          "counts.short is %" PRIu64 " (at most as many as documents)", n_short);
    counts->short_docs += n_short;
    counts->empty -= n_none < counts->empty ? n_none : counts->empty;
    uint64_t weightless = 0; /* they were taken for empty: neither has elements */
    if (bm_manifest_count(manifest, "weightless", &weightless, NULL) == BM_OK &&
        weightless <= counts->empty) {
        counts->results.weightless += weightless;
        counts->empty -= weightless;
    }
    if (counts->records - records != counts->skipped - skipped + n_docs)
        return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifest), 0,
                          "counts.records is %" PRIu64 " (expected documents and skipped)",
                          counts->records - records);
    return BM_OK;
}

bm_status bm_signature_inputs_documents(const bm_signature_inputs *inputs, bm_job_context *context,
                                        bm_error *err)
{
    const bm_recipe *recipe = &inputs->recipe;
    bm_file_names *names = &context->inputs.names;
    sources s = {.context = context};
    BM_TRY(bm_new(&names->names, recipe->n_inputs, err));
    for (names->n = 0; names->n < recipe->n_inputs; names->n++)
        names->names[names->n] = recipe->names[names->n];
    context->inputs.recorded = recipe;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_signature_inputs_check_keep(inputs, context->settings, err));
    for (size_t d = 0; d < inputs->n; d++) {
        s.dir = inputs->dirs[d];
        if (d > 0 && bm_manifest_continues(inputs->manifests[d - 1], inputs->manifests[d]))
            s.first--; /* the file in which the share before it ends */
        BM_TRY_OUT(load_dir(&s, err));
        BM_TRY_OUT(add_counts(inputs->manifests[d], s.dir, &context->counts, err));
    }
out:
    context->counts.documents = context->docs.n;
    return status;
}
