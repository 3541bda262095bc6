/* parse_row.c -- cells by memchr: a tab ends a cell of tsv; csv follows RFC 4180 to the letter. */
#include "input/parse_row.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "input/newlines.h"

bm_row bm_row_begin(bm_str content, bm_row_syntax syntax)
{
    return (bm_row){
        .pos = content.len > 0 ? content.data : "", .left = content.len, .syntax = syntax};
}

static bool broken(bm_row *row, const char *opened, const char *why, const char *expected)
{
    row->broken = why;
    row->expected = expected;
    row->opened = opened;
    row->pos = NULL;
    return false;
}

void bm_row_explain(const bm_row *row, const bm_row_place *place, char *out, size_t cap)
{
    char where[96] = "", swallowed[96] = "";
    if (row->opened != NULL) {
        uint64_t before = bm_count_newlines(place->begin, (size_t)(row->opened - place->begin));
        uint64_t n = place->n_behind - before;
        snprintf(where, sizeof where, ": field %" PRIu32 " begins with a quote on line %" PRIu64,
                 row->n_cells, place->line + before);
        if (n > 0)
            snprintf(swallowed, sizeof swallowed, " and swallowed the %" PRIu64 " line%s behind it",
                     n, n == 1 ? "" : "s");
    }
    snprintf(out, cap, "%s%s%s (%s)", row->broken, where, swallowed, row->expected);
}

/* The cell is known and takes `used` bytes; go behind the separator, if there is one. */
static bool go_behind(bm_row *row, size_t used)
{
    bool last = used == row->left;
    row->pos = last ? NULL : row->pos + used + 1;
    row->left = last ? 0 : row->left - used - 1;
    return true;
}

static bool next_quoted(bm_row *row, bm_cell *cell)
{
    const char *begin = row->pos + 1;
    size_t len = row->left - 1, at = 0; /* at: where the next quote is */
    for (;;) {
        const char *quote = at < len ? memchr(begin + at, '"', len - at) : NULL;
        if (quote == NULL)
            return broken(row, begin - 1, "a quoted field is never closed", "a quote");
        at = (size_t)(quote - begin);
        if (at + 1 == len || quote[1] != '"')
            break;
        cell->doubled = true;
        at += 2;
    }
    if (at + 1 < len && begin[at + 1] != row->syntax.delimiter)
        return broken(row, begin - 1, "text behind a closing quote",
                      row->syntax.delimiter == ',' ? "a comma or the end of the row"
                                                   : "the delimiter or the end of the row");
    cell->value = (bm_str){.data = begin, .len = at};
    return go_behind(row, at + 2);
}

bool bm_row_next(bm_row *row, bm_cell *cell)
{
    if (row->pos == NULL)
        return false;
    cell->doubled = false;
    row->n_cells++;
    if (row->syntax.quoted && row->left > 0 && *row->pos == '"')
        return next_quoted(row, cell);
    const char *at = memchr(row->pos, row->syntax.delimiter, row->left);
    size_t len = at != NULL ? (size_t)(at - row->pos) : row->left;
    if (row->syntax.quoted && memchr(row->pos, '"', len) != NULL)
        return broken(row, NULL, "a quote inside a field without quotes",
                      "RFC 4180: quote the field, double the quote");
    cell->value = (bm_str){.data = row->pos, .len = len};
    return go_behind(row, len);
}

bm_status bm_cell_plain(const bm_cell *cell, bm_buf *out, bm_str *value, bm_error *err)
{
    size_t begin = out->len;
    BM_TRY(bm_buf_reserve(out, cell->value.len, err));
    const char *pos = cell->value.data, *end = pos + cell->value.len;
    while (pos < end) {
        const char *quote = memchr(pos, '"', (size_t)(end - pos));
        const char *stop = quote == NULL ? end : quote + 1; /* of two quotes the first is copied */
        memcpy(out->data + out->len, pos, (size_t)(stop - pos));
        out->len += (size_t)(stop - pos);
        pos = quote == NULL ? end : quote + 2;
    }
    *value = (bm_str){.data = out->data + begin, .len = out->len - begin};
    return BM_OK;
}
