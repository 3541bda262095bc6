/* SPDX-License-Identifier: Apache-2.0 */
/* job_filter.c -- the `filter` command: copies the kept documents from the inputs of a directory
 * that `dedup` wrote. So finding and removing duplicates can be two steps.
 *
 * The tables of the directory list the records to leave out. The inputs are read once, and all
 * other records are copied. If records are identified by their ids, an earlier pass over the inputs
 * finds the ids. The inputs are matched by position to the inputs listed in the
 * report. So files may have been moved, but their digests must be unchanged.
 *
 * With `annotate`, every record is written, including removed ones, together with its group.
 *
 * Tests: tests/cli/cases/annotate.sh, tests/cli/cases/dedup.sh, tests/cli/cases/filter.sh,
 *        tests/cli/cases/staged.sh, tests/unit/jobs/test_annotation.c,
 *        tests/unit/jobs/test_public_api_job.c */
#include <bandmill/job.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "input/parser.h"
#include "input/record.h"
#include "input/record_format.h"
#include "input/record_rules.h"
#include "input/tables.h"
#include "job/job_context.h"
#include "job/job_steps.h"
#include "job/kept_pass.h"
#include "job/recipe.h"
#include "job/settings.h"
#include "jobs/group_labels.h"
#include "json/json_exact.h"
#include "json/json_scan.h"
#include "model/file_names.h"
#include "model/ids.h"
#include "model/option_words.h"
#include "output/manifest.h"
#include "results/listed_order.h"
#include "results/result_dir.h"
#include "results/result_tables.h"

/* === filter drops ===
 *
 * The drops are the records to leave out: records that `dedup` removed, and records that it
 * skipped.
 *
 * removed.tsv and skipped.tsv list the records in input order, and sources.tsv has their numbers
 * for each input. So the input of a row is known even if two inputs have the same name.
 *
 * Usually a record is identified by its line. It is identified by its id (`by_id`) in three cases:
 * several records can begin in one line, the lines are unknown because `dedup` had only signatures,
 * or only ids are written. Then the inputs are read once more, for their ids, and the place of a
 * record is its number, from 0, among the records of all inputs. */

typedef struct bm_drop {
    uint32_t file;  /* number of the input */
    uint64_t place; /* the record's line or, if by_id, number */
} bm_drop;

/* Records in input order. */
typedef struct bm_drop_list {
    bm_drop *rows;
    size_t n, cap, next;
} bm_drop_list;

typedef struct bm_drops {
    bool by_id;
    bool no_lines; /* `dedup` had only signatures */
    /* If no_lines: the id X of each removed document that has an id of the form X#N. */
    bm_id_set bases;
    const bm_settings *settings; /* borrowed; has the memory limit */
    /* If by_id, `removed` contains both removed and skipped records, which are added while the
     * inputs are read for their ids. */
    bm_drop_list removed, skipped;
    bm_id_set ids; /* if by_id: the ids of the removed documents */
    uint64_t n_removed, n_skipped;
    uint64_t bytes; /* upper bound of the memory of the drops */
} bm_drops;         /* {0} is empty, except for `settings` */

/* State of loading the tables into the drops, one table after another. */
typedef struct loading {
    bm_drops *out;
    bm_source_walk rows;
    bool removed;             /* the current table: removed.tsv if true, else skipped.tsv */
    uint64_t n;               /* rows of the current table read so far */
    uint64_t budget;          /* bytes available; 0: no limit */
    uint64_t n_ids, id_bytes; /* number and bytes of the ids so far */
} loading;

static int by_place(bm_drop a, bm_drop b)
{
    if (a.file != b.file)
        return a.file < b.file ? -1 : 1;
    return a.place < b.place ? -1 : a.place > b.place;
}

static bm_status add_drop(bm_drop_list *list, bm_drop drop, bm_error *err)
{
    BM_TRY(bm_grow_array(&list->rows, &list->cap, list->n + 1, err));
    list->rows[list->n++] = drop;
    return BM_OK;
}

/* Memory of the rows, without ids. It is known once sources.tsv is read. */
static uint64_t bytes_of_rows(const bm_drops *drops)
{
    return (drops->n_removed + drops->n_skipped) * sizeof(bm_drop);
}

/* Add an id. Once the ids no longer fit into memory, they are only counted. */
static bm_status load_id(bm_drops *out, loading *now, bm_str id, bm_error *err)
{
    uint32_t number;
    now->n_ids++;
    now->id_bytes += id.len;
    out->bytes = bytes_of_rows(out) + bm_id_set_bytes(now->n_ids, now->id_bytes);
    if (now->budget != 0 && out->bytes > now->budget) {
        bm_id_set_reset(&out->ids);
        bm_id_set_reset(&out->bases);
        return BM_OK;
    }
    BM_TRY(bm_id_set_add(&out->ids, id, &number, err));
    bm_str base;
    uint32_t repeat;
    if (out->no_lines && bm_numbered_id(id, &base, &repeat))
        BM_TRY(bm_id_set_add(&out->bases, base, &number, err));
    return BM_OK;
}

