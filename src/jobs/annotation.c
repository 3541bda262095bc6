/* annotation.c -- where a record's group goes, and its words. See annotation.h.
 *
 * Tests: tests/unit/jobs/test_annotation.c, tests/cli/cases/annotate.sh */
#include "jobs/annotation.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "input/record_format.h"
#include "input/record_rules.h"
#include "results/result_tables.h"
#include "input/tables.h"

#define FIELD   "bandmill"
#define JACCARD "jaccard"

static const char *const columns[] = {FIELD "_" BM_GROUP_NUMBER, FIELD "_" BM_GROUP_SIZE,
                                      FIELD "_" BM_GROUP_KEPT, FIELD "_" JACCARD};
enum { N_COLUMNS = sizeof columns / sizeof columns[0] };

bm_status bm_annotation_open(const bm_input_options *input, bm_annotation *out, bm_error *err)
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

void bm_annotation_close(bm_annotation *a)
{
    bm_json_exact_close(a->json);
    bm_buf_reset(&a->text);
    memset(a, 0, sizeof *a);
}

/* "0.843750", or `unknown`. */
static bm_status add_jaccard(bm_buf *out, uint32_t millionths, const char *unknown, bm_error *err)
{
    return millionths == BM_JACCARD_UNKNOWN
               ? bm_buf_add_text(out, unknown, err)
               : bm_buf_add_format(out, err, "%" PRIu32 ".%06" PRIu32, millionths / 1000000,
                                   millionths % 1000000);
}

/* The number of a group, or its size. */
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

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

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
    size_t at = record->raw.len; /* it is an object: the last brace closes it */
    while (data[at - 1] != '}')
        at--;
    size_t before = --at;
    while (is_blank(data[before - 1]))
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

/* The cells of a row, and whether it fits those before it. */
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

/* The separators before the first of our columns; `record` has n cells. */
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

bm_status bm_annotation_find(bm_annotation *a, const bm_annotated *what, bm_insertion *out,
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
