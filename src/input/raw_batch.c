/* SPDX-License-Identifier: Apache-2.0 */
/* raw_batch.c -- see the header.
 *
 * Tests: tests/unit/input/test_long_gate.c, tests/unit/input/test_reader.c */
#include "input/raw_batch.h"

#include "base/error.h"
#include "base/memory.h"

void bm_raw_batch_free(bm_raw_batch *batch)
{
    if (batch == NULL)
        return;
    for (size_t i = 0; i < batch->n_pieces; i++)
        bm_free(batch->pieces[i].broken);
    bm_free_all(batch->data, batch->pieces, batch->columns, batch);
}

bm_status bm_raw_batch_reserve(bm_raw_batch *batch, size_t len, bm_error *err)
{
    if (len <= batch->cap && batch->data != NULL)
        return BM_OK;
    char *data = bm_resize(batch->data, len, 1);
    if (data == NULL)
        return bm_fail_nomem(err, len);
    batch->data = data;
    batch->cap = len;
    return BM_OK;
}

/* === long gate ===
 *
 * The most words that a record can have, computed from its bytes alone. */

uint64_t bm_long_words(const char *data, size_t len)
{
    uint64_t breaks = 0, high = 0;
    for (size_t i = 0; i < len; i++) {
        const unsigned char c = (unsigned char)data[i];
        const unsigned char letter = (unsigned char)((c | 0x20) - 'a'),
                            digit = (unsigned char)(c - '0');
        high += c >= 0x80;
        breaks += c < 0x80 && letter >= 26 && digit >= 10;
    }
    return breaks + (2 * high + 2) / 3 + 1;
}
