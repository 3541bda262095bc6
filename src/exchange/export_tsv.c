/* export_tsv.c -- a table of tab-separated decimals: id, n_shingles, then w1, w2 … of a signature, or
 * band_1, band_2 … of keys. Ids are escaped as in all our tables.
 *
 * Tests: tests/cli/cases/export.sh, tests/reference/test_exchange.py */
#include <inttypes.h>

#include "base/error.h"
#include "json/json_write.h"
#include "model/file_names.h"
#include "exchange/exporter.h"

#define DIGITS_MOST 20u /* of a cell, with the tab before it 21 */

typedef struct table {
    bm_out_file *file;
    bm_buf text;
    uint32_t columns, word_bytes; /* behind the first two */
    bool keys;
} table;

/* A tab and the digits, for which there is room at `at`; returns where they end. */
static char *put(char *at, uint64_t value)
{
    char digits[DIGITS_MOST];
    size_t n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    *at++ = '\t';
    while (n > 0)
        *at++ = digits[--n];
    return at;
}

static uint64_t cell(const table *t, const bm_export_block *block, size_t row, uint32_t column)
{
    const size_t i = row * t->columns + column;
    if (t->keys)
        return block->keys[i];
    return t->word_bytes == 8 ? ((const uint64_t *)block->words)[i]
                              : ((const uint32_t *)block->words)[i];
}

static bm_status add_row(table *t, const bm_export_block *block, size_t row, bm_error *err)
{
    BM_TRY(bm_tsv_escape(&t->text, bm_export_block_id(block, row), err));
    BM_TRY(bm_buf_reserve(&t->text, (t->columns + 1) * (DIGITS_MOST + 1) + 1, err));
    char *at = put(t->text.data + t->text.len, block->n_shingles[row]);
    for (uint32_t i = 0; i < t->columns; i++)
        at = put(at, cell(t, block, row, i));
    *at++ = '\n';
    t->text.len = (size_t)(at - t->text.data);
    return BM_OK;
}

static bm_status flush(table *t, bm_error *err)
{
    bm_status status = bm_out_file_write(t->file, t->text.data, t->text.len, err);
    t->text.len = 0;
    return status;
}

static bm_status take(void *ctx, const bm_export_block *block, bm_error *err)
{
    table *t = ctx;
    for (size_t i = 0; i < block->n; i++) {
        BM_TRY(add_row(t, block, i, err));
        BM_TRY(flush(t, err));
    }
    return BM_OK;
}

static bm_status write_head(table *t, bm_error *err)
{
    BM_TRY(bm_buf_add_text(&t->text, "id\tn_shingles", err));
    for (uint32_t i = 1; i <= t->columns; i++)
        BM_TRY(bm_buf_add_format(&t->text, err, t->keys ? "\tband_%" PRIu32 : "\tw%" PRIu32, i));
    BM_TRY(bm_buf_add_text(&t->text, "\n", err));
    return flush(t, err);
}

bm_status bm_export_tsv(bm_exporter *e, bm_error *err)
{
    const bm_settings *s = e->context->settings;
    table t = {.keys = s->results.exchange.what == BM_EXPORT_BANDS, .word_bytes = e->word_bytes};
    t.columns = t.keys ? s->plan.bands : s->sketch.perms;
    BM_TRY(
        bm_out_dir_file(e->out, t.keys ? BM_FILE_BANDS_TSV : BM_FILE_SIGNATURES_TSV, &t.file, err));
    bm_out_file_digest_early(t.file, 0);
    bm_status status = BM_OK;
    BM_TRY_OUT(write_head(&t, err));
    status = bm_export_walk(e, true, take, &t, err);
out:;
    bm_status closed = bm_out_file_close(t.file, status == BM_OK ? err : NULL);
    bm_buf_reset(&t.text);
    return status == BM_OK ? closed : status;
}
