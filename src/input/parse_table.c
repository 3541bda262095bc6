/* parse_table.c -- a row of tsv or csv to id and text.
 *
 * A row of tsv is read up to the last column that is needed; a row of csv to its end, since broken
 * quoting anywhere makes it a bad record. A cell is copied only where it holds a doubled quote or
 * invalid UTF-8. An empty row is a row of one empty cell.
 *
 * Tests: tests/unit/input/test_parser.c */
#include <string.h>

#include "base/error.h"
#include "input/newlines.h"
#include "input/parse_row.h"
#include "input/parser_state.h"

/* A row on its way to a record. */
typedef struct row_job {
    struct bm_parser *parser;
    bm_record *record;
    bm_str id;        /* data NULL: the row is too short to have one */
    uint32_t n_cells; /* that were read */
} row_job;

static uint32_t last_column(const struct bm_parser *parser)
{
    uint32_t last = parser->columns[0] == BM_NO_COLUMN ? 0 : parser->columns[0];
    for (size_t i = 1; i < bm_columns_count(parser->rules); i++)
        if (parser->columns[i] > last && parser->columns[i] != BM_NO_COLUMN)
            last = parser->columns[i];
    return last;
}

/* The id's and the text's cells of a row. Cells with doubled quotes are rewritten into parser->id
 * and, for the text, into parser->text, which has room for all of the row from the start. */
static bm_status find_cells(row_job *job, bm_str content, bm_error *err)
{
    struct bm_parser *parser = job->parser;
    bool csv = parser->format->quoted;
    uint32_t last = csv ? UINT32_MAX : last_column(parser), n = 0;
    size_t n_cells = bm_columns_count(parser->rules) - 1;
    bm_row row = bm_row_begin(content, parser->rules->syntax);
    bm_cell cell;
    for (size_t i = 0; i < n_cells; i++)
        parser->cells[i] = (bm_str){0};
    parser->text.len = parser->id.len = 0;
    while (n <= last && bm_row_next(&row, &cell)) {
        if (n == parser->columns[0]) {
            job->id = cell.value;
            if (cell.doubled)
                BM_TRY(bm_cell_plain(&cell, &parser->id, &job->id, err));
        }
        for (size_t i = 0; i < n_cells; i++) {
            if (n != parser->columns[1 + i])
                continue;
            parser->cells[i] = cell.value;
            if (!cell.doubled)
                continue;
            /* Room at once for this row's cells in every field: views of the buffer that were
             * taken for earlier cells must not move. */
            if (parser->text.len == 0)
                BM_TRY(bm_buf_reserve(&parser->text, content.len * n_cells, err));
            BM_TRY(bm_cell_plain(&cell, &parser->text, &parser->cells[i], err));
        }
        n++;
    }
    job->n_cells = n;
    if (row.broken != NULL) {
        char why[320];
        const bm_row_place place = {.begin = content.data,
                                    .line = job->record->line,
                                    .n_behind = bm_count_newlines(content.data, content.len)};
        bm_row_explain(&row, &place, why, sizeof why);
        job->record->n_behind = row.opened != NULL ? place.n_behind : 0;
        bm_record_bad(&parser->maker, job->record, "broken row: %s", why);
    }
    return BM_OK;
}

/* All text cells joined by newlines, in a buffer that is not that of the cells. */
static bm_status join_cells(struct bm_parser *parser, bm_str *out, bm_buf *buf, bm_error *err)
{
    if (parser->rules->n_text == 1) {
        *out = parser->cells[0];
        return BM_OK;
    }
    bm_status status = BM_OK;
    buf->len = 0;
    for (size_t i = 0; i < parser->rules->n_text; i++) {
        if (i > 0)
            BM_TRY_OUT(bm_buf_add(buf, "\n", 1, err));
        BM_TRY_OUT(bm_buf_add(buf, parser->cells[i].data, parser->cells[i].len, err));
    }
out:
    *out = (bm_str){.data = buf->data, .len = buf->len};
    return status;
}

static bm_status take_text(row_job *job, bm_error *err)
{
    struct bm_parser *parser = job->parser;
    for (size_t i = 0; i < parser->rules->n_text; i++)
        if (parser->cells[i].data == NULL) {
            bm_record_bad(&parser->maker, job->record, "no field '%.64s': the row has %u field%s",
                          parser->rules->text[i], job->n_cells, job->n_cells == 1 ? "" : "s");
            return BM_OK;
        }
    BM_TRY(join_cells(parser, &job->record->text, &parser->joined, err));
    job->record->text_bytes = job->record->text.len;
    const bm_utf8_value field = {"text", &parser->repaired, &job->record->text};
    return bm_record_make_valid(&parser->maker, job->record, &field, err);
}

static bm_status take_id(row_job *job, bm_error *err)
{
    struct bm_parser *parser = job->parser;
    if (job->id.data == NULL && parser->rules->id_given) {
        bm_record_bad(&parser->maker, job->record, "no field '%.64s': the row has %u field%s",
                      parser->rules->id, job->n_cells, job->n_cells == 1 ? "" : "s");
        return BM_OK;
    }
    if (job->id.data == NULL)
        return bm_record_place_id(&parser->maker, job->record, err);
    job->record->id = job->id;
    const bm_utf8_value field = {"id", &parser->repaired_id, &job->record->id};
    return bm_record_make_valid(&parser->maker, job->record, &field, err);
}

/* What the fields of `keep` hold, whose cells follow those of the text: a cell that is wholly a number of JSON is one. */
static void take_values(struct bm_parser *parser)
{
    const bm_str *cells = parser->cells + parser->rules->n_text;
    for (size_t i = 0; i < bm_rules_n_keep(parser->rules); i++)
        parser->keyer.values[i] =
            cells[i].data == NULL ? (bm_value){.kind = BM_VALUE_MISSING}
            : bm_value_is_number(cells[i])
                ? (bm_value){.kind = BM_VALUE_NUMBER, .text = cells[i], .number = cells[i]}
                : (bm_value){.kind = BM_VALUE_STRING, .text = cells[i]};
}

bm_status bm_parse_table(struct bm_parser *parser, bm_str content, bm_record *record, bm_error *err)
{
    row_job job = {.parser = parser, .record = record};
    BM_TRY(find_cells(&job, content, err));
    if (!record->bad)
        BM_TRY(take_text(&job, err));
    if (!record->bad)
        BM_TRY(take_id(&job, err));
    if (record->bad || parser->keyer.rules == NULL)
        return BM_OK;
    take_values(parser);
    return bm_keyer_make(&parser->keyer, parser->maker.file_name, record, err);
}
