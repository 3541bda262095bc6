/* parse_row.c -- cells by memchr: a tab ends a cell of tsv; csv follows RFC 4180 to the letter. */
#include "io/parse_row.h"

#include <string.h>

bm_row bm_row_begin(bm_str content, bool csv)
{
    bm_row row = {.pos = content.len > 0 ? content.data : "", .csv = csv};
    row.end = row.pos + content.len;
    return row;
}

static bool broken(bm_row *row, const char *why)
{
    row->broken = why;
    row->pos = NULL;
    return false;
}

/* The cell's value is known; go behind the separator at `at`, if there is one. */
static bool cell_is(bm_row *row, bm_cell *cell, const char *begin, const char *end, const char *at)
{
    cell->value = (bm_str){.data = begin, .len = (size_t)(end - begin)};
    row->pos = at == NULL || at == row->end ? NULL : at + 1;
    return true;
}

static bool next_quoted(bm_row *row, bm_cell *cell)
{
    const char *begin = row->pos + 1, *pos = begin;
    for (;;) {
        pos = memchr(pos, '"', (size_t)(row->end - pos));
        if (pos == NULL)
            return broken(row, "a quoted field is never closed (a quote)");
        if (pos + 1 == row->end || pos[1] != '"')
            break;
        cell->doubled = true;
        pos += 2;
    }
    if (pos + 1 < row->end && pos[1] != ',')
        return broken(row, "text behind a closing quote (a comma or the end of the row)");
    return cell_is(row, cell, begin, pos, pos + 1);
}

bool bm_row_next(bm_row *row, bm_cell *cell)
{
    if (row->pos == NULL)
        return false;
    cell->doubled = false;
    if (row->csv && row->pos < row->end && *row->pos == '"')
        return next_quoted(row, cell);
    size_t left = (size_t)(row->end - row->pos);
    const char *at = memchr(row->pos, row->csv ? ',' : '\t', left);
    const char *end = at != NULL ? at : row->end;
    if (row->csv && memchr(row->pos, '"', (size_t)(end - row->pos)) != NULL)
        return broken(row, "a quote inside a field without quotes (RFC 4180: quote the field, "
                           "double the quote)");
    return cell_is(row, cell, row->pos, end, at);
}

bm_status bm_cell_plain(const bm_cell *cell, bm_buf *out, bm_str *value, bm_error *err)
{
    size_t begin = out->len;
    bm_status status = bm_buf_reserve(out, cell->value.len, err);
    if (status != BM_OK)
        return status;
    const char *pos = cell->value.data, *end = pos + cell->value.len;
    while (pos < end) {
        const char *quote = memchr(pos, '"', (size_t)(end - pos));
        const char *stop = quote == NULL ? end : quote + 1; /* the first of two is kept */
        memcpy(out->data + out->len, pos, (size_t)(stop - pos));
        out->len += (size_t)(stop - pos);
        pos = quote == NULL ? end : quote + 2;
    }
    *value = (bm_str){.data = out->data + begin, .len = out->len - begin};
    return BM_OK;
}