/* A bm_result_row_fn, for the rows of both tables. Adds the row's record to the list of its table.
 * But if records are identified by id, adds the id of a removed document, and nothing for a skipped
 * record. */
static bm_status load_row(void *ctx, const bm_tsv_table *row, bm_error *err)
{
    loading *now = ctx;
    bm_drops *out = now->out;
    const size_t line = now->removed ? BM_REMOVED_LINE : BM_SKIPPED_LINE;
    bm_drop_list *list = now->removed ? &out->removed : &out->skipped;
    BM_TRY(
        bm_source_walk_row(&now->rows, row, now->removed ? BM_REMOVED_FILE : BM_SKIPPED_FILE, err));
    bm_drop drop = {.file = (uint32_t)now->rows.file};
    now->n++;
    /* if the first row has no line, none has */
    if (now->removed && list->n == 0 && row->fields[line].len == 0)
        out->by_id = out->no_lines = true;
    if (out->by_id)
        return now->removed ? load_id(out, now, row->fields[BM_REMOVED_ID], err) : BM_OK;
    BM_TRY(bm_tsv_table_uint(row, line, &drop.place, err));
    if (list->n > 0 && by_place(list->rows[list->n - 1], drop) > 0)
        return bm_fail_at(err, BM_ERR_FORMAT, row->path, row->line,
                          "the rows are not in the order of the inputs");
    return add_drop(list, drop, err);
}

static bm_status load_rows(loading *now, bool removed, bm_error *err)
{
    const bm_drops *out = now->out;
    const bm_result_dir dir = {.manifest = now->rows.manifest,
                               .callbacks = &out->settings->callbacks};
    const bm_table table = removed ? BM_TABLE_REMOVED : BM_TABLE_SKIPPED;
    const uint64_t expected = removed ? out->n_removed : out->n_skipped;
    now->removed = removed;
    now->n = 0;
    BM_TRY(bm_result_rows(&dir, table, load_row, now, err));
    if (now->n == expected)
        return BM_OK;
    char message[100];
    snprintf(message, sizeof message, "%llu rows (" BM_FILE_SOURCES " counts %llu)",
             (unsigned long long)now->n, (unsigned long long)expected);
    return bm_result_fail(&dir, bm_table_file(table), 0, message, err);
}

static bm_status check_budget(bm_drops *out, const loading *now, bm_error *err)
{
    if (out->bytes < bytes_of_rows(out))
        out->bytes = bytes_of_rows(out);
    return now->budget == 0 || out->bytes <= now->budget
               ? BM_OK
               : bm_table_budget_refuse(out->settings, "the removed and skipped records",
                                        out->bytes, err);
}

/* Read the tables of the directory. `manifest`: its open report. The caller may set out->by_id
 * before the call; otherwise the tables decide. BM_ERR_FORMAT: the message names file and line, or
 * a file that does not match its digest in the report. BM_ERR_NOMEM: the message names a sufficient
 * `memory`. */
static bm_status drops_load(const bm_manifest *manifest, bm_drops *out, bm_error *err)
{
    loading now = {.out = out};
    bm_source_walk *rows = &now.rows;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_source_walk_open(manifest, rows, err));
    BM_TRY_OUT(bm_table_budget(out->settings, &now.budget, err));
    /* read these numbers first, because they determine the memory of the rows */
    BM_TRY_OUT(bm_source_walk_begin(rows, BM_SOURCES_SKIPPED, &out->n_skipped, err));
    BM_TRY_OUT(bm_source_walk_begin(rows, BM_SOURCES_REMOVED, &out->n_removed, err));
    BM_TRY_OUT(check_budget(out, &now, err));
    BM_TRY_OUT(load_rows(&now, true, err));
    BM_TRY_OUT(check_budget(out, &now, err));
    if (out->n_skipped > 0) {
        BM_TRY_OUT(bm_source_walk_begin(rows, BM_SOURCES_SKIPPED, &out->n_skipped, err));
        BM_TRY_OUT(load_rows(&now, false, err));
    }
    BM_TRY_OUT(
        bm_manifest_compare_count(manifest, "removed", out->n_removed, BM_FILE_REMOVED, err));
    status = bm_manifest_compare_count(manifest, "skipped", out->n_skipped, BM_FILE_SOURCES, err);
out:
    bm_source_walk_close(rows);
    return status;
}

static void drops_reset(bm_drops *drops)
{
    bm_free_all(drops->removed.rows, drops->skipped.rows);
    bm_id_set_reset(&drops->ids);
    bm_id_set_reset(&drops->bases);
    memset(drops, 0, sizeof *drops);
}

/* --- the lists --- */

/* Only if by_id: add a record to leave out. `name`: the input that contains the record.
 * BM_ERR_INPUT: the inputs have more such records than the tables list. */
