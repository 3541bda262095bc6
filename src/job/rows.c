/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c -- writes the tables of a job: ids, sources, skipped records, removals, groups and pairs.
 *
 * Tests: tests/cli/cases/pairs.sh, tests/reference/test_measure.py,
 *        tests/unit/job/test_corpus_spill.c, tests/unit/jobs/test_jobs.c,
 *        tests/unit/results/test_result_tables.c */
#include "job/rows.h"

#include <math.h>
#include <stdlib.h>

#include "base/bisect.h"
#include "base/error.h"
#include "json/json_write.h"
#include "lsh/two_sequences.h"
#include "model/file_names.h"
#include "model/option_words.h"
#include "results/result_tables.h"

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
        return bm_fail(err, BM_ERR_PIPE, "the output was not accepted");
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

bm_status bm_rows_close(bm_rows *rows, bm_status status, bm_error *err)
{
    bm_rows_reset(rows);
    if (rows->file == NULL)
        return status;
    const bm_status closed = bm_out_file_close(rows->file, status == BM_OK ? err : NULL);
    rows->file = NULL;
    return status != BM_OK ? status : closed;
}

bm_status bm_rows_end_in(bm_rows *rows, bm_out_group *group, bm_status status, bm_error *err)
{
    bm_rows_reset(rows);
    if (rows->file == NULL)
        return status;
    if (status == BM_OK)
        return bm_out_group_add(group, rows->file, err);
    bm_out_file_abort(rows->file);
    return status;
}

/* The data from which rows are made. Members that a file does not need are NULL. */
typedef struct context {
    const bm_doc_table *docs;
    const bm_grouping *grouping;
    const bm_file_names *names;
    const uint8_t *dropped; /* document i is left out if dropped[i] is not 0 */
    const bm_lost_source *removed;
    bool all_digits; /* similarities have all digits, not six decimals */
    bm_pool *pool;   /* NULL: only the calling thread works */
} context;

/* Appends the rows of items begin … end-1 to `out`. Called by any thread. */
typedef bm_status (*add_fn)(const context *c, size_t begin, size_t end, bm_buf *out, bm_error *err);

/* --- ranges of rows ---
 *
 * Threads write the rows of many items in rounds. A round has RANGES_A_LANE ranges of items per
 * thread. First the threads make the texts of all ranges. This determines the offset of each text
 * in the file. Then the threads write the texts at their offsets. */

#define RANGE_ITEMS   1024u /* documents, or members of groups, per range */
#define RANGES_A_LANE 4u

typedef struct text_range {
    bm_buf text;
    uint64_t at; /* offset in the file */
} text_range;

typedef struct rows_round {
    const context *c;
    add_fn add;
    bm_out_file *file;
    size_t first, n; /* the first item of the round; the number of items in all rounds */
    text_range *ranges;
} rows_round;

static bm_status make_texts(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    const rows_round *r = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        const size_t from = r->first + i * RANGE_ITEMS, left = r->n - from;
        r->ranges[i].text.len = 0;
        BM_TRY(r->add(r->c, from, from + (left < RANGE_ITEMS ? left : RANGE_ITEMS),
                      &r->ranges[i].text, err));
    }
    return BM_OK;
}

static bm_status write_texts(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    const rows_round *r = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++)
        BM_TRY(bm_out_file_write_at(r->file, r->ranges[i].at, r->ranges[i].text.data,
                                    r->ranges[i].text.len, err));
    return BM_OK;
}

/* Write the rows of n items at the end of the file. */
static bm_status write_ranges(bm_out_file *file, const context *c, add_fn add, size_t n,
                              bm_error *err)
{
    const size_t most = (size_t)bm_pool_size(c->pool) * RANGES_A_LANE;
    rows_round r = {.c = c, .add = add, .file = file, .n = n};
    uint64_t at = bm_out_file_bytes(file);
    BM_TRY(bm_new_zero(&r.ranges, most, err));
    bm_status status = BM_OK;
    for (; r.first < n; r.first += most * RANGE_ITEMS) {
        const size_t left = (n - r.first - 1) / RANGE_ITEMS + 1;
        const bm_pool_split split = {left < most ? left : most, 1};
        BM_TRY_OUT(bm_pool_for(c->pool, split, make_texts, &r, err));
        for (size_t i = 0; i < split.n; at += r.ranges[i++].text.len)
            r.ranges[i].at = at;
        BM_TRY_OUT(bm_pool_for(c->pool, split, write_texts, &r, err));
    }
out:
    for (size_t i = 0; i < most; i++)
        bm_buf_reset(&r.ranges[i].text);
    bm_free(r.ranges);
    return status;
}

