/* SPDX-License-Identifier: Apache-2.0 */
/* keep_keys.c -- sorts the keys of documents. The position of a document's key in this order is the
 * rank of the document.
 *
 * Tests: tests/unit/corpus/test_keep_keys.c, tests/unit/jobs/test_checkpoint.c,
 *        tests/reference/test_keep.py */
#include "corpus/keep_keys.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define MEMORY_SHARE 32u /* keys may use 1 / MEMORY_SHARE of the job's memory */
#define MEMORY_MOST  ((uint64_t)256 << 20)
/* bytes of unsaved keys that are written to the file at a time */
#define UNSAVED_BLOCK ((size_t)256 << 10)

size_t bm_keep_keys_memory(uint64_t total)
{
    const uint64_t share = total / MEMORY_SHARE;
    return (size_t)(share < MEMORY_MOST ? share : MEMORY_MOST);
}

bm_status bm_keep_keys_open_counts(const bm_keep_rules *rules, bm_keep_keys *out, bm_error *err)
{
    *out = (bm_keep_keys){.rules = rules, .counts_only = true};
    BM_TRY(bm_new_zero(&out->counts, rules->n_by_field, err));
    for (size_t i = 0, n = 0; i < rules->n; i++) {
        const bm_keep_kind kind = rules->rules[i].kind;
        if (bm_keep_looks_at_field(kind))
            out->counts[n++].rule = &rules->rules[i];
    }
    return BM_OK;
}

bm_status bm_keep_keys_open(const bm_keep_rules *rules, const char *temp_dir, uint64_t memory,
                            bm_keep_keys *out, bm_error *err)
{
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_keep_keys_open_counts(rules, out, err));
    out->temp_dir = temp_dir;
    out->counts_only = false;
    status = bm_sorted_runs_open_bytes(temp_dir, bm_keep_keys_memory(memory), &out->sorter, err);
out:
    if (status != BM_OK)
        bm_keep_keys_close(out);
    return status;
}

void bm_keep_keys_close(bm_keep_keys *keys)
{
    bm_sorted_runs_close(keys->sorter);
    bm_keep_keys_forget(keys);
    bm_free(keys->counts);
    bm_buf_reset(&keys->names);
    *keys = (bm_keep_keys){0};
}

/* Count whether the document has the fields of the rules; the end of *key records this. Cut this
 * end off, because it is not compared. Of the first document, store the names of its fields. */
static bm_status count(bm_keep_keys *keys, bm_str *key, bm_error *err)
{
    bm_keep_key_parts parts;
    if (key->len > UINT32_MAX || !bm_keep_key_split(keys->rules, *key, &parts))
        return bm_fail(err, BM_ERR_INPUT, "a document has no key to rank it by");
    for (size_t i = 0; i < keys->rules->n_by_field; i++) {
        const bm_keep_seen seen = (bm_keep_seen)parts.seen[i];
        keys->counts[i].absent += seen == BM_KEEP_SEEN_ABSENT;
        keys->counts[i].missing += seen == BM_KEEP_SEEN_MISSING || seen == BM_KEEP_SEEN_ABSENT;
        keys->counts[i].other += seen == BM_KEEP_SEEN_OTHER;
        keys->counts[i].unlisted += seen == BM_KEEP_SEEN_UNLISTED;
    }
    *key = parts.compared;
    return keys->n > 0 ? BM_OK : bm_buf_add(&keys->names, parts.names.data, parts.names.len, err);
}

/* Write the unsaved keys in memory to the file. */
static bm_status move_unsaved(bm_unsaved_keys *unsaved, const char *temp_dir, bm_error *err)
{
    if (unsaved->file == NULL)
        BM_TRY(bm_spill_open(temp_dir, BM_SPILL_ROWS, 0, &unsaved->file, err));
    BM_TRY(bm_grow_array(&unsaved->places, &unsaved->cap_places, unsaved->n + 1, err));
    BM_TRY(bm_grow_array(&unsaved->lens, &unsaved->cap_lens, unsaved->n + 1, err));
    BM_TRY(bm_spill_add(unsaved->file, unsaved->last.data, unsaved->last.len,
                        &unsaved->places[unsaved->n], err));
    unsaved->lens[unsaved->n++] = unsaved->last.len;
    unsaved->last.len = 0;
    return bm_spill_flush(unsaved->file, err);
}

static bm_status hold_unsaved(bm_keep_keys *keys, bm_str key, bm_error *err)
{
    const uint32_t len = (uint32_t)key.len;
    bm_buf *to = &keys->unsaved.last;
    if (to->len >= UNSAVED_BLOCK && keys->temp_dir != NULL)
        BM_TRY(move_unsaved(&keys->unsaved, keys->temp_dir, err));
    BM_TRY(bm_buf_add(to, &len, sizeof len, err));
    return bm_buf_add(to, key.data, key.len, err);
}