static bm_status drops_add(bm_drops *drops, bm_drop drop, const char *name, bm_error *err)
{
    if (drops->removed.n >= drops->n_removed + drops->n_skipped)
        return bm_fail_at(err, BM_ERR_INPUT, name, 0,
                          "the inputs hold more removed and skipped records than there were (%llu)",
                          (unsigned long long)(drops->n_removed + drops->n_skipped));
    return add_drop(&drops->removed, drop, err);
}

static bool match_next(bm_drop_list *list, bm_drop here)
{
    if (list->next >= list->n || by_place(list->rows[list->next], here) != 0)
        return false;
    list->next++;
    return true;
}

/* Is the record at place `here` left out? Records must be passed in input order. */
static bool drops_match(bm_drops *drops, bm_drop here)
{
    return match_next(&drops->removed, here) || match_next(&drops->skipped, here);
}

/* Number of records for which drops_match has returned true. */
static uint64_t drops_matched(const bm_drops *drops)
{
    return drops->removed.next + drops->skipped.next;
}

/* Is it unclear whether the document with this id was removed? This can happen only if lines are
 * unknown and the id has the form X#N: the id may be from the input, or `sign` may have made it
 * from a repeated X. */
static bool drops_doubt(const bm_drops *drops, bm_str id)
{
    bm_str base;
    uint32_t number;
    return drops->bases.n > 0 && bm_numbered_id(id, &base, &number) &&
           (bm_id_set_find(&drops->bases, base) != BM_ID_NONE ||
            bm_id_set_find(&drops->bases, id) != BM_ID_NONE);
}

/* Is a document with this id removed? */
static bool drops_has_id(const bm_drops *drops, bm_str id)
{
    return drops->ids.n > 0 && bm_id_set_find(&drops->ids, id) != BM_ID_NONE;
}

/* === annotation ===
 *
 * Adds the group to a record: as a new field at the end of a JSON object, or as four new columns at
 * the end of a row of tsv or csv. All other bytes are unchanged.
 *
 *     {"id":"a","text":"..."}  ->  {"id":"a","text":"...","bandmill":{"group":1,"size":2,
 *                                  "kept":false,"jaccard":0.843750}}
 *     id,text                  ->  id,text,bandmill_group,bandmill_size,bandmill_kept,
 *                                  bandmill_jaccard
 *     a,...                    ->  a,...,1,2,false,0.843750
 *
 * Arrow and Parquet files get one new column, a struct of the four values. The bytes inserted into
 * their records are a bm_table_label.
 *
 * An unknown value becomes null or an empty field. A document in no group has neither a group nor a
 * size, so both become null or empty too. If a row is shorter than the header (without a header:
 * than the first row of its file), empty fields are inserted before the new columns. BM_ERR_INPUT:
 * a row is longer, a record already has the field, or a header already has one of the columns. */

typedef struct bm_annotation {
    bool table;           /* the inputs are tsv or csv */
    bool labels;          /* the inputs are table files */
    bm_row_syntax syntax; /* syntax of the rows, if `table` */
    bm_json_exact *json;  /* for JSON: looks for the new field in a record */
    bool begun;           /* the first row of `file` was read, and n_columns is set */
    uint32_t file;
    size_t n_columns; /* number of columns of `file` */
    bm_buf text;      /* the text to insert */
} bm_annotation;

/* A record to be written. */
typedef struct bm_annotated {
    /* A readable document, a header row, or the brackets and commas of an array. */
    const bm_record *record;
    const char *file;            /* name of the record's file, for messages */
    const bm_group_label *label; /* NULL: the record is no document */
} bm_annotated;

#define FIELD   "bandmill"
#define JACCARD "jaccard"

static const char *const columns[] = {FIELD "_" BM_GROUP_NUMBER, FIELD "_" BM_GROUP_SIZE,
                                      FIELD "_" BM_GROUP_KEPT, FIELD "_" JACCARD};
enum { N_COLUMNS = sizeof columns / sizeof columns[0] };

/* Prepare to annotate. BM_ERR_USAGE: in the format of the inputs, a record has no place for a
 * group. */
static bm_status annotation_open(const bm_input_options *input, bm_annotation *out, bm_error *err)
{
    static const char *const path[] = {FIELD};
    const bm_format format = input->format;
    *out = (bm_annotation){.table = format == BM_FORMAT_CSV || format == BM_FORMAT_TSV,
                           .labels = bm_format_is_table(format),
                           .syntax = bm_row_syntax_of(input, format)};
    if (out->table || out->labels)
        return BM_OK;
    if (format == BM_FORMAT_JSONL || format == BM_FORMAT_JSON)
        return bm_json_exact_open_text(path, 1, &out->json, err);
    return bm_fail_field(err, "annotate",
                         "`annotate`: these records have no place for a group (jsonl, json, tsv, "
                         "csv, parquet or arrow)");
}

static void annotation_close(bm_annotation *a)
{
    bm_json_exact_close(a->json);
    bm_buf_reset(&a->text);
    memset(a, 0, sizeof *a);
}