/* Append the rows of n items. If n is large and the rows go to a file, the threads of c->pool do
 * the work. */
static bm_status add_rows(bm_rows *rows, const context *c, add_fn add, size_t n, bm_error *err)
{
    if (rows->file != NULL && c->pool != NULL && bm_pool_size(c->pool) > 1 && n > RANGE_ITEMS) {
        BM_TRY(bm_rows_flush(rows, true, err));
        return write_ranges(rows->file, c, add, n, err);
    }
    for (size_t i = 0; i < n; i += RANGE_ITEMS) {
        BM_TRY(add(c, i, n - i < RANGE_ITEMS ? n : i + RANGE_ITEMS, &rows->buf, err));
        BM_TRY(bm_rows_flush(rows, false, err));
    }
    return BM_OK;
}

/* Writes all rows of a file. */
typedef bm_status (*fill_fn)(bm_rows *rows, const context *c, bm_error *err);

/* Create the file `name` in the directory, call `fill` to write its rows, and close it. */
static bm_status write_file(bm_out_dir *dir, const char *name, fill_fn fill, const context *c,
                            bm_error *err)
{
    bm_rows rows = {0};
    BM_TRY(bm_out_dir_file(dir, name, &rows.file, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(fill(&rows, c, err));
    status = bm_rows_flush(&rows, true, err);
out:
    return bm_rows_close(&rows, status, err);
}

/* --- ids.txt --- */

static bm_status add_ids(const context *c, size_t begin, size_t end, bm_buf *out, bm_error *err)
{
    for (size_t i = begin; i < end; i++) {
        bm_doc_table_pass(c->docs, i);
        if (c->dropped != NULL && c->dropped[i] != 0)
            continue;
        BM_TRY(bm_tsv_escape(out, bm_doc_table_id(c->docs, i), err));
        BM_TRY(bm_buf_add(out, "\n", 1, err));
    }
    return BM_OK;
}

static bm_status fill_ids(bm_rows *rows, const context *c, bm_error *err)
{
    return add_rows(rows, c, add_ids, c->docs->n, err);
}

bm_status bm_rows_ids(bm_out_dir *dir, const bm_doc_table *docs, bm_pool *pool, bm_error *err)
{
    context c = {.docs = docs, .pool = pool};
    return write_file(dir, BM_FILE_IDS, fill_ids, &c, err);
}

bm_status bm_rows_kept_ids(bm_out_dir *dir, const bm_doc_table *docs, const uint8_t *dropped,
                           bm_pool *pool, bm_error *err)
{
    context c = {.docs = docs, .dropped = dropped, .pool = pool};
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

static bm_status fill_skipped(bm_rows *rows, const context *c, bm_error *err)
{
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

bm_status bm_rows_skipped(bm_out_dir *dir, const bm_job_context *job, bm_error *err)
{
    context c = {.docs = &job->docs, .names = &job->inputs.names};
    if (!bm_input_skips_bad_records(&job->settings->input))
        return BM_OK;
    return write_file(dir, BM_FILE_SKIPPED, fill_skipped, &c, err);
}

/* --- sources.tsv --- */

static void count_sources(const context *c, bm_source_line *lines, size_t n_sources)
{
    uint64_t row = 0;
    for (size_t i = 0; i < c->docs->n; i++) {
        bm_source_line *line = &lines[bm_doc_table_row(c->docs, i)->file];
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

static bm_status fill_sources(bm_rows *rows, const context *c, bm_error *err)
{
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

const char *bm_reason_name(bm_reason reason)
{
    switch (reason) {
    case BM_REASON_IDENTICAL:
        return BM_REMOVED_IS_IDENTICAL;
    case BM_REASON_EQUAL:
        return BM_REMOVED_IS_EQUAL;
    case BM_REASON_NEAR:
        return "near";
    case BM_REASON_CHAINED:
        return BM_REMOVED_IS_CHAINED;
    case BM_REASON_CONTAINED:
        return BM_REMOVED_IS_CONTAINED;
    case BM_REASON_KNOWN:
        return BM_REMOVED_IS_KNOWN;
    case BM_REASON_OVERLAP:
        return BM_REMOVED_IS_OVERLAP;
    case BM_REASON_KEPT:
        break;
    }
    return "kept";
}

/* The id of the document that is kept in place of document i; data NULL: there is no such document.
 * `room`: the id may be stored here. */
static bm_str kept_id(const context *c, size_t i, bm_buf *room)
{
    const bm_grouping *g = c->grouping;
    if (g->known != NULL && g->known[i] != BM_NO_KNOWN)
        return bm_known_id(g->from, g->known[i]);
    return g->kept[i] != BM_NO_KEPT ? bm_doc_table_id_anywhere(c->docs, g->kept[i], room)
                                    : (bm_str){0};
}

static bm_status add_removed(const context *c, size_t begin, size_t end, bm_buf *out, bm_error *err)
{
    const bm_grouping *g = c->grouping;
    bm_buf room = {0};
    bm_status status = BM_OK;
    for (size_t i = begin; i < end; i++) {
        bm_grouping_leave(g, i);
        bm_doc_table_pass(c->docs, i);
        if (g->reason[i] == BM_REASON_KEPT)
            continue;
        const bm_doc_row *row = bm_doc_table_row(c->docs, i);
        const bm_removed_line line = {.id = bm_doc_table_id(c->docs, i),
                                      .kept = kept_id(c, i, &room),
                                      .jaccard = g->similarity[i],
                                      .reason = bm_reason_name((bm_reason)g->reason[i]),
                                      .file = c->names->names[row->file],
                                      .line = row->line,
                                      .lost = bm_lost_shingles(c->removed, i),
                                      .all_digits = c->all_digits};
        BM_TRY_OUT(bm_removed_line_add(out, &line, err));
    }
out:
    bm_buf_reset(&room);
    return status;
}

static bm_status fill_removed(bm_rows *rows, const context *c, bm_error *err)
{
    BM_TRY(bm_table_begin(&rows->buf, BM_TABLE_REMOVED, err));
    return add_rows(rows, c, add_removed, c->docs->n, err);
}

bm_status bm_rows_removed(bm_out_dir *dir, const bm_job_context *job, const bm_lost_source *from,
                          bm_error *err)
{
    context c = {.docs = &job->docs,
                 .grouping = from->grouping,
                 .names = &job->inputs.names,
                 .removed = from,
                 .all_digits = job->settings->results.all_digits,
                 .pool = job->pool};
    return write_file(dir, BM_FILE_REMOVED, fill_removed, &c, err);
}

/* --- groups.jsonl --- */

static bm_status add_group(const context *c, bm_json *json, size_t group, bm_buf *room, bm_buf *out,
                           bm_error *err)
{
    const bm_grouping *g = c->grouping;
    const uint64_t begin = g->begin[group], end = g->begin[group + 1];
    const bool known = g->known != NULL && g->known[g->members[begin]] != BM_NO_KNOWN;
    const bm_str kept = known ? bm_known_id(g->from, g->known_members[g->known_begin[group]])
                              : kept_id(c, g->members[begin], room);
    bm_group_line_begin(json, group + 1, kept, end - begin);
    for (uint64_t i = begin; i < end; i++)
        bm_json_string(json, bm_doc_table_id_anywhere(c->docs, g->members[i], room));
    if (known)
        bm_group_line_known(json);
    for (uint64_t i = known ? g->known_begin[group] : 0; known && i < g->known_begin[group + 1];
         i++)
        bm_json_string(json, bm_known_id(g->from, g->known_members[i]));
    return bm_group_line_end(json, out, err);
}

/* The first group whose members begin at index `member` of grouping->members or later. */
static size_t group_from(const bm_grouping *g, uint64_t member)
{
    bm_bisect b = {0, g->n_groups};
    while (b.low < b.high)
        bm_bisect_go(&b, g->begin[bm_middle(&b)] < member);
    return b.low;
}

/* Add the groups whose members begin at the indices begin … end-1 of grouping->members. */
static bm_status add_groups(const context *c, size_t begin, size_t end, bm_buf *out, bm_error *err)
{
    bm_json json = {0};
    bm_buf room = {0};
    bm_status status = BM_OK;
    bm_column_leave(&c->grouping->column);
    for (size_t i = group_from(c->grouping, begin);
         i < c->grouping->n_groups && c->grouping->begin[i] < end; i++)
        BM_TRY_OUT(add_group(c, &json, i, &room, out, err));
out:
    bm_buf_reset(&json.buf);
    bm_buf_reset(&room);
    return status;
}

static bm_status fill_groups(bm_rows *rows, const context *c, bm_error *err)
{
    return add_rows(rows, c, add_groups, (size_t)c->grouping->begin[c->grouping->n_groups], err);
}

bm_status bm_rows_groups(bm_out_dir *dir, const bm_doc_table *docs, const bm_grouping *grouping,
                         bm_pool *pool, bm_error *err)
{
    context c = {.docs = docs, .grouping = grouping, .pool = pool};
    return write_file(dir, BM_FILE_GROUPS, fill_groups, &c, err);
}

/* === pair texts ===
 *
 * Copies texts into a temporary file, and reads back the two texts of a pair when the row of the
 * pair is written.
 *
 * Copies have equal shingles, but not always equal texts, so the text of each copy is stored.
 * Records are assigned to documents by order, file and line; with a sample, some records have no
 * document.
 *
 * Memory: 16 bytes per document, and the two texts of a pair per thread. */

#define WRITE_BYTES ((size_t)1 << 20)
#define GRAIN       4u

typedef struct reading {
    bm_job_context *job;
    bm_pair_texts *texts;
    const uint8_t *wanted; /* for each document: 1 if it can be in a pair */
    size_t next;           /* the next document to find */
    bool enough;           /* all documents are found */
} reading;

/* --- reading --- */

static uint32_t root_of(const bm_union_find *groups, uint32_t doc)
{
    while (groups->parent[doc] != doc)
        doc = groups->parent[doc];
    return doc;
}

/* Mark the documents that can be in a pair: documents that have copies, and documents in a group of
 * several. */
static bm_status mark_wanted(const bm_match *match, uint8_t *wanted, bm_error *err)
{
    const bm_corpus *corpus = match->settings.corpus;
    const bm_union_find *groups = &match->result.groups;
    uint32_t *size = NULL;
    BM_TRY(bm_new_zero(&size, corpus->n, err));
    for (size_t i = 0; i < corpus->n; i++)
        size[root_of(groups, corpus->rep[i])]++;
    for (size_t i = 0; i < corpus->n; i++)
        wanted[i] = size[root_of(groups, corpus->rep[i])] > 1;
    bm_free(size);
    return BM_OK;
}

static uint32_t count_points(bm_str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static bm_status on_record(void *ctx, const bm_record *record, bm_error *err)
{
    reading *r = ctx;
    const bm_doc_table *docs = &r->job->docs;
    bm_pair_texts *t = r->texts;
    if (record->bad || r->next == docs->n)
        return BM_OK;
    const bm_doc_row *row = bm_doc_table_row(docs, r->next);
    if (row->file != record->file || row->line != record->line ||
        row->text_bytes != record->text_bytes)
        return BM_OK; /* not in the sample; or the input changed, which is reported at the end */
    const size_t doc = r->next++;
    r->enough = r->next == docs->n;
    if (!r->wanted[doc])
        return BM_OK;
    t->points[doc] = record->text.len < UINT32_MAX ? count_points(record->text) : UINT32_MAX;
    if (t->points[doc] == UINT32_MAX)
        return BM_OK;
    t->bytes[doc] = (uint32_t)record->text.len;
    return bm_spill_add(t->file, record->text.data, record->text.len, &t->places[doc], err);
}

bm_status bm_pair_texts_read(bm_job_context *job, const bm_match *match, bm_pair_texts *out,
                             bm_error *err)
{
    const bm_settings *s = job->settings;
    uint8_t *wanted = NULL;
    reading r = {.job = job, .texts = out};
    *out = (bm_pair_texts){.n = job->docs.n, .pool = job->pool};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new_zero(&wanted, out->n, err));
    BM_TRY_OUT(bm_new_zero(&out->places, out->n, err));
    BM_TRY_OUT(bm_new_zero(&out->bytes, out->n, err));
    BM_TRY_OUT(bm_new_zero(&out->points, out->n, err));
    BM_TRY_OUT(mark_wanted(match, wanted, err));
    BM_TRY_OUT(bm_spill_open(s->temp_dir, BM_SPILL_TEXTS, WRITE_BYTES, &out->file, err));
    r.wanted = wanted;
    r.enough = out->n == 0;
    BM_TRY_OUT(bm_records_read(job, on_record, &r, &r.enough, err));
    if (!r.enough)
        BM_TRY_OUT(bm_fail_at(
            err, BM_ERR_INPUT,
            bm_batch_source_file(job->inputs.source, bm_doc_table_row(&job->docs, r.next)->file),
            bm_doc_table_row(&job->docs, r.next)->line,
            "the file changed while it was read (the same records twice)"));
    status = bm_spill_flush(out->file, err);
out:
    bm_free(wanted);
    if (status != BM_OK)
        bm_pair_texts_close(out);
    return status;
}

void bm_pair_texts_close(bm_pair_texts *texts)
{
    bm_spill_close(texts->file);
    bm_free_all(texts->places, texts->bytes, texts->points);
    *texts = (bm_pair_texts){0};
}

/* --- comparing --- */

typedef struct comparing {
    const bm_pair_texts *texts;
    bm_edit_pair *pairs;
} comparing;

/* The buffers of a thread for one text: bytes, and code points. */
typedef struct loaded_text {
    char *bytes;
    uint32_t *points;
    size_t cap_bytes, cap_points;
    uint32_t doc; /* the document whose text is loaded */
    bool any;     /* a text is loaded */
} loaded_text;

/* Write the code points of a text to `out`, and return their number. The text must be valid UTF-8,
 * as all texts of records are. */
static size_t decode(const char *text, size_t len, uint32_t *out)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t n = 0;
    for (size_t i = 0; i < len;) {
        const uint32_t c = p[i];
        const size_t more = c < 0x80 ? 0 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
        uint32_t point = more == 0 ? c : c & (0x3Fu >> more);
        for (size_t k = 1; k <= more && i + k < len; k++)
            point = point << 6 | (p[i + k] & 0x3F);
        out[n++] = point;
        i += more + 1;
    }
    return n;
}

static bm_status load_text(const bm_pair_texts *t, uint32_t doc, loaded_text *out, bm_error *err)
{
    if (out->any && out->doc == doc)
        return BM_OK;
    out->any = false;
    BM_TRY(bm_grow_array(&out->bytes, &out->cap_bytes, (size_t)t->bytes[doc] + 1, err));
    BM_TRY(bm_grow_array(&out->points, &out->cap_points, (size_t)t->points[doc] + 1, err));
    BM_TRY(bm_spill_read(t->file, t->places[doc], out->bytes, t->bytes[doc], err));
    decode(out->bytes, t->bytes[doc], out->points);
    out->doc = doc;
    out->any = true;
    return BM_OK;
}

static bm_status compare_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    const comparing *c = ctx;
    const bm_pair_texts *t = c->texts;
    loaded_text a = {0}, b = {0};
    bm_status status = BM_OK;
    for (size_t i = begin; i < end; i++) {
        bm_edit_pair *pair = &c->pairs[i];
        const uint64_t n_a = t->points[pair->a], n_b = t->points[pair->b];
        pair->distance = BM_EDIT_UNKNOWN;
        if (n_a == UINT32_MAX || n_b == UINT32_MAX || n_a * n_b > BM_EDIT_CELLS_MAX)
            continue;
        BM_TRY_OUT(load_text(t, pair->a, &a, err));
        BM_TRY_OUT(load_text(t, pair->b, &b, err));
        BM_TRY_OUT(bm_edit_distance((bm_points){a.points, (size_t)n_a},
                                    (bm_points){b.points, (size_t)n_b}, &pair->distance, err));
    }
out:
    bm_free_all(a.bytes, a.points, b.bytes, b.points);
    return status;
}

/* Compute the distances of n pairs, on all threads. */
static bm_status pair_texts_compare(const bm_pair_texts *texts, bm_edit_pair *pairs, size_t n,
                                    bm_error *err)
{
    comparing c = {.texts = texts, .pairs = pairs};
    return bm_pool_for(texts->pool, (bm_pool_split){n, GRAIN}, compare_range, &c, err);
}

/* === rows pairs ===
 *
 * A row has two documents, a and b. Document a is the earlier one, or, with containment, the
 * smaller one. Rows are in input order of a, then of b.
 *
 * An edge joins two representatives. With `chain`, each copy adds one row, (representative, copy).
 * Without `chain`, a document is paired with all other copies of its representative r, and with all
 * copies of each representative that an edge joins with r.
 *
 * Each edge is converted to links. A link leads from a document to a representative. The links are
 * sorted by document (spill/sorted_runs.h). Then the partners b of one document a after another are
 * gathered, sorted and written, so that memory contains the partners of only one document at a
 * time. */

#define ROWS_A_QUESTION 4096u /* rows between two checks for cancellation by the caller */
#define GATHERED        1024u /* rows whose edit distances are computed together */

/* A document b, and its similarity to the current document a. */
typedef struct partner {
    uint32_t doc;
    double similarity;
} partner;

typedef struct partners {
    const bm_pair_rows *rows;
    /* Sorted links: keys (document, representative), with the similarity of the edge that joins the
     * key's representative and the representative of the document. */
    bm_sorted_runs *links;
    bm_run_record link; /* the next link */
    bool ended;         /* no link is left */
    /* The copies of representative r are copies[copy_begin[r]] … copies[copy_begin[r + 1] - 1]. The
     * first of them is r itself. */
    uint64_t *copy_begin;
    uint32_t *copies;
    partner *row; /* partners of the current document */
    size_t n_row, cap_row;
    bm_pair gathered[GATHERED];   /* the next rows to write */
    bm_edit_pair edits[GATHERED]; /* the edit distances of the gathered rows */
    size_t n_gathered;
    bm_buf room[2]; /* memory for the two ids of a row */
} partners;

static int by_doc(const void *x, const void *y)
{
    uint32_t a = ((const partner *)x)->doc, b = ((const partner *)y)->doc;
    return a < b ? -1 : a > b;
}

static bm_status index_copies(partners *p, bm_error *err)
{
    const bm_corpus *corpus = p->rows->match->settings.corpus;
    size_t n = corpus->n;
    BM_TRY(bm_new_zero(&p->copy_begin, n + 2, err));
    BM_TRY(bm_new(&p->copies, n, err));
    for (size_t i = 0; i < n; i++)
        p->copy_begin[corpus->rep[i] + 2]++;
    for (size_t i = 0; i < n; i++)
        p->copy_begin[i + 2] += p->copy_begin[i + 1];
    for (size_t i = 0; i < n; i++)
        p->copies[p->copy_begin[corpus->rep[i] + 1]++] = (uint32_t)i;
    return BM_OK;
}

/* In the row of documents a and b, is a the first one? */
static bool comes_first(const partners *p, uint32_t a, uint32_t b)
{
    const bm_corpus *corpus = p->rows->match->settings.corpus;
    const uint32_t size_a = corpus->sizes[corpus->rep[a]], size_b = corpus->sizes[corpus->rep[b]];
    return p->rows->measure == BM_MEASURE_CONTAINMENT && size_a != size_b ? size_a < size_b : a < b;
}

static bm_status add_partner(partners *p, uint32_t doc, uint32_t other, double similarity,
                             bm_error *err)
{
    if (other == doc || !comes_first(p, doc, other))
        return BM_OK;
    BM_TRY(bm_grow(&p->row, &p->cap_row, p->n_row + 1, sizeof *p->row, err));
    p->row[p->n_row++] = (partner){other, similarity};
    return BM_OK;
}

static bm_status add_copies(partners *p, uint32_t doc, uint32_t rep, double similarity,
                            bm_error *err)
{
    for (uint64_t i = p->copy_begin[rep]; i < p->copy_begin[rep + 1]; i++)
        BM_TRY(add_partner(p, doc, p->copies[i], similarity, err));
    return BM_OK;
}

/* Every ROWS_A_QUESTION rows, report progress, and return BM_ERR_CANCELLED if the caller wants to
 * stop. */
static bm_status ask(const bm_pair_rows *pairs, bm_error *err)
{
    bm_meter *meter = pairs->match->settings.meter;
    if (pairs->n_written % ROWS_A_QUESTION != 0)
        return BM_OK;
    bm_meter_progress(meter, pairs->n_written, 0, 0);
    return bm_meter_check(meter, err);
}

static bm_status name_pair(const bm_pair_rows *pairs, const bm_pair *pair, bm_buf room[2],
                           bm_pair_line *out, bm_error *err)
{
    const bm_part_source *parts = pairs->parts;
    if (parts == NULL) {
        out->id_a = bm_doc_table_id(pairs->docs, pair->a);
        out->id_b = bm_doc_table_id_anywhere(pairs->docs, pair->b, &room[1]);
        return BM_OK;
    }
    out->of_parts = true;
    BM_TRY(parts->name(parts->ctx, pair->a, &room[0], &out->from_a, err));
    BM_TRY(parts->name(parts->ctx, pair->b, &room[1], &out->from_b, err));
    out->id_a = (bm_str){room[0].data, room[0].len};
    out->id_b = (bm_str){room[1].data, room[1].len};
    return BM_OK;
}

/* Write the gathered rows. */
static bm_status write_gathered(bm_rows *rows, bm_pair_rows *pairs, partners *p, bm_error *err)
{
    const uint32_t *rep = pairs->match->settings.corpus->rep;
    if (pairs->texts != NULL)
        BM_TRY(pair_texts_compare(pairs->texts, p->edits, p->n_gathered, err));
    for (size_t i = 0; i < p->n_gathered; i++) {
        const bm_pair *pair = &p->gathered[i];
        bm_pair_line line = {.measure = pairs->measure,
                             .similarity = pair->similarity,
                             .all_digits = pairs->all_digits};
        BM_TRY(name_pair(pairs, pair, p->room, &line, err));
        BM_TRY(ask(pairs, err));
        if (pairs->texts != NULL) {
            line.has_edit = true;
            line.edit = p->edits[i].distance;
            pairs->n_edit_unknown += line.edit == BM_EDIT_UNKNOWN;
        }
        BM_TRY(pairs->json ? bm_pair_line_add_json(&rows->buf, &line, err)
                           : bm_pair_line_add(&rows->buf, &line, err));
        BM_TRY(bm_rows_flush(rows, false, err));
        if (pairs->histogram != NULL && !isnan(pair->similarity))
            pairs->histogram[bm_histogram_bin(pair->similarity)]++;
        pairs->n_written++;
        pairs->n_identical += rep[pair->a] == rep[pair->b];
    }
    p->n_gathered = 0;
    return BM_OK;
}

static bm_status write_row(bm_rows *rows, bm_pair_rows *pairs, partners *p, uint32_t doc,
                           partner other, bm_error *err)
{
    p->edits[p->n_gathered] = (bm_edit_pair){.a = doc, .b = other.doc};
    p->gathered[p->n_gathered++] =
        (bm_pair){.a = doc, .b = other.doc, .similarity = other.similarity};
    return p->n_gathered == GATHERED ? write_gathered(rows, pairs, p, err) : BM_OK;
}

/* --- links --- */

/* Add the links of an edge between two representatives. With `chain`, only the representative that
 * is first in their row is linked with the other. Otherwise, all copies of each representative are
 * linked with the other representative. */
static bm_status sort_edge(const partners *p, const bm_pair *edge, bm_error *err)
{
    const uint64_t bits = bm_edge_bits(edge->similarity);
    for (int turned = 0; turned < 2; turned++) {
        const uint32_t from = turned ? edge->b : edge->a, to = turned ? edge->a : edge->b;
        if (p->rows->chain && !comes_first(p, from, to))
            continue;
        const uint64_t end = p->rows->chain ? p->copy_begin[from] + 1 : p->copy_begin[from + 1];
        for (uint64_t i = p->copy_begin[from]; i < end; i++)
            BM_TRY(bm_sorted_runs_add(p->links, bm_pair_key(p->copies[i], to), bits, err));
    }
    return bm_meter_check(p->rows->match->settings.meter, err);
}

static bm_status next_link(partners *p, bm_error *err)
{
    const bm_status status = bm_sorted_runs_next(p->links, &p->link, err);
    p->ended = status == BM_NOT_FOUND;
    return p->ended ? BM_OK : status;
}

static bm_status sort_links(partners *p, bm_error *err)
{
    const bm_match *match = p->rows->match;
    bm_pair edge;
    bm_status status = BM_OK;
    BM_TRY(bm_edges_open_runs(match->settings.corpus, &p->links, err));
    BM_TRY(bm_edges_begin(match, err));
    while ((status = bm_edges_next(match, &edge, err)) == BM_OK)
        BM_TRY(sort_edge(p, &edge, err));
    BM_TRY(status == BM_NOT_FOUND ? BM_OK : status);
    BM_TRY(bm_sorted_runs_begin(p->links, err));
    return next_link(p, err);
}

/* Set p->row to the sorted partners of a document. */
static bm_status gather(partners *p, uint32_t doc, bm_error *err)
{
    const uint32_t rep = p->rows->match->settings.corpus->rep[doc];
    const bool chain = p->rows->chain;
    p->n_row = 0;
    /* With `chain`, a copy is only in one row, (representative, copy). */
    if (!chain || rep == doc)
        BM_TRY(add_copies(p, doc, rep, 1.0, err));
    while (!p->ended && p->link.key >> 32 == doc) {
        const uint32_t other = (uint32_t)p->link.key;
        const double similarity = bm_edge_similarity(p->link.value);
        BM_TRY(chain ? add_partner(p, doc, other, similarity, err)
                     : add_copies(p, doc, other, similarity, err));
        BM_TRY(next_link(p, err));
    }
    if (p->n_row > 1)
        qsort(p->row, p->n_row, sizeof *p->row, by_doc);
    return BM_OK;
}

static bm_status write_rows(bm_rows *rows, partners *p, bm_pair_rows *pairs, bm_error *err)
{
    BM_TRY(sort_links(p, err));
    for (size_t i = 0; i < pairs->match->settings.corpus->n; i++) {
        BM_TRY(gather(p, (uint32_t)i, err));
        for (size_t k = 0; k < p->n_row; k++)
            BM_TRY(write_row(rows, pairs, p, (uint32_t)i, p->row[k], err));
    }
    return BM_OK;
}

bm_status bm_rows_pairs(bm_rows *rows, bm_pair_rows *pairs, bm_error *err)
{
    partners *p = NULL;
    BM_TRY(bm_new_zero(&p, 1, err));
    p->rows = pairs;
    bm_status status = BM_OK;
    BM_TRY_OUT(pairs->json
                   ? BM_OK
                   : bm_table_begin(&rows->buf,
                                    pairs->parts != NULL
                                        ? BM_TABLE_PAIRS_PARTS
                                        : bm_table_of_pairs(pairs->measure, pairs->texts != NULL),
                                    err));
    BM_TRY_OUT(index_copies(p, err));
    BM_TRY_OUT(write_rows(rows, p, pairs, err));
    BM_TRY_OUT(write_gathered(rows, pairs, p, err));
    status = bm_rows_flush(rows, true, err);
out:
    bm_sorted_runs_close(p->links);
    bm_buf_reset(&p->room[0]);
    bm_buf_reset(&p->room[1]);
    bm_free_all(p->copy_begin, p->copies, p->row, p);
    return status;
}
