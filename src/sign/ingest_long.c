/* ingest_long.c -- see the header.
 *
 * Tests: tests/scale/long_documents.sh */
#include "sign/ingest_long.h"

#include "base/error.h"
#include "base/memory.h"

#define MIB ((uint64_t)1 << 20)

/* Bytes for one of a record in the worst case: itself, two copies on the way to joined text, and 8
 * for the hash and at most 16 for the table of each shingle, of which words have one for two bytes,
 * unless some are empty. */
#define WORD_FOLD 16u
#define BYTE_FOLD 28u
/* Of hashes as they are read: themselves, those that are distinct, and the table. */
#define HASH_FOLD 4u
/* Of a bag more: 4 bytes for how often each shingle occurs. */
#define BAG_WORD_FOLD 2u
#define BAG_BYTE_FOLD 4u
#define BAG_HASH_FOLD 1u

static uint64_t fold_of(const bm_ingest_cfg *cfg)
{
    const bool bag = cfg->text->bag;
    if (!cfg->source->ops->has_text)
        return HASH_FOLD + (bag ? BAG_HASH_FOLD : 0);
    return bm_shingle_is_of_words(cfg->text->shingle) && cfg->text->words != BM_WORDS_TEXT_DEDUP
               ? WORD_FOLD + (bag ? BAG_WORD_FOLD : 0)
               : BYTE_FOLD + (bag ? BAG_BYTE_FOLD : 0);
}

/* Of a record that is `held_bytes` long with what is read behind it. What normalising adds to a text is
 * rare: it is counted when it happens. */
static uint64_t held_and_text(const bm_ingest_cfg *cfg, uint64_t record_bytes, uint64_t held_bytes)
{
    const uint64_t copies = cfg->input->n_text_fields > 1 ? 2 : 1;
    if (!cfg->source->ops->has_text)
        return fold_of(cfg) * record_bytes + MIB;
    return held_bytes + (copies + 1) * record_bytes + MIB;
}

static uint64_t least_bytes(const bm_ingest_cfg *cfg, uint64_t record_bytes)
{
    return held_and_text(cfg, record_bytes, bm_ingest_long_held(record_bytes));
}

/* The same while the record is read: a sixteenth of it may be of what stands behind it (reader.c), and
 * what least_bytes names has to be enough. */
static uint64_t least_so_far(const bm_ingest_cfg *cfg, uint64_t bytes)
{
    return held_and_text(cfg, cfg->source->ops->has_text ? bytes - bytes / 17 : bytes, bytes);
}

uint64_t bm_ingest_long_held(uint64_t record_bytes)
{
    return record_bytes + record_bytes / 8;
}

/* A device keeps staging of about a batch for each that is in flight. */
static uint64_t device_part(const bm_ingest_cfg *cfg, uint64_t total)
{
    return cfg->device_set != NULL && cfg->device_set->n_device_workers > 0 ? total / 16 : 0;
}

static bm_status free_bytes(const bm_ingest_cfg *cfg, uint64_t wanted, uint64_t *out, bm_error *err)
{
    const bm_budget *budget = cfg->budget;
    const uint64_t device = device_part(cfg, budget->total);
    uint64_t all = 0;
    bm_status status = BM_OK;
    if (cfg->room.fn != NULL) {
        status = cfg->room.fn(cfg->room.ctx, wanted + device, &all, err);
    } else {
        const uint64_t held =
            budget->fixed + (cfg->docs != NULL ? bm_doc_table_bytes(cfg->docs) : 0);
        all = budget->total > held ? budget->total - held : 0;
    }
    *out = all > device ? all - device : 0;
    return status;
}

static bm_status be_alone(bm_ingest_long *now, bm_error *err)
{
    if (!bm_ingest_order_alone(now->order, now->number, &now->share))
        return bm_fail(err, BM_ERR_CANCELLED, "the ingest has ended");
    bm_memory_trim();
    return BM_OK;
}

static bm_status hold(void *ctx, uint64_t bytes, bool *may, bm_error *err)
{
    bm_ingest_long *now = ctx;
    const bm_ingest_cfg *cfg = now->cfg;
    const uint64_t cost = bytes * fold_of(cfg);
    bm_status status = BM_OK;
    *may = true;
    if (cfg->budget == NULL || cfg->budget->total == 0)
        return BM_OK;
    if (!now->share.alone && cost <= bm_budget_batches(cfg->budget)) {
        if (!bm_ingest_order_share(now->order, now->number, &now->share, cost))
            status = bm_fail(err, BM_ERR_CANCELLED, "the ingest has ended");
        return status;
    }
    if (!now->share.alone)
        status = be_alone(now, err);
    if (status == BM_OK && now->share.free < cost) /* or there may be more */
        status = free_bytes(cfg, cost, &now->share.free, err);
    *may = least_so_far(cfg, bytes) <= now->share.free;
    return status;
}

static bm_status refuse(void *ctx, const bm_long_record *record, bm_error *err)
{
    const bm_ingest_long *now = ctx;
    const bm_text_options *text = now->cfg->text;
    const uint64_t units = bm_shingle_is_of_words(text->shingle) ? record->words : record->bytes;
    const uint64_t least = least_bytes(now->cfg, record->bytes),
                   needed = bm_shingler_bytes(text, record->bytes, units);
    const bool more = now->cfg->source->ops->has_text && needed > least;
    return bm_ingest_long_refuse(now->cfg, &now->share, record, more ? needed : least, err);
}

bm_status bm_ingest_long_refuse(const bm_ingest_cfg *cfg, const bm_ingest_share *share,
                                const bm_long_record *record, uint64_t needed, bm_error *err)
{
    const uint64_t total = cfg->budget->total, device = device_part(cfg, total);
    uint64_t least = total - device - share->free + needed + MIB;
    if (device != 0)
        least += least / 15 + 1;
    return bm_fail_at(err, BM_ERR_NOMEM, record->file, record->line,
                      "a record of %llu bytes does not fit into `memory` of %lluM (at least %lluM)",
                      (unsigned long long)record->bytes, (unsigned long long)(total / MIB),
                      (unsigned long long)((least + MIB - 1) / MIB));
}

uint64_t bm_ingest_long_limit(const bm_ingest_share *share, uint64_t held_bytes)
{
    return share->free > held_bytes ? share->free - held_bytes : 1;
}

void bm_ingest_long_init(const bm_ingest_cfg *cfg, bm_ingest_order *order, bm_ingest_long *out)
{
    *out = (bm_ingest_long){.cfg = cfg, .order = order, .gate = {out, hold, refuse}};
}

void bm_ingest_long_begin(bm_ingest_long *now, uint64_t n)
{
    now->number = n;
    now->share = (bm_ingest_share){0};
}
