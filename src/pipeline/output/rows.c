/* rows.c -- ids, sources, skipped records, removals and groups. */
#include "pipeline/output/rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "io/json/json_write.h"

#define FLUSH_BYTES (256u << 10)

bm_status bm_rows_flush(bm_rows *rows, bool now, bm_error *err)
{
    if (rows->buf.len == 0 || (!now && rows->buf.len < FLUSH_BYTES))
        return BM_OK;
    size_t len = rows->buf.len;
    rows->buf.len = 0;
    if (rows->file != NULL)
        return bm_out_file_write(rows->file, rows->buf.data, len, err);
    if (rows->write != NULL && rows->write(rows->write_ctx, rows->buf.data, len) != 0)
        return bm_fail(err, BM_ERR_PIPE, "the output was not taken");
    return BM_OK;
}

void bm_rows_reset(bm_rows *rows)
{
    bm_buf_reset(&rows->buf);
}

/* Open a file of the directory, let `fill` write it, close it. */
typedef bm_status (*fill_fn)(bm_rows *rows, const void *ctx, bm_error *err);

static bm_status write_file(bm_out_dir *dir, const char *name, fill_fn fill, const void *ctx,
                            bm_error *err)
{
    bm_rows rows = {0};
    bm_status status = bm_out_dir_file(dir, name, &rows.file, err);
    if (status != BM_OK)
        return status;
    status = fill(&rows, ctx, err);
    if (status == BM_OK)
        status = bm_rows_flush(&rows, true, err);
    bm_status closed = bm_out_file_close(rows.file, status == BM_OK ? err : NULL);
    bm_rows_reset(&rows);
    return status != BM_OK ? status : closed;
}

/* What the files below are made of. */
typedef struct context {
    const bm_doc_table *docs;
    const bm_grouping *grouping;
    const bm_file_names *names;
    const uint8_t *dropped;
} context;

static bm_status add_id(bm_buf *buf, const bm_doc_table *docs, size_t doc, bm_error *err)
{
    return bm_tsv_escape(buf, bm_doc_table_id(docs, doc), err);
}

static bm_status add_file_name(bm_buf *buf, const bm_file_names *names, uint32_t file,
                               bm_error *err)
{
    const char *name = names->names[file];
    return bm_tsv_escape(buf, (bm_str){name, strlen(name)}, err);
}

/* --- ids.txt --- */

static bm_status fill_ids(bm_rows *rows, const void *ctx, bm_error *err)
{
    const context *c = ctx;
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < c->docs->n; i++) {
        if (c->dropped != NULL && c->dropped[i] != 0)
            continue;
        status = add_id(&rows->buf, c->docs, i, err);
        if (status == BM_OK)
            status = bm_buf_add(&rows->buf, "\n", 1, err);
        if (status == BM_OK)
            status = bm_rows_flush(rows, false, err);
    }
    return status;
}

bm_status bm_rows_ids(bm_out_dir *dir, const bm_doc_table *docs, bm_error *err)
{
    context c = {.docs = docs};
    return write_file(dir, "ids.txt", fill_ids, &c, err);
}

bm_status bm_rows_kept_ids(bm_out_dir *dir, const bm_doc_table *docs, const uint8_t *dropped,
                           bm_error *err)
{
    context c = {.docs = docs, .dropped = dropped};
    return write_file(dir, "kept_ids.txt", fill_ids, &c, err);
}

/* --- skipped.tsv --- */

static bm_status fill_skipped(bm_rows *rows, const void *ctx, bm_error *err)
{
    const context *c = ctx;
    bm_status status = bm_buf_add_text(&rows->buf, "file\tline\treason\n", err);
    for (size_t i = 0; status == BM_OK && i < c->docs->n_skipped; i++) {
        const bm_skipped *skipped = &c->docs->skipped[i];
        status = add_file_name(&rows->buf, c->names, skipped->file, err);
        if (status == BM_OK)
            status = bm_buf_add_format(&rows->buf, err, "\t%" PRIu64 "\t", skipped->line);
        if (status == BM_OK)
            status =
                bm_tsv_escape(&rows->buf, (bm_str){skipped->reason, strlen(skipped->reason)}, err);
        if (status == BM_OK)
            status = bm_buf_add(&rows->buf, "\n", 1, err);
        if (status == BM_OK)
            status = bm_rows_flush(rows, false, err);
    }
    return status;
}

bm_status bm_rows_skipped(bm_out_dir *dir, const bm_doc_table *docs, const bm_file_names *names,
                          bm_error *err)
{
    context c = {.docs = docs, .names = names};
    return write_file(dir, "skipped.tsv", fill_skipped, &c, err);
}

/* --- sources.tsv --- */

typedef struct source_counts {
    uint64_t first_row, documents, skipped, removed;
} source_counts;

static void count_sources(const context *c, source_counts *counts, size_t n_sources)
{
    uint64_t row = 0;
    for (size_t i = 0; i < c->docs->n; i++) {
        source_counts *s = &counts[c->docs->rows[i].file];
        s->documents++;
        if (c->grouping != NULL && c->grouping->reason[i] != BM_REASON_KEPT)
            s->removed++;
    }
    for (size_t i = 0; i < c->docs->n_skipped; i++)
        counts[c->docs->skipped[i].file].skipped++;
    for (size_t i = 0; i < n_sources; i++) {
        counts[i].first_row = row;
        row += counts[i].documents;
    }
}