/* Add a similarity such as "0.843750", or the text `unknown`. */
static bm_status add_jaccard(bm_buf *out, uint32_t millionths, const char *unknown, bm_error *err)
{
    return millionths == BM_JACCARD_UNKNOWN
               ? bm_buf_add_text(out, unknown, err)
               : bm_buf_add_format(out, err, "%" PRIu32 ".%06" PRIu32, millionths / 1000000,
                                   millionths % 1000000);
}

/* Add the number or the size of a group. If it is 0, add the text `none` instead. */
static bm_status add_number(bm_buf *out, uint64_t number, const char *none, bm_error *err)
{
    return number == 0 ? bm_buf_add_text(out, none, err)
                       : bm_buf_add_format(out, err, "%" PRIu64, number);
}

static const char *truth(bool kept)
{
    return kept ? "true" : "false";
}

/* --- JSON --- */

static bm_status check_field(const bm_annotation *a, const bm_annotated *what, bm_error *err)
{
    const bm_record *record = what->record;
    const size_t bom = bm_bom_bytes(record->raw.data, record->raw.len);
    const bm_str text = {record->raw.data + bom, bm_without_line_end(record->raw).len - bom};
    bm_json_field field;
    const char *broken = NULL;
    BM_TRY(bm_json_exact_run(a->json, text, &field, &broken, err));
    if (broken != NULL)
        return bm_fail_at(err, BM_ERR_INPUT, what->file, record->line, "%s", broken);
    if (field.kind != BM_JSON_MISSING)
        return bm_fail_at(err, BM_ERR_INPUT, what->file, record->line,
                          "the record has a field '" FIELD "' already");
    return BM_OK;
}

static bm_status add_object(bm_buf *out, const bm_group_label *label, bool first, bm_error *err)
{
    BM_TRY(bm_buf_add_text(out, first ? "" : ",", err));
    BM_TRY(bm_buf_add_text(out, "\"" FIELD "\":{\"" BM_GROUP_NUMBER "\":", err));
    BM_TRY(add_number(out, label->group, "null", err));
    BM_TRY(bm_buf_add_text(out, ",\"" BM_GROUP_SIZE "\":", err));
    BM_TRY(add_number(out, label->size, "null", err));
    BM_TRY(bm_buf_add_format(out, err,
                             ",\"" BM_GROUP_KEPT "\":%s,\"" JACCARD "\":", truth(label->kept)));
    BM_TRY(add_jaccard(out, label->millionths, "null", err));
    return bm_buf_add_text(out, "}", err);
}

static bm_status annotate_object(bm_annotation *a, const bm_annotated *what, bm_insertion *out,
                                 bm_error *err)
{
    const bm_record *record = what->record;
    BM_TRY(check_field(a, what, err));
    const char *const data = record->raw.data;
    size_t at = record->raw.len; /* becomes the offset of the brace that closes the object */
    while (data[at - 1] != '}')
        at--;
    size_t before = --at;
    while (bm_json_is_space(data[before - 1]))
        before--;
    out->at = at;
    return add_object(&a->text, what->label, data[before - 1] == '{', err);
}

/* --- rows --- */

static bool is_column(const bm_cell *cell)
{
    for (size_t i = 0; i < N_COLUMNS; i++)
        if (strlen(columns[i]) == cell->value.len &&
            memcmp(columns[i], cell->value.data, cell->value.len) == 0)
            return true;
    return false;
}

/* Count the cells of a row. BM_ERR_INPUT: a header already has one of the new columns, or the row
 * is broken, or has more cells than the first row of its file. */
static bm_status count_cells(bm_annotation *a, const bm_annotated *what, size_t *n, bm_error *err)
{
    const bm_record *record = what->record;
    const size_t bom = bm_bom_bytes(record->raw.data, record->raw.len);
    const bm_str content = {record->raw.data + bom, bm_without_line_end(record->raw).len - bom};
    bm_row row = bm_row_begin(content, a->syntax);
    bm_cell cell;
    for (*n = 0; bm_row_next(&row, &cell); ++*n)
        if (record->is_header && is_column(&cell))
            return bm_fail_at(err, BM_ERR_INPUT, what->file, record->line,
                              "the header has a column '%.*s' already", (int)cell.value.len,
                              cell.value.data);
    if (row.broken != NULL)
        return bm_fail_at(err, BM_ERR_INPUT, what->file, record->line, "broken row: %s",
                          row.broken);
    if (!a->begun || a->file != record->file) {
        a->begun = true;
        a->file = record->file;
        a->n_columns = *n;
    }
    return *n <= a->n_columns
               ? BM_OK
               : bm_fail_at(err, BM_ERR_INPUT, what->file, record->line,
                            "%zu fields, and %zu in the file's first row: the columns of a group "
                            "would not stand below each other",
                            *n, a->n_columns);
}

/* Insert the separators before the first new column: one for each cell that the row lacks, and one
 * more. */