bm_status bm_keep_keys_add(bm_keep_keys *keys, bm_str key, bm_error *err)
{
    const uint32_t doc = (uint32_t)keys->n;
    const bm_str whole = key;
    BM_TRY(count(keys, &key, err));
    if (keys->saves)
        BM_TRY(hold_unsaved(keys, whole, err));
    keys->n++;
    if (keys->counts_only)
        return BM_OK;
    /* of equal keys, the key with the smallest number comes first */
    return bm_sorted_runs_add_bytes(keys->sorter, key, keys->rules->last ? UINT32_MAX - doc : doc,
                                    err);
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

/* Called when all keys of the current block were read: read the next block of the file, or continue
 * with the keys in memory. */
static bm_status next_block(const bm_unsaved_keys *unsaved, bm_unsaved_reader *reader,
                            bm_error *err)
{
    reader->block.len = reader->at = 0;
    reader->in_memory = reader->next == unsaved->n;
    if (reader->in_memory)
        return BM_OK;
    const size_t len = (size_t)unsaved->lens[reader->next];
    BM_TRY(bm_buf_reserve(&reader->block, len, err));
    BM_TRY(bm_spill_read(unsaved->file, unsaved->places[reader->next++], reader->block.data, len,
                         err));
    reader->block.len = len;
    return BM_OK;
}

bm_status bm_keep_keys_copy_unsaved(const bm_keep_keys *keys, bm_unsaved_reader *reader, size_t n,
                                    bm_buf *to, bm_error *err)
{
    for (; n > 0; n--) {
        uint32_t len;
        if (!reader->in_memory && reader->at == reader->block.len)
            BM_TRY(next_block(&keys->unsaved, reader, err));
        const bm_buf *from = reader->in_memory ? &keys->unsaved.last : &reader->block;
        if (reader->at == from->len)
            return bm_fail(err, BM_ERR_INTERNAL, "a document has no key to save");
        memcpy(&len, from->data + reader->at, sizeof len);
        BM_TRY(bm_buf_add(to, from->data + reader->at, sizeof len + len, err));
        reader->at += sizeof len + len;
    }
    return BM_OK;
}

void bm_keep_keys_forget(bm_keep_keys *keys)
{
    bm_spill_close(keys->unsaved.file);
    bm_buf_reset(&keys->unsaved.last);
    bm_free_all(keys->unsaved.places, keys->unsaved.lens);
    keys->unsaved = (bm_unsaved_keys){0};
}

bm_status bm_keep_keys_check(const bm_keep_keys *keys, bm_error *err)
{
    for (size_t i = 0; i < keys->rules->n_by_field && keys->n > 0; i++) {
        const bm_keep_counts *c = &keys->counts[i];
        if (c->absent == keys->n)
            return bm_keep_rule_no_field(keys->rules, c->rule,
                                         (bm_str){keys->names.data, keys->names.len}, err);
    }
    return BM_OK;
}

void bm_keep_keys_log(const bm_keep_keys *keys, bm_meter *meter)
{
    for (size_t i = 0; i < keys->rules->n_by_field; i++) {
        const bm_keep_counts *c = &keys->counts[i];
        const bool within = c->rule->kind == BM_KEEP_RULE_WITHIN;
        if (c->rule->kind == BM_KEEP_RULE_ORDER && keys->n > 0 && c->unlisted == keys->n)
            bm_meter_log(meter, BM_LOG_WARNING,
                         "keep %.200s: no document has one of these values there: it decides "
                         "nothing",
                         c->rule->words);
        if (c->missing + c->other > 0)
            bm_meter_log(meter, BM_LOG_WARNING,
                         "%s %.200s: %" PRIu64 " of %zu documents have no value there, %" PRIu64
                         " one of another type: %s",
                         within ? "within" : "keep", c->rule->words, c->missing, keys->n, c->other,
                         within ? "no part of them is compared"
                                : "it prefers any other document to them");
    }
}

bm_status bm_keep_keys_rank(bm_keep_keys *keys, bm_keep_rank *out, bm_error *err)
{
    bm_bytes_record record;
    uint32_t *ranks = NULL, rank = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_keep_keys_check(keys, err));
    BM_TRY_OUT(bm_new(&ranks, keys->n, err));
    BM_TRY_OUT(bm_sorted_runs_begin(keys->sorter, err));
    for (;;) {
        BM_TRY_OUT(bm_sorted_runs_next_bytes(keys->sorter, &record, err));
        ranks[keys->rules->last ? UINT32_MAX - record.number : record.number] = rank++;
    }
out:
    bm_sorted_runs_close(keys->sorter);
    keys->sorter = NULL;
    if (status == BM_NOT_FOUND) {
        *out = (bm_keep_rank){.ranks = ranks, .n = keys->n};
        return BM_OK;
    }
    bm_free(ranks);
    return status;
}