static bm_status fill_sources(bm_rows *rows, const void *ctx, bm_error *err)
{
    const context *c = ctx;
    size_t n = c->names->n;
    source_counts *counts = bm_alloc_zero(n, sizeof *counts);
    if (counts == NULL)
        return bm_fail_nomem(err, n * sizeof *counts);
    count_sources(c, counts, n);
    bm_status status =
        bm_buf_add_text(&rows->buf, "file\tfirst_row\tdocuments\tskipped\tremoved\tkept\n", err);
    for (size_t i = 0; status == BM_OK && i < n; i++) {
        const source_counts *s = &counts[i];
        status = add_file_name(&rows->buf, c->names, (uint32_t)i, err);
        if (status == BM_OK)
            status = bm_buf_add_format(
                &rows->buf, err,
                "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", s->first_row,
                s->documents, s->skipped, s->removed, s->documents - s->removed);
        if (status == BM_OK)
            status = bm_rows_flush(rows, false, err);
    }
    bm_free(counts);
    return status;
}

bm_status bm_rows_sources(bm_out_dir *dir, const bm_doc_table *docs, const bm_grouping *grouping,
                          const bm_file_names *names, bm_error *err)
{
    context c = {.docs = docs, .grouping = grouping, .names = names};
    return write_file(dir, "sources.tsv", fill_sources, &c, err);
}

/* --- removed.tsv --- */

static const char *reason_name(bm_reason reason)
{
    switch (reason) {
    case BM_REASON_IDENTICAL:
        return "identical";
    case BM_REASON_NEAR:
        return "near";
    case BM_REASON_CHAINED:
        return "chained";
    case BM_REASON_KEPT:
        break;
    }
    return "kept";
}

static bm_status add_removed(bm_rows *rows, const context *c, size_t doc, bm_error *err)
{
    const bm_grouping *g = c->grouping;
    const bm_doc_row *row = &c->docs->rows[doc];
    bm_buf *buf = &rows->buf;
    bm_status status = add_id(buf, c->docs, doc, err);
    if (status == BM_OK)
        status = bm_buf_add(buf, "\t", 1, err);
    if (status == BM_OK)
        status = add_id(buf, c->docs, g->kept[doc], err);
    if (status == BM_OK)
        status = isnan(g->similarity[doc])
                     ? bm_buf_add(buf, "\t", 1, err)
                     : bm_buf_add_format(buf, err, "\t%.6f", g->similarity[doc]);
    if (status == BM_OK)
        status = bm_buf_add_format(buf, err, "\t%s\t", reason_name((bm_reason)g->reason[doc]));
    if (status == BM_OK)
        status = add_file_name(buf, c->names, row->file, err);
    if (status == BM_OK)
        status = row->line == 0 ? bm_buf_add_text(buf, "\t\n", err)
                                : bm_buf_add_format(buf, err, "\t%" PRIu64 "\n", row->line);
    return status == BM_OK ? bm_rows_flush(rows, false, err) : status;
}

static bm_status fill_removed(bm_rows *rows, const void *ctx, bm_error *err)
{
    const context *c = ctx;
    bm_status status = bm_buf_add_text(&rows->buf, "id\tkept\tjaccard\treason\tfile\tline\n", err);
    for (size_t i = 0; status == BM_OK && i < c->docs->n; i++)
        if (c->grouping->reason[i] != BM_REASON_KEPT)
            status = add_removed(rows, c, i, err);
    return status;
}

bm_status bm_rows_removed(bm_out_dir *dir, const bm_doc_table *docs, const bm_grouping *grouping,
                          const bm_file_names *names, bm_error *err)
{
    context c = {.docs = docs, .grouping = grouping, .names = names};
    return write_file(dir, "removed.tsv", fill_removed, &c, err);
}

/* --- groups.jsonl --- */

static bm_status add_group(bm_rows *rows, const context *c, bm_json *json, size_t group,
                           bm_error *err)
{
    const bm_grouping *g = c->grouping;
    uint64_t begin = g->begin[group], end = g->begin[group + 1];
    json->buf.len = 0;
    json->comma = false;
    bm_json_begin_object(json);
    bm_json_key(json, "group");
    bm_json_uint(json, group + 1);
    bm_json_key(json, "kept");
    bm_json_string(json, bm_doc_table_id(c->docs, g->kept[g->members[begin]]));
    bm_json_key(json, "size");
    bm_json_uint(json, end - begin);
    bm_json_key(json, "members");
    bm_json_begin_array(json);
    for (uint64_t i = begin; i < end; i++)
        bm_json_string(json, bm_doc_table_id(c->docs, g->members[i]));
    bm_json_end_array(json);
    bm_json_end_object(json);
    bm_status status = bm_json_finish(json, err);
    if (status == BM_OK)
        status = bm_buf_add(&rows->buf, json->buf.data, json->buf.len, err);
    return status == BM_OK ? bm_rows_flush(rows, false, err) : status;
}

static bm_status fill_groups(bm_rows *rows, const void *ctx, bm_error *err)
{
    const context *c = ctx;
    bm_json json = {0};
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < c->grouping->n_groups; i++)
        status = add_group(rows, c, &json, i, err);
    bm_buf_reset(&json.buf);
    return status;
}

bm_status bm_rows_groups(bm_out_dir *dir, const bm_doc_table *docs, const bm_grouping *grouping,
                         bm_error *err)
{
    context c = {.docs = docs, .grouping = grouping};
    return write_file(dir, "groups.jsonl", fill_groups, &c, err);
}