static bm_status begin_columns(bm_annotation *a, const bm_annotated *what, bm_insertion *out,
                               bm_error *err)
{
    size_t n = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(count_cells(a, what, &n, err));
    for (; n <= a->n_columns; n++)
        BM_TRY_OUT(bm_row_split(a->syntax, &a->text, err));
out:
    out->at = bm_without_line_end(what->record->raw).len;
    return status;
}

static bm_status annotate_row(bm_annotation *a, const bm_annotated *what, bm_insertion *out,
                              bm_error *err)
{
    const bm_group_label *label = what->label;
    BM_TRY(begin_columns(a, what, out, err));
    BM_TRY(add_number(&a->text, label->group, "", err));
    BM_TRY(bm_row_split(a->syntax, &a->text, err));
    BM_TRY(add_number(&a->text, label->size, "", err));
    BM_TRY(bm_row_split(a->syntax, &a->text, err));
    BM_TRY(bm_buf_add_text(&a->text, truth(label->kept), err));
    BM_TRY(bm_row_split(a->syntax, &a->text, err));
    return add_jaccard(&a->text, label->millionths, "", err);
}

static bm_status name_columns(bm_annotation *a, const bm_annotated *what, bm_insertion *out,
                              bm_error *err)
{
    BM_TRY(begin_columns(a, what, out, err));
    for (size_t i = 0; i < N_COLUMNS; i++) {
        if (i > 0)
            BM_TRY(bm_row_split(a->syntax, &a->text, err));
        BM_TRY(bm_buf_add_text(&a->text, columns[i], err));
    }
    return BM_OK;
}

/* --- files of tables --- */

static bm_status add_label(bm_buf *out, const bm_group_label *label, bm_error *err)
{
    _Static_assert(BM_JACCARD_UNKNOWN == BM_TABLE_JACCARD_UNKNOWN, "one word for both");
    const bm_table_label own = {.group = label->group,
                                .size = label->size,
                                .millionths = label->millionths,
                                .kept = label->kept};
    return bm_buf_add(out, &own, sizeof own, err);
}

/* --- a record --- */

static bm_status annotation_find(bm_annotation *a, const bm_annotated *what, bm_insertion *out,
                                 bm_error *err)
{
    bm_status status = BM_OK;
    a->text.len = 0;
    out->at = what->record->raw.len;
    if (a->labels)
        status = what->label != NULL ? add_label(&a->text, what->label, err) : BM_OK;
    else if (what->label == NULL)
        status = a->table ? name_columns(a, what, out, err) : BM_OK;
    else
        status = a->table ? annotate_row(a, what, out, err) : annotate_object(a, what, out, err);
    out->text = (bm_str){a->text.data, a->text.len};
    return status;
}

/* --- cuts from documents (`dedup` with `unit`) --- */

/* Reads cuts.tsv while the inputs are read. Its rows are in input order. */
typedef struct filter_cuts {
    bm_tsv_table table; /* {0}: the directory has no cuts.tsv */
    bool more;          /* the next row is loaded into the members below */
    uint32_t file;      /* number of the input that the row names */
    uint64_t line;      /* line of the row's record in this input */
    bm_text_range range;
    bm_buf ranges; /* the ranges to cut from the last record that was read */
} filter_cuts;

typedef struct filter {
    const char *path; /* path of the directory */
    bm_job *job;      /* set after the directory's report is read */
    bm_manifest *manifest;
    bm_recipe recipe;
    bm_drops drops;
    /* `labels` and `annotation` are used only with `annotate`. */
    bm_group_labels labels;
    bm_annotation annotation;
    filter_cuts cuts;
    size_t next_doc;
    uint64_t n_read; /* records read in the pass for ids */
} filter;

static bool annotates(const filter *f)
{
    return f->job->context.settings->results.annotate;
}

/* --- the pass for ids --- */

/* A bm_record_fn for the pass for ids. All documents are added to the table of documents, so that
 * repeated ids are numbered as in `dedup`. Records to leave out (removed documents and bad records)
 * are added to the drops, by number. BM_ERR_INPUT: drops_doubt, or a bad record that `dedup` would
 * not have skipped. */
static bm_status read_id(void *ctx, const bm_record *record, bm_error *err)
{
    filter *f = ctx;
    bm_job_context *context = &f->job->context;
    bm_drops *drops = &f->drops;
    bm_doc_table *docs = &context->docs;
    const char *name = context->inputs.names.names[record->file];
    const bm_doc_row row = {.file = record->file, .line = record->line};
    const bm_drop here = {record->file, f->n_read++};
    const bm_doc_id id = {record->id, XXH3_64bits(record->id.data, record->id.len)};
    if (record->bad)
        return bm_input_skips_bad_records(&context->settings->input)
                   ? drops_add(drops, here, name, err)
                   : bm_fail_bad_record(name, record, err);
    if (docs->number_duplicates && drops_doubt(drops, record->id))
        return bm_fail_at(err, BM_ERR_INPUT, name, record->line,
                          "the id '%.*s' looks numbered: which document dedup removed by it cannot "
                          "be told from signatures alone (dedup with `verify` exact knows)",
                          (int)(record->id.len > 200 ? 200 : record->id.len), record->id.data);
    BM_TRY(bm_doc_table_add(docs, &row, id, name, err));
    if (drops_has_id(drops, bm_doc_table_id(docs, docs->n - 1)))
        BM_TRY(drops_add(drops, here, name, err));
    return BM_OK;
}

