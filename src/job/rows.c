/* rows.c -- ids, sources, skipped records, removals and groups.
 *
 * Tests: tests/unit/jobs/test_jobs.c, tests/unit/results/test_result_tables.c */
#include "job/rows.h"

#include "base/error.h"
#include "json/json_write.h"
#include "results/result_tables.h"
#include "model/file_names.h"

#define FLUSH_BYTES (256u << 10)

bm_status bm_rows_open(bm_rows *rows, const bm_output_options *output, bm_error *err)
{
    if (output->path == NULL)
        return BM_OK;
    return bm_out_file_open(output->path, bm_out_existing_of(output->force), &rows->file, err);
}

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

bm_status bm_rows_end(bm_rows *rows, bm_status status, bm_error *err)
{
    bm_rows_reset(rows);
    if (rows->file == NULL)
        return status;
    if (status == BM_OK)
        return bm_out_file_close(rows->file, err);
    bm_out_file_abort(rows->file);
    return status;
}

bm_status bm_rows_end_in(bm_rows *rows, bm_out_group *group, bm_status status, bm_error *err)
{
    bm_rows_reset(rows);
    if (rows->file == NULL)
        return status;
    if (status == BM_OK)
        return bm_out_group_take(group, rows->file, err);
    bm_out_file_abort(rows->file);
    return status;
}

/* Open a file of the directory, let `fill` write it, close it. */
typedef bm_status (*fill_fn)(bm_rows *rows, const void *ctx, bm_error *err);

