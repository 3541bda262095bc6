/* keep_keys.c -- a sort of keys; the place of each is the rank of its document.
 *
 * Tests: tests/reference/test_keep.py */
#include "corpus/keep_keys.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define MEMORY_SHARE 32u /* of the job: one part of so many */
#define MEMORY_MOST  ((uint64_t)256 << 20)

size_t bm_keep_keys_memory(uint64_t total)
{
    const uint64_t share = total / MEMORY_SHARE;
    return (size_t)(share < MEMORY_MOST ? share : MEMORY_MOST);
}

bm_status bm_keep_keys_open(const bm_keep_rules *rules, const char *temp_dir, uint64_t memory,
                            bm_keep_keys *out, bm_error *err)
{
    *out = (bm_keep_keys){.rules = rules};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new_zero(&out->counts, rules->n_by_field, err));
    for (size_t i = 0, n = 0; i < rules->n; i++) {
        const bm_keep_kind kind = rules->rules[i].kind;
        if (kind == BM_KEEP_RULE_MAX || kind == BM_KEEP_RULE_MIN || kind == BM_KEEP_RULE_ORDER)
            out->counts[n++].rule = &rules->rules[i];
    }
    status = bm_sorted_bytes_open(temp_dir, bm_keep_keys_memory(memory), &out->sorter, err);
out:
    if (status != BM_OK)
        bm_keep_keys_close(out);
    return status;
}

void bm_keep_keys_close(bm_keep_keys *keys)
{
    bm_sorted_bytes_close(keys->sorter);
    bm_buf_reset(&keys->unsaved);
    bm_free(keys->counts);
    *keys = (bm_keep_keys){0};
}

/* Count what stands at the end of a key, and cut it off: it is not compared. */
static void count(bm_keep_keys *keys, bm_str *key)
{
    const size_t n = keys->rules->n_by_field;
    key->len -= n;
    for (size_t i = 0; i < n; i++) {
        const bm_keep_seen seen = (bm_keep_seen)key->data[key->len + i];
        keys->counts[i].missing += seen == BM_KEEP_SEEN_MISSING;
        keys->counts[i].other += seen == BM_KEEP_SEEN_OTHER;
        keys->counts[i].unlisted += seen == BM_KEEP_SEEN_UNLISTED;
    }
}

bm_status bm_keep_keys_add(bm_keep_keys *keys, bm_str key, bm_error *err)
{
    const uint32_t len = (uint32_t)key.len, doc = (uint32_t)keys->n;
    if (key.len < keys->rules->n_by_field || key.len > UINT32_MAX)
        return bm_fail(err, BM_ERR_INPUT, "a document has no key to rank it by");
    if (keys->saves) {
        bm_buf *to = &keys->unsaved;
        BM_TRY(bm_buf_reserve(to, sizeof len + key.len, err));
        memcpy(to->data + to->len, &len, sizeof len);
        memcpy(to->data + to->len + sizeof len, key.data, key.len);
        to->len += sizeof len + key.len;
    }
    count(keys, &key);
    keys->n++;
    /* of equal keys the least number comes first */
    return bm_sorted_bytes_add(keys->sorter, key, keys->rules->last ? UINT32_MAX - doc : doc, err);
}

bm_status bm_keep_keys_add_batch(bm_keep_keys *keys, const bm_ingest_batch *batch, bm_error *err)
{
    size_t at = 0;
    for (size_t i = 0; i < batch->n_docs; i++) {
        const bm_str key = {batch->keep_keys.data + at, batch->docs[i].keep_key_len};
        BM_TRY(bm_keep_keys_add(keys, key, err));
        at += key.len;
    }
    return BM_OK;
}

size_t bm_keep_keys_unsaved(const bm_keep_keys *keys, size_t at, size_t n)
{
    for (; n > 0 && at < keys->unsaved.len; n--) {
        uint32_t len;
        memcpy(&len, keys->unsaved.data + at, sizeof len);
        at += sizeof len + len;
    }
    return at;
}

bm_status bm_keep_keys_rank(bm_keep_keys *keys, bm_keep_rank *out, bm_error *err)
{
    bm_bytes_record record;
    uint32_t *ranks = NULL, rank = 0;
    bm_buf_reset(&keys->unsaved);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new(&ranks, keys->n, err));
    BM_TRY_OUT(bm_sorted_bytes_begin(keys->sorter, err));
    for (;;) {
        BM_TRY_OUT(bm_sorted_bytes_next(keys->sorter, &record, err));
        ranks[keys->rules->last ? UINT32_MAX - record.number : record.number] = rank++;
    }
out:
    bm_sorted_bytes_close(keys->sorter);
    keys->sorter = NULL;
    if (status == BM_NOT_FOUND) {
        *out = (bm_keep_rank){.ranks = ranks, .n = keys->n};
        return BM_OK;
    }
    bm_free(ranks);
    return status;
}