/* --- copying --- */

static void count_record(filter *f, bool keep)
{
    f->job->context.counts.records++;
    f->job->context.counts.kept += keep;
}

static bm_status next_cut(filter *f, bm_error *err)
{
    filter_cuts *c = &f->cuts;
    bool end = false;
    uint64_t line = 0;
    BM_TRY(bm_tsv_table_next(&c->table, &end, err));
    c->more = !end;
    if (end)
        return BM_OK;
    const bm_str name = c->table.fields[BM_CUTS_FILE];
    BM_TRY(bm_tsv_table_uint(&c->table, BM_CUTS_LINE, &line, err));
    BM_TRY(bm_tsv_table_uint(&c->table, BM_CUTS_FROM, &c->range.from, err));
    BM_TRY(bm_tsv_table_uint(&c->table, BM_CUTS_TO, &c->range.to, err));
    c->file += line < c->line;
    c->line = line;
    for (; c->file < bm_manifest_n_inputs(f->manifest); c->file++) {
        const char *input = bm_manifest_input_at(f->manifest, c->file)->file;
        if (strlen(input) == name.len && memcmp(input, name.data, name.len) == 0)
            return BM_OK;
    }
    return bm_fail_at(err, BM_ERR_FORMAT, c->table.path, c->table.line,
                      "the rows are not in the order of the inputs");
}

static bm_status open_cuts(filter *f, bm_error *err)
{
    if (bm_manifest_output(f->manifest, BM_FILE_CUTS) == NULL)
        return BM_OK;
    BM_TRY(bm_tsv_table_open_listed(f->manifest, BM_TABLE_CUTS, &f->cuts.table, err));
    return next_cut(f, err);
}

/* Does the loaded cut belong to document `doc`? Several elements of an array may begin in one line,
 * so for elements, ids are compared too. */
static bool is_cut_of(const filter *f, const bm_record *record, size_t doc)
{
    const filter_cuts *c = &f->cuts;
    if (!c->more || c->file != record->file || c->line != record->line)
        return false;
    if (record->number == 0)
        return true;
    const bm_str id = bm_doc_table_id(&f->job->context.docs, doc), of = c->table.fields[BM_CUTS_ID];
    return id.len == of.len && memcmp(id.data, of.data, id.len) == 0;
}

/* Collect the cuts of a record; a bad record has none. cuts.tsv lists cuts in the order of the
 * records, and in ascending order within a record. */
static bm_status gather_cuts(filter *f, const bm_record *record, bm_error *err)
{
    filter_cuts *c = &f->cuts;
    c->ranges.len = 0;
    if (record->bad)
        return BM_OK;
    const size_t doc = f->next_doc++;
    while (is_cut_of(f, record, doc)) {
        BM_TRY(bm_buf_add(&c->ranges, &c->range, sizeof c->range, err));
        BM_TRY(next_cut(f, err));
    }
    return BM_OK;
}

/* A bm_ranges_fn. Returns the ranges of the record that was passed to keep_record last. */
static bm_status ranges_of(void *ctx, size_t doc, bm_buf *out, bm_error *err)
{
    const bm_buf *ranges = &((const filter *)ctx)->cuts.ranges;
    (void)doc;
    return bm_buf_add(out, ranges->data, ranges->len, err);
}

static bm_status keep_record(void *ctx, const bm_record *record, bm_kept_at *at, bm_copy_side *side,
                             bm_error *err)
{
    (void)at;
    filter *f = ctx;
    const uint64_t number = f->job->context.counts.records;
    const bool keep =
        !drops_match(&f->drops, (bm_drop){record->file, f->drops.by_id ? number : record->line});
    *side = keep ? BM_COPY_KEPT : BM_COPY_NEITHER;
    count_record(f, keep);
    return f->cuts.table.n_columns > 0 ? gather_cuts(f, record, err) : BM_OK;
}

/* A bm_insert_fn: insert the group of a document, or the names of the new columns into a header.
 * The pass for ids has read the documents in the same order. */
