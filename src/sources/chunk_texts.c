/* chunk_texts.c -- see the header.
 *
 * Tests: tests/unit/sources/test_source_columns.c, tests/unit/sources/test_column.c */
#include "sources/chunk_texts.h"

#include "base/error.h"
#include "input/long_gate.h"

static bm_status count_bytes(void *ctx, bm_str text, bm_error *err)
{
    (void)err;
    *(size_t *)ctx += text.len;
    return BM_OK;
}

size_t bm_chunk_text_bytes(const bm_table_chunk *chunk, size_t n, size_t row)
{
    size_t bytes = 0;
    for (size_t i = 1; i <= n; i++) {
        const bm_column *column = &chunk->columns[i];
        if (column->many)
            (void)bm_column_each(column, row, count_bytes, &bytes, NULL);
        else if (!bm_column_is_null(column, row))
            bytes += bm_column_bytes(column, row).len;
    }
    return bytes;
}

static bm_status count_words(void *ctx, bm_str text, bm_error *err)
{
    (void)err;
    *(uint64_t *)ctx += bm_long_words(text.data, text.len);
    return BM_OK;
}

uint64_t bm_chunk_text_words(const bm_table_chunk *chunk, size_t n, size_t row)
{
    uint64_t words = 0;
    for (size_t i = 1; i <= n; i++)
        (void)bm_column_each(&chunk->columns[i], row, count_words, &words, NULL);
    return words;
}

/* The texts of one column, a newline before each but the first. */
typedef struct joining {
    bm_buf *out;
    bool begun;
} joining;

static bm_status join_text(void *ctx, bm_str text, bm_error *err)
{
    joining *j = ctx;
    bm_status status = j->begun ? bm_buf_add(j->out, "\n", 1, err) : BM_OK;
    j->begun = true;
    return status == BM_OK ? bm_buf_add(j->out, text.data, text.len, err) : status;
}

bm_status bm_chunk_text(const bm_table_chunk *chunk, const bm_text_wish *wish, bm_str *out,
                        bm_error *err)
{
    const size_t row = wish->row;
    const bm_column *first = &chunk->columns[1];
    if (wish->n == 1 && !first->many) {
        *out = bm_column_is_null(first, row) ? (bm_str){.data = ""} : bm_column_bytes(first, row);
        return BM_OK;
    }
    bm_status status = BM_OK;
    wish->joined->len = 0;
    for (size_t i = 1; i <= wish->n; i++) {
        joining j = {.out = wish->joined};
        if (i > 1)
            BM_TRY_OUT(bm_buf_add(wish->joined, "\n", 1, err));
        BM_TRY_OUT(bm_column_each(&chunk->columns[i], row, join_text, &j, err));
    }
    status = bm_buf_end(wish->joined, err);
out:
    *out = (bm_str){.data = wish->joined->data, .len = wish->joined->len};
    return status;
}
