/* SPDX-License-Identifier: Apache-2.0 */
/* spill_columns.c -- makes and reads records of columns. The lengths of all columns come first,
 * then the columns, one after another. */
#include "spill/spill_saved.h"

#include <string.h>

#include "base/error.h"

#define ALIGN sizeof(uint64_t)

bm_status bm_spill_columns_begin(bm_spill_columns *columns, size_t n, bm_error *err)
{
    const size_t bytes = n * sizeof(uint64_t);
    columns->buf.len = 0;
    BM_TRY(bm_buf_reserve(&columns->buf, bytes, err));
    memset(columns->buf.data, 0, bytes);
    columns->buf.len = columns->from = bytes;
    columns->next = 0;
    return BM_OK;
}

bm_status bm_spill_columns_end(bm_spill_columns *columns, bm_error *err)
{
    static const char zeros[ALIGN];
    bm_buf *buf = &columns->buf;
    const uint64_t len = buf->len - columns->from;
    memcpy(buf->data + columns->next++ * sizeof len, &len, sizeof len);
    BM_TRY(bm_buf_add(buf, zeros, (ALIGN - buf->len % ALIGN) % ALIGN, err));
    columns->from = buf->len;
    return BM_OK;
}

bm_status bm_spill_columns_put(bm_spill_columns *columns, const void *data, size_t len,
                               bm_error *err)
{
    BM_TRY(bm_buf_add(&columns->buf, data, len, err));
    return bm_spill_columns_end(columns, err);
}

bool bm_spill_columns_find(const void *record, size_t len, bm_str *columns, size_t n)
{
    const char *bytes = record;
    size_t at = n * sizeof(uint64_t);
    if (len < at)
        return false;
    for (size_t i = 0; i < n; i++) {
        uint64_t of_column;
        memcpy(&of_column, bytes + i * sizeof of_column, sizeof of_column);
        if (at > len || of_column > len - at)
            return false;
        columns[i] = (bm_str){bytes + at, (size_t)of_column};
        at += (size_t)of_column;
        at += (ALIGN - at % ALIGN) % ALIGN;
    }
    return at == len;
}