static bm_status insert_group(void *ctx, const bm_record *record, bm_insertion *out, bm_error *err)
{
    filter *f = ctx;
    bm_job_context *context = &f->job->context;
    const bm_doc_table *docs = &context->docs;
    const char *name = context->inputs.names.names[record->file];
    bm_annotated what = {.record = record, .file = name};
    if (record->is_header)
        return annotation_find(&f->annotation, &what, out, err);
    const size_t doc = f->next_doc++;
    if (doc >= docs->n || bm_doc_table_row(docs, doc)->file != record->file ||
        bm_doc_table_row(docs, doc)->line != record->line)
        return bm_fail_at(err, BM_ERR_INPUT, name, record->line,
                          "the file changed while it was read (the same records twice)");
    const bm_group_label label = bm_group_labels_find(&f->labels, bm_doc_table_id(docs, doc));
    context->counts.kept -= !label.kept; /* keep_record counted the record as kept */
    what.label = &label;
    return annotation_find(&f->annotation, &what, out, err);
}

/* For formats without records to copy: write the ids of the kept documents. */
static bm_status keep_ids(filter *f, bm_kept_writer *writer, bm_error *err)
{
    const bm_doc_table *docs = &f->job->context.docs;
    bm_status status = BM_OK;
    for (size_t i = 0; i < docs->n; i++) {
        const bm_str id = bm_doc_table_id(docs, i);
        const bool keep = !drops_has_id(&f->drops, id);
        count_record(f, keep);
        if (keep)
            BM_TRY_OUT(bm_kept_writer_id(writer, id, err));
    }
out:
    f->job->context.counts.records += f->drops.n_skipped;
    f->drops.removed.next = f->drops.removed.n; /* the pass for ids has found these records */
    return status;
}

/* Check that all records to leave out, all cuts and, with `annotate`, all members of groups were
 * found in the inputs. */
static bm_status check_drops(const filter *f, bm_error *err)
{
    const uint64_t all = (annotates(f) ? 0 : f->drops.n_removed) + f->drops.n_skipped;
    if (annotates(f) && !bm_group_labels_done(&f->labels))
        return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(f->manifest), 0,
                          "%zu of the %zu members of its groups are in the inputs", f->labels.n_met,
                          f->labels.ids.n);
    if (f->cuts.more)
        return bm_fail_at(err, BM_ERR_FORMAT, f->cuts.table.path, f->cuts.table.line,
                          "no record of the inputs has this cut");
    const uint64_t taken = drops_matched(&f->drops);
    return taken == all
               ? BM_OK
               : bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(f->manifest), 0,
                            "%llu of its %llu removed and skipped records are in the inputs",
                            (unsigned long long)taken, (unsigned long long)all);
}

static bm_status copy_records(filter *f, bm_kept_writer *writer, bm_error *err)
{
    bm_job_context *context = &f->job->context;
    if (f->drops.by_id)
        BM_TRY(bm_records_read(context, read_id, f, NULL, err));
    bm_job_context_stage(context, BM_STAGE_COPY, "bytes");
    bm_kept_writer *const writers[BM_N_COPIES] = {[BM_COPY_KEPT] = writer};
    BM_TRY(open_cuts(f, err));
    const bm_kept_cuts cuts = {ranges_of, f};
    const bm_kept_rule rule = {.keep = keep_record,
                               .insert = annotates(f) ? insert_group : NULL,
                               .ctx = f,
                               .cuts = f->cuts.table.n_columns > 0 ? &cuts : NULL};
    BM_TRY(bm_kept_writer_wants_ids(writer) ? keep_ids(f, writer, err)
                                            : bm_kept_copy(context, writers, &rule, err));
    BM_TRY(bm_kept_writer_finish(writer, err));
    BM_TRY(bm_recipe_check_inputs(&f->recipe, context->inputs.set, err));
    return check_drops(f, err);
}

static bm_status copy_kept(filter *f, bm_out_dir *dir, bm_error *err)
{
    bm_job_context *context = &f->job->context;
    bm_kept_writer *writer = NULL;
    const bm_kept_cfg cfg = {.dir = dir,
                             .set = context->inputs.set,
                             .kept = context->settings->results.kept,
                             .written = annotates(f) ? BM_WRITTEN_ANNOTATED : BM_WRITTEN_KEPT};
    BM_TRY(bm_kept_writer_open(&cfg, &writer, err));
    bm_status status = copy_records(f, writer, err);
    bm_kept_writer_close(writer);
    return status == BM_OK
               ? status
               : bm_recipe_blame(&f->recipe, context->inputs.set, &context->callbacks, status, err);
}

static bm_status write_all(filter *f, bm_out_dir *dir, bm_error *err)
{
    bm_counts *counts = &f->job->context.counts;
    bm_job_context_plan(&f->job->context, BM_START_DOCUMENTS);
    bm_status status = copy_kept(f, dir, err);
    counts->removed = f->drops.n_removed;
    counts->skipped = f->drops.n_skipped;
    counts->documents = counts->kept + f->drops.n_removed;
    return status == BM_OK ? bm_job_finish(f->job,
                                           &(bm_job_ending){.dir = dir,
                                                            .report_name = BM_FILE_REPORT,
                                                            .commit_checkpoint = true},
                                           err)
                           : status;
}

/* --- opening --- */