static bm_status write_file(bm_out_dir *dir, const char *name, fill_fn fill, const void *ctx,
                            bm_error *err)
{
    bm_rows rows = {0};
    BM_TRY(bm_out_dir_file(dir, name, &rows.file, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(fill(&rows, ctx, err));
    status = bm_rows_flush(&rows, true, err);
out:;
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
    const bm_lost_source *removed;
} context;

/* --- ids.txt --- */

static bm_status fill_ids(bm_rows *rows, const void *ctx, bm_error *err)
{
    const context *c = ctx;
    for (size_t i = 0; i < c->docs->n; i++) {
        if (c->dropped != NULL && c->dropped[i] != 0)
            continue;
        BM_TRY(bm_tsv_escape(&rows->buf, bm_doc_table_id(c->docs, i), err));
        BM_TRY(bm_buf_add(&rows->buf, "\n", 1, err));
        BM_TRY(bm_rows_flush(rows, false, err));
    }
    return BM_OK;
}

bm_status bm_rows_ids(bm_out_dir *dir, const bm_doc_table *docs, bm_error *err)
{
    context c = {.docs = docs};
    return write_file(dir, BM_FILE_IDS, fill_ids, &c, err);
}

bm_status bm_rows_kept_ids(bm_out_dir *dir, const bm_doc_table *docs, const uint8_t *dropped,
                           bm_error *err)
{
    context c = {.docs = docs, .dropped = dropped};
    return write_file(dir, BM_FILE_KEPT_IDS, fill_ids, &c, err);
}

bm_status bm_rows_write_ids(bm_rows *rows, const bm_doc_table *docs, const uint8_t *dropped,
                            bm_error *err)
{
    const context c = {.docs = docs, .dropped = dropped};
    bm_status status = BM_OK;
    BM_TRY_OUT(fill_ids(rows, &c, err));
    status = bm_rows_flush(rows, true, err);
out:
    bm_rows_reset(rows);
    return status;
}

/* --- skipped.tsv --- */

static bm_status fill_skipped(bm_rows *rows, const void *ctx, bm_error *err)
{
    const context *c = ctx;
    BM_TRY(bm_table_begin(&rows->buf, BM_TABLE_SKIPPED, err));
    for (size_t i = 0; i < c->docs->n_skipped; i++) {
        const bm_skipped *skipped = &c->docs->skipped[i];
        const bm_skipped_line line = {c->names->names[skipped->file], skipped->line,
                                      skipped->reason};
        BM_TRY(bm_skipped_line_add(&rows->buf, &line, err));
        BM_TRY(bm_rows_flush(rows, false, err));
    }
    return BM_OK;
}

bm_status bm_rows_skipped(bm_out_dir *dir, const bm_doc_table *docs, const bm_file_names *names,
                          bm_error *err)
{
    context c = {.docs = docs, .names = names};
    return write_file(dir, BM_FILE_SKIPPED, fill_skipped, &c, err);
}

/* --- sources.tsv --- */

static void count_sources(const context *c, bm_source_line *lines, size_t n_sources)
{
    uint64_t row = 0;
    for (size_t i = 0; i < c->docs->n; i++) {
        bm_source_line *line = &lines[c->docs->rows[i].file];
        line->documents++;
        line->removed += c->grouping != NULL && c->grouping->reason[i] != BM_REASON_KEPT;
    }
    for (size_t i = 0; i < c->docs->n_skipped; i++)
        lines[c->docs->skipped[i].file].skipped++;
    for (size_t i = 0; i < n_sources; i++) {
        lines[i].file = c->names->names[i];
        lines[i].first_row = row;
        lines[i].of_share = c->names->from_records != NULL;
        if (lines[i].of_share)
            lines[i].from_record = c->names->from_records[i];
        row += lines[i].documents;
    }
}

static bm_status fill_sources(bm_rows *rows, const void *ctx, bm_error *err)
{
    const context *c = ctx;
    size_t n = c->names->n;
    bm_source_line *lines = NULL;
    BM_TRY(bm_new_zero(&lines, n, err));
    count_sources(c, lines, n);
    bm_status status = BM_OK;
    BM_TRY_OUT((c->names->from_records != NULL ? bm_table_begin : bm_table_begin_old)(
        &rows->buf, BM_TABLE_SOURCES, err));
    for (size_t i = 0; i < n; i++) {
        BM_TRY_OUT(bm_source_line_add(&rows->buf, &lines[i], err));
        BM_TRY_OUT(bm_rows_flush(rows, false, err));
    }
out:
    bm_free(lines);
    return status;
}

bm_status bm_rows_sources(bm_out_dir *dir, const bm_doc_table *docs, const bm_grouping *grouping,
                          const bm_file_names *names, bm_error *err)
{
    context c = {.docs = docs, .grouping = grouping, .names = names};
    return write_file(dir, BM_FILE_SOURCES, fill_sources, &c, err);
}

/* --- removed.tsv --- */

static const char *reason_name(bm_reason reason)
{
    switch (reason) {
    case BM_REASON_IDENTICAL:
        return BM_REMOVED_IS_IDENTICAL;
    case BM_REASON_NEAR:
        return "near";
    case BM_REASON_CHAINED:
        return BM_REMOVED_IS_CHAINED;
    case BM_REASON_CONTAINED:
        return BM_REMOVED_IS_CONTAINED;
    case BM_REASON_KNOWN:
        return BM_REMOVED_IS_KNOWN;
    case BM_REASON_KEPT:
        break;
    }
    return "kept";
}

/* The id of the document that is kept for document i; without data: there is none. */
static bm_str kept_id(const context *c, size_t i)
{
    const bm_grouping *g = c->grouping;
    if (g->known != NULL && g->known[i] != BM_NO_KNOWN)
        return bm_known_id(g->from, g->known[i]);
    return g->kept[i] != BM_NO_KEPT ? bm_doc_table_id(c->docs, g->kept[i]) : (bm_str){0};
}

static bm_status fill_removed(bm_rows *rows, const void *ctx, bm_error *err)
{
    const context *c = ctx;
    const bm_grouping *g = c->grouping;
    BM_TRY(bm_table_begin(&rows->buf, BM_TABLE_REMOVED, err));
    for (size_t i = 0; i < c->docs->n; i++) {
        if (g->reason[i] == BM_REASON_KEPT)
            continue;
        const bm_doc_row *row = &c->docs->rows[i];
        const bm_removed_line line = {.id = bm_doc_table_id(c->docs, i),
                                      .kept = kept_id(c, i),
                                      .jaccard = g->similarity[i],
                                      .reason = reason_name((bm_reason)g->reason[i]),
                                      .file = c->names->names[row->file],
                                      .line = row->line,
                                      .lost = bm_lost_shingles(c->removed, i)};
        BM_TRY(bm_removed_line_add(&rows->buf, &line, err));
        BM_TRY(bm_rows_flush(rows, false, err));
    }
    return BM_OK;
}

bm_status bm_rows_removed(bm_out_dir *dir, const bm_doc_table *docs, const bm_lost_source *from,
                          const bm_file_names *names, bm_error *err)
{
    context c = {.docs = docs, .grouping = from->grouping, .names = names, .removed = from};
    return write_file(dir, BM_FILE_REMOVED, fill_removed, &c, err);
}

/* --- groups.jsonl --- */

static bm_status add_group(bm_rows *rows, const context *c, bm_json *json, size_t group,
                           bm_error *err)
{
    const bm_grouping *g = c->grouping;
    const uint64_t begin = g->begin[group], end = g->begin[group + 1];
    const bool known = g->known != NULL && g->known[g->members[begin]] != BM_NO_KNOWN;
    const bm_str kept = known ? bm_known_id(g->from, g->known_members[g->known_begin[group]])
                              : kept_id(c, g->members[begin]);
    bm_group_line_begin(json, group + 1, kept, end - begin);
    for (uint64_t i = begin; i < end; i++)
        bm_json_string(json, bm_doc_table_id(c->docs, g->members[i]));
    if (known)
        bm_group_line_known(json);
    for (uint64_t i = known ? g->known_begin[group] : 0; known && i < g->known_begin[group + 1];
         i++)
        bm_json_string(json, bm_known_id(g->from, g->known_members[i]));
    BM_TRY(bm_group_line_end(json, &rows->buf, err));
    return bm_rows_flush(rows, false, err);
}

static bm_status fill_groups(bm_rows *rows, const void *ctx, bm_error *err)
{
    const context *c = ctx;
    bm_json json = {0};
    bm_status status = BM_OK;
    for (size_t i = 0; i < c->grouping->n_groups; i++)
        BM_TRY_OUT(add_group(rows, c, &json, i, err));
out:
    bm_buf_reset(&json.buf);
    return status;
}

bm_status bm_rows_groups(bm_out_dir *dir, const bm_doc_table *docs, const bm_grouping *grouping,
                         bm_error *err)
{
    context c = {.docs = docs, .grouping = grouping};
    return write_file(dir, BM_FILE_GROUPS, fill_groups, &c, err);
}
