/* text_hasher.c -- only a text that is not valid UTF-8 is copied.
 *
 * Tests: tests/unit/inmem/test_signer.c, tests/unit/inmem/test_hash_sets.c */
#include "inmem/text_hasher.h"

#include "base/error.h"
#include "base/utf8.h"

#define KEEP ((size_t)4 << 20) /* bytes kept between documents */

bm_status bm_text_hasher_init(bm_text_hasher *hasher, const bm_text_options *options,
                              const char *cpu, bm_error *err)
{
    *hasher = (bm_text_hasher){0};
    return bm_shingler_open(options, cpu, &hasher->shingler, err);
}

void bm_text_hasher_reset(bm_text_hasher *hasher)
{
    bm_shingler_close(hasher->shingler);
    bm_buf_reset(&hasher->repaired);
    *hasher = (bm_text_hasher){0};
}

bm_status bm_text_hasher_add(bm_text_hasher *hasher, bm_str text, bm_shingle_batch *batch,
                             bm_error *err)
{
    bm_buf *repaired = &hasher->repaired;
    uint64_t n_replaced = 0;
    /* NULL is fine */
    if (text.len == 0)
        text.data = "";
    if (bm_utf8_valid_prefix(text.data, text.len) == text.len)
        return bm_shingler_add(hasher->shingler, text, batch, err);
    repaired->len = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_utf8_repair(text.data, text.len, repaired, &n_replaced, err));
    status = bm_shingler_add(hasher->shingler, (bm_str){repaired->data, repaired->len}, batch, err);
out:
    if (repaired->cap > KEEP)
        bm_buf_reset(repaired);
    return status;
}