/* Are records of this format identified by id? In JSON, several elements of an array may begin in
 * one line. For files and arrays of hashes, only ids are written. */
static bool only_ids_tell(bm_format format)
{
    return format == BM_FORMAT_JSON || format == BM_FORMAT_FILES || format == BM_FORMAT_HASHES;
}

/* Take the settings with which `dedup` read its inputs from the report, and load the drops and,
 * with `annotate`, the groups. Then find these inputs, or, if the caller gave paths, use those. */
static bm_status resolve(filter *f, const bm_filter_options *options, bm_settings *settings,
                         bm_error *err)
{
    BM_TRY(bm_manifest_open_dir(f->path, settings->memory, &f->manifest, err));
    const bool overlap = bm_result_is_overlap(f->manifest);
    if (!overlap)
        BM_TRY(bm_result_check_kind(f->manifest, f->path, err));
    if (overlap && settings->results.annotate)
        return bm_fail_field(err, "annotate", "`annotate` of %s, which has no groups", f->path);
    if (settings->results.annotate && bm_result_is_of_units(f->manifest))
        return bm_fail_field(err, "annotate",
                             "`annotate` of %s, which has groups of parts of documents", f->path);
    f->recipe = (bm_recipe){.manifests = (const bm_manifest *const *)&f->manifest, .n = 1};
    BM_TRY(bm_recipe_apply(&f->recipe, settings, err));
    f->drops.by_id = only_ids_tell(settings->input.format) || settings->results.annotate;
    if (settings->results.annotate)
        BM_TRY(annotation_open(&settings->input, &f->annotation, err));
    f->drops.settings = f->labels.settings = settings;
    BM_TRY(drops_load(f->manifest, &f->drops, err));
    if (settings->results.annotate) {
        bm_id_set_reset(&f->drops.ids); /* removed documents are written too */
        f->drops.bytes = f->drops.n_skipped * sizeof *f->drops.skipped.rows;
        BM_TRY(bm_group_labels_load(f->manifest, &f->labels, err));
    }
    settings->recorded.read_twice = f->drops.by_id;
    if (options->n_paths == 0 && options->files_from == NULL)
        return bm_recipe_find(&f->recipe, settings, err);
    settings->input.paths = options->paths;
    settings->input.n_paths = options->n_paths;
    settings->input.files_from = options->files_from;
    settings->input.files_from_nul = options->files_from_nul;
    return bm_recipe_find_offsets(&f->recipe, settings, err);
}

static bm_status run_job(filter *f, const bm_settings *settings, bm_summary **out, bm_error *err)
{
    bm_job job;
    BM_TRY(bm_job_open(settings, &job, err));
    f->job = &job;
    bm_job_context_reserve(&job.context,
                           bm_manifest_bytes(f->manifest) + f->drops.bytes + f->labels.bytes);
    const size_t n_inputs = bm_manifest_n_inputs(f->manifest);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_job_begin(&job, BM_STEP_INPUTS, err));
    const size_t n = bm_input_set_count(job.context.inputs.set);
    if (n != n_inputs)
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(f->manifest), 0,
                              "it names %zu inputs, %zu are given", n_inputs, n));
    BM_TRY_OUT(bm_job_begin(&job, BM_STEP_DIRECTORY, err));
    status = write_all(f, job.checkpoint.dir, err);
out:
    bm_checkpoint_close(&job.checkpoint, status, err);
    return bm_job_close(&job, status, out);
}

/* Check that no output is the directory, one of the caller's inputs, or the list of these
 * inputs. */
static bm_status check_outputs(const bm_filter_options *options, const bm_settings *settings,
                               bm_error *err)
{
    size_t n = 0;
    const char **paths;
    BM_TRY(bm_new(&paths, options->n_paths + 2, err));
    paths[n++] = options->path;
    for (size_t i = 0; i < options->n_paths; i++)
        paths[n++] = options->paths[i];
    if (options->files_from != NULL)
        paths[n++] = options->files_from;
    bm_status status = bm_job_context_check_outputs(settings, paths, n, err);
    bm_free(paths);
    return status;
}

bm_status bm_job_filter(const bm_filter_options *options, bm_summary **out, bm_error *err)
{
    bm_settings settings;
    bm_weighed weighed = {0}; /* is read from the report of the directory */
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the summary given");
    BM_TRY(bm_settings_of_filter(options, &settings, err));
    settings.recorded.weighed = &weighed;
    filter f = {.path = options->path};
    bm_status status = BM_OK;
    BM_TRY_OUT(check_outputs(options, &settings, err));
    BM_TRY_OUT(resolve(&f, options, &settings, err));
    status = run_job(&f, &settings, out, err);
out:
    bm_recipe_reset(&f.recipe);
    bm_manifest_close(f.manifest);
    drops_reset(&f.drops);
    bm_group_labels_reset(&f.labels);
    annotation_close(&f.annotation);
    bm_tsv_table_close(&f.cuts.table);
    bm_buf_reset(&f.cuts.ranges);
    return status;
}
