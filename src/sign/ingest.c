/* SPDX-License-Identifier: Apache-2.0 */
/* ingest.c -- the threads of the ingest. Workers read, parse and sign; in addition, each device has
 * a thread, its device worker.
 *
 * One mutex protects reading. Threads that wait for it help to decompress data that will be read. A
 * second mutex protects the order of batches (ingest_order.h). If reading fails, an extra batch
 * carries the failure, so that failures of earlier batches are reported first.
 *
 * Tests: tests/fault/device/calls.sh, tests/fault/device/deaths.sh, tests/race/race_pipeline.c,
 *        tests/scale/long_documents.sh, tests/unit/sign/test_ingest_columns.c,
 *        tests/unit/sign/test_ingest_read.c, tests/unit/sign/test_ingest_stages.c */
#include "sign/ingest.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "input/keep_key.h"
#include "input/raw_batch.h"
#include "input/record_rules.h"
#include "model/batches.h"
#include "model/option_words.h"
#include "sign/df_table.h"
#include "sign/ingest_cfg.h"
#include "sign/ingest_order.h"
#include "text/set_shingler.h"
#include "text/shingler.h"
#include "text/unit_text.h"

/* === ingest entries ===
 *
 * Each worker caches the shingles of dictionary entries, so that it shingles an entry only once. A
 * file of a few kB with a dictionary may have a long text in every row.
 *
 *     slots    entry -> document      the slot of an entry is its number modulo SLOTS; a slot
 *                                     keeps only its latest entry
 *     made     shingles of the        if these would take more than `most_bytes`, the cache is
 *              documents              emptied
 *
 * For inputs without dictionaries, nothing is allocated. */

#define SLOTS ((size_t)4096)

typedef struct bm_ingest_entry {
    uint64_t number; /* bm_record.entry; 0: the slot is empty */
    uint32_t doc;    /* number of the document in `made` */
    bool is_short;   /* the document was counted as short */
} bm_ingest_entry;

typedef struct bm_ingest_entries {
    size_t most_bytes;
    bm_ingest_entry *slots; /* NULL: no entry was stored yet */
    bm_shingle_batch made;
    uint64_t n_short; /* n_short of the batch at the last call of ingest_entries_add */
} bm_ingest_entries;  /* {0} with most_bytes set is empty */

static bm_ingest_entry *slot_of(const bm_ingest_entries *entries, uint64_t entry)
{
    return &entries->slots[entry % SLOTS];
}

/* Append document `doc` of `from` to `to`. from->counted must equal to->counted. */
static bm_status copy_doc(const bm_shingle_batch *from, size_t doc, bm_shingle_batch *to,
                          bm_error *err)
{
    const uint64_t begin = from->offsets[doc];
    const size_t n = (size_t)(from->offsets[doc + 1] - begin), at = bm_shingle_batch_hashes(to);
    BM_TRY(bm_shingle_batch_reserve(to, 1, n, err));
    if (n > 0)
        memcpy(to->hashes + at, from->hashes + begin, n * sizeof *to->hashes);
    if (n > 0 && to->counted)
        memcpy(to->counts + at, from->counts + begin, n * sizeof *to->counts);
    bm_shingle_batch_commit(to, n, from->content[doc]);
    return BM_OK;
}

/* If the entry is in the cache, append its document to `batch` and set *was_made. */
static bm_status ingest_entries_add(bm_ingest_entries *entries, uint64_t entry,
                                    bm_shingle_batch *batch, bool *was_made, bm_error *err)
{
    entries->n_short = batch->n_short;
    *was_made = entries->slots != NULL && slot_of(entries, entry)->number == entry;
    if (!*was_made)
        return BM_OK;
    const bm_ingest_entry *slot = slot_of(entries, entry);
    BM_TRY(copy_doc(&entries->made, slot->doc, batch, err));
    const bool unreadable = bm_content_is_unreadable(batch->content[batch->n_docs - 1]);
    batch->n_short += slot->is_short;
    batch->n_unreadable += unreadable;
    batch->n_empty += bm_shingle_batch_last(batch) == 0 && !slot->is_short && !unreadable;
    return BM_OK;
}

/* Make room for a document of n shingles, by emptying the cache if necessary. False: the document
 * cannot be stored. */
static bool reserve_doc(bm_ingest_entries *entries, size_t n)
{
    const size_t doc_bytes = sizeof(bm_hash128) + sizeof(uint64_t),
                 hash_bytes = sizeof(uint64_t) + (entries->made.counted ? sizeof(uint32_t) : 0);
    const size_t most = entries->most_bytes / hash_bytes;
    if (n + 1 > most)
        return false;
    if (entries->slots == NULL)
        return bm_new_zero(&entries->slots, SLOTS, NULL) == BM_OK;
    const size_t docs = (entries->made.n_docs + 1) * doc_bytes / hash_bytes;
    if (bm_shingle_batch_hashes(&entries->made) + n + docs > most) {
        memset(entries->slots, 0, SLOTS * sizeof *entries->slots);
        bm_shingle_batch_clear(&entries->made);
    }
    return true;
}

/* Store the last document of `batch` as the document of `entry`, which is not in the cache. Nothing
 * is stored if `entry` is 0 (the document has no entry), or if memory is short. */
static void ingest_entries_keep(bm_ingest_entries *entries, uint64_t entry,
                                const bm_shingle_batch *batch)
{
    bm_shingle_batch *made = &entries->made;
    if (entry == 0)
        return;
    made->counted = batch->counted;
    if (!reserve_doc(entries, bm_shingle_batch_last(batch)) ||
        copy_doc(batch, batch->n_docs - 1, made, NULL) != BM_OK)
        return;
    *slot_of(entries, entry) = (bm_ingest_entry){.number = entry,
                                                 .doc = (uint32_t)(made->n_docs - 1),
                                                 .is_short = batch->n_short > entries->n_short};
}

/* Free the cache. */
static void ingest_entries_reset(bm_ingest_entries *entries)
{
    bm_free(entries->slots);
    bm_shingle_batch_reset(&entries->made);
    *entries = (bm_ingest_entries){.most_bytes = entries->most_bytes};
}

/* === ingest text ===
 *
 * Finishes batches that a device has received as texts, or hashes such batches on the CPU instead.
 * Rows, words and keys are the same in both cases.
 *
 * Some documents are left to the host: those that have a shingle of more than BM_TEXT_SHINGLE_MAX
 * bytes, such as a long line of base64. The device signs such a document as if it were empty; then
 * the native CPU signs it, and overwrites its row. Such documents are usually few. If they are
 * many, the worker hashes the whole batch. */

#define HOST_SHARE 8u /* if more than 1/8 is left to the host, it hashes the whole batch */

/* Is so much of the batch left to the host that the host should hash all of it? */
static bool ingest_text_pointless(const bm_ingest_batch *batch)
{
    return batch->text.host_bytes.len > batch->text.bytes.len / HOST_SHARE;
}

/* Convert a batch of texts to a batch of hashes. This is done if the native CPU signs the batch, or
 * if a device cannot take the texts. */
static bm_status ingest_text_hash(bm_ingest_batch *batch, bm_shingler *shingler, bm_error *err)
{
    bm_shingle_batch_clear(&batch->shingles);
    for (size_t i = 0; i < batch->n_docs; i++) {
        BM_TRY(bm_unit_text_hash(shingler, &batch->text, i, &batch->shingles, err));
        batch->docs[i].row.n_shingles = bm_shingle_batch_last(&batch->shingles);
    }
    batch->as_text = false;
    return BM_OK;
}

/* Hash and sign a document that is left to the host. */
static bm_status sign_one(bm_device_set *device_set, bm_ingest_batch *batch, size_t doc,
                          bm_shingler *shingler, bm_error *err)
{
    bm_shingle_batch *shingles = &batch->shingles;
    BM_TRY(bm_unit_text_hash(shingler, &batch->text, doc, shingles, err));
    const bm_sign_task *all = &batch->task;
    bm_sign_task task = {.offsets = shingles->offsets + shingles->n_docs - 1,
                         .hashes = shingles->hashes,
                         .n_docs = 1,
                         .words =
                             all->words == NULL ? NULL : all->words + doc * device_set->row_uints,
                         .keys = all->keys == NULL ? NULL : all->keys + doc * device_set->bands};
    batch->docs[doc].row.n_shingles = bm_shingle_batch_last(shingles);
    if (all->content != NULL)
        all->content[doc] = shingles->content[shingles->n_docs - 1];
    return bm_device_set_sign_cpu(device_set, &task, err);
}

/* Finish a batch that a device has signed: copy the numbers of shingles to the rows, and hash and
 * sign the documents that are left to the host. */
static bm_status ingest_text_finish(bm_device_set *device_set, bm_ingest_batch *batch,
                                    bm_shingler *shingler, bm_error *err)
{
    for (size_t i = 0; i < batch->n_docs; i++) {
        batch->docs[i].row.n_shingles = batch->made.n_shingles[i];
        if (batch->text.docs[i].by_host)
            BM_TRY(sign_one(device_set, batch, i, shingler, err));
    }
    return BM_OK;
}

/* === ingest read ===
 *
 * Chooses the size of batches, and reads them. One thread at a time. */

#define HASHES_WITHOUT_DEVICE 65536u
#define BYTES_PER_HASH        6u /* in English text; affects only the size of batches */
#define BATCH_BYTES_MIN       (64u << 10)
#define BATCH_BYTES_MAX       (2u << 20)   /* a larger batch would cause page faults each time */
#define IN_PLACE_BYTES        (256u << 10) /* text and hashes fit into a second-level cache */
#define RANGE_BYTES_MAX       (8u << 20)
#define REASON_BYTES          256u
#define PARTS_OF_RECORD       64u /* assumed number of parts of a record */
#define FILES_SHOWN           5u  /* most files of another format that are logged */

static size_t batch_bytes(const bm_ingest_cfg *cfg, uint64_t window)
{
    size_t most = cfg->budget != NULL ? bm_budget_batch_bytes(cfg->budget, window) : SIZE_MAX;
    size_t hashes = cfg->device_set != NULL ? bm_device_set_batch_hashes(cfg->device_set) : 0;
    size_t bytes = hashes * BYTES_PER_HASH;
    if (bytes < BATCH_BYTES_MIN)
        bytes = hashes == 0 ? 8 * BATCH_BYTES_MIN : BATCH_BYTES_MIN;
    const size_t usual = cfg->in_place.words != NULL ? IN_PLACE_BYTES : BATCH_BYTES_MAX;
    most = most < usual ? most : usual;
    return bytes > most ? most : bytes;
}

/* Most bytes of a range, which is read at once and then divided into several batches. */
static size_t range_bytes(const bm_ingest_cfg *cfg, uint64_t window)
{
    const size_t most = cfg->budget != NULL ? bm_budget_batch_bytes(cfg->budget, window) : SIZE_MAX;
    return most < RANGE_BYTES_MAX ? most : RANGE_BYTES_MAX;
}

/* Bytes that one document needs in a batch, besides its text and hashes. At least REASON_BYTES,
 * since a bad record needs memory for its reason instead. */
static uint64_t doc_bytes(const bm_ingest_cfg *cfg)
{
    uint64_t bytes = sizeof(bm_ingest_doc) + sizeof(uint64_t) + sizeof(bm_hash128);
    if (cfg->device_set != NULL && cfg->want_words)
        bytes += cfg->device_set->row_uints * sizeof(uint32_t);
    if (cfg->device_set != NULL && cfg->want_keys)
        bytes += cfg->device_set->bands * sizeof(uint64_t);
    if (cfg->scan.parts)
        bytes *= PARTS_OF_RECORD;
    return bytes < REASON_BYTES ? REASON_BYTES : bytes;
}

/* The most documents in a batch; 0: any number. */
static uint32_t batch_docs(const bm_ingest_cfg *cfg, uint64_t window, size_t bytes)
{
    uint32_t most = cfg->budget != NULL
                        ? bm_budget_batch_docs(cfg->budget, window, bytes, doc_bytes(cfg))
                        : UINT32_MAX;
    if (cfg->batch_docs != 0 && cfg->batch_docs < most)
        return cfg->batch_docs;
    return most < bytes ? most : cfg->batch_docs; /* a document has at least one byte */
}

/* Begin reading, with a size of batches that suits the devices and the budget. `window`: the most
 * batches that may exist at once. `gate` grants memory to long documents, and is borrowed until
 * bm_batch_source_end. */
static bm_status ingest_read_begin(const bm_ingest_cfg *cfg, const bm_long_gate *gate,
                                   uint64_t window, bm_error *err)
{
    const size_t bytes = batch_bytes(cfg, window);
    const bm_batch_limits limits = {.bytes = bytes,
                                    .hashes = cfg->device_set != NULL
                                                  ? bm_device_set_batch_hashes(cfg->device_set)
                                                  : HASHES_WITHOUT_DEVICE,
                                    .docs = batch_docs(cfg, window, bytes),
                                    .gate = gate,
                                    .helped = true,
                                    .range_bytes = range_bytes(cfg, window),
                                    .places = cfg->places != NULL ? &cfg->places->check : NULL};
    return bm_batch_source_begin(cfg->source, &limits, cfg->skip_records, err);
}

/* Read the next batch into `batch`, which must be empty. It stays empty unless *got becomes
 * BM_BATCH_READ. BM_ERR_FORMAT: the inputs have fewer than skip_records records. */
static bm_status ingest_read_next(const bm_ingest_cfg *cfg, bm_ingest_batch *batch,
                                  bm_batch_got *got, bm_error *err)
{
    bm_batch_next next;
    bm_status status = bm_batch_source_next(cfg->source, &next, err);
    *got = next.got;
    batch->raw = next.batch;
    if (status == BM_OK && next.got == BM_BATCH_PASSED)
        bm_meter_progress(cfg->meter, next.bytes_read, bm_batch_source_total_bytes(cfg->source),
                          cfg->counts->documents);
    return status;
}

/* Fill the batch (bm_batch_source_fill), on the thread that read it, while other threads read the
 * next batches. A failure is stored in batch->status. */
static void ingest_read_fill(const bm_ingest_cfg *cfg, bm_ingest_batch *batch, double *in_turn)
{
    batch->status = bm_batch_source_fill(cfg->source, batch->raw, in_turn, &batch->error);
    batch->turn.bytes_read = batch->raw->bytes_read;
    batch->turn.place = batch->raw->place;
}

/* === ingest long ===
 *
 * Grants memory to documents that are longer than a batch.
 *
 * The worst-case memory of a document is computed from its bytes: the record, its text, joined
 * text, a hash of each shingle, and the table that finds the distinct hashes. Three cases:
 *
 *     it fits into the memory for       the document waits until enough of this memory is free, and
 *     batches (budget.batches)          is then processed like other documents
 *     it does not fit                   the batch is *alone*: all earlier batches are delivered
 *                                       first, and no later batch is read until this one is
 *                                       delivered. It may use all free memory of the job. While it
 *                                       is shingled, the memory that it really needs is counted
 *     it needs more than all free       BM_ERR_NOMEM; the message names the document and a
 *     memory                            sufficient `memory`
 *
 * There is no deadlock: only the reader waits for memory, and earlier batches only release
 * memory. */

/* The memory granted to the batch that is being read. Used by one thread at a time. */
typedef struct bm_ingest_long {
    const bm_ingest_cfg *cfg;
    bm_ingest_order *order;
    uint64_t number; /* number of the batch being read */
    bm_ingest_share share;
    bm_long_gate gate;
} bm_ingest_long;

#define MIB ((uint64_t)1 << 20)

/* Worst-case bytes of memory per byte of a record: the byte itself, two copies that are made for
 * joined text, and for each shingle 8 bytes for its hash and at most 16 for the table. With words,
 * there is at most one shingle for every two bytes, unless some words are empty. */
#define WORD_FOLD 16u
#define BYTE_FOLD 28u
/* Given hashes need memory for all hashes, for the distinct hashes, and for the table. */
#define HASH_FOLD 4u
/* A bag needs 4 more bytes per shingle, for its count. */
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

/* Bytes for a record and its text; if the source has no texts, for a record and its hashes.
 * `held_bytes`: the length of the record, including bytes read after it. Normalising rarely makes a
 * text longer; if it does, the additional bytes are counted then. */
static uint64_t held_and_text(const bm_ingest_cfg *cfg, uint64_t record_bytes, uint64_t held_bytes)
{
    const uint64_t copies = cfg->input->n_text_fields > 1 ? 2 : 1;
    if (!cfg->source->ops->has_text)
        return fold_of(cfg) * record_bytes + MIB;
    return held_bytes + (copies + 1) * record_bytes + MIB;
}

/* The most bytes held for a record of record_bytes, including bytes read after it. */
static uint64_t ingest_long_held(uint64_t record_bytes)
{
    return record_bytes + record_bytes / 8;
}

static uint64_t least_bytes(const bm_ingest_cfg *cfg, uint64_t record_bytes)
{
    return held_and_text(cfg, record_bytes, ingest_long_held(record_bytes));
}

/* The least memory, in bytes, for a record of which `bytes` have been read so far. The reader may
 * have read up to a sixteenth more than the record (reader.c); these bytes do not count as text. */
static uint64_t least_so_far(const bm_ingest_cfg *cfg, uint64_t bytes)
{
    return held_and_text(cfg, cfg->source->ops->has_text ? bytes - bytes / 17 : bytes, bytes);
}

/* Memory for staging batches for devices: about one batch for each batch in flight. 0 if there are
 * no devices. */
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
    if (cfg->reclaim.fn != NULL) {
        status = cfg->reclaim.fn(cfg->reclaim.ctx, wanted + device, &all, err);
    } else {
        const uint64_t held =
            budget->fixed + (cfg->docs != NULL ? bm_doc_table_bytes(cfg->docs) : 0);
        all = budget->total > held ? budget->total - held : 0;
    }
    *out = all > device ? all - device : 0;
    return status;
}

static bm_status wait_until_alone(bm_ingest_long *now, bm_error *err)
{
    if (!bm_ingest_order_alone(now->order, now->number, &now->share))
        return bm_fail(err, BM_ERR_CANCELLED, "the ingest has ended");
    bm_memory_trim();
    return BM_OK;
}

static bm_status reserve_memory(void *ctx, uint64_t bytes, bool *may, bm_error *err)
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
        status = wait_until_alone(now, err);
    if (status == BM_OK && now->share.free < cost) /* more bytes may have become free */
        status = free_bytes(cfg, cost, &now->share.free, err);
    *may = least_so_far(cfg, bytes) <= now->share.free;
    return status;
}

/* Return BM_ERR_NOMEM, because a document needs `needed` bytes. */
static bm_status ingest_long_refuse(const bm_ingest_cfg *cfg, const bm_ingest_share *share,
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

static bm_status refuse(void *ctx, const bm_long_record *record, bm_error *err)
{
    const bm_ingest_long *now = ctx;
    const bm_text_options *text = now->cfg->text;
    const uint64_t units = bm_shingle_is_of_words(text->shingle) ? record->words : record->bytes;
    const uint64_t least = least_bytes(now->cfg, record->bytes),
                   needed = bm_shingler_bytes(text, record->bytes, units);
    const bool hashed = now->cfg->source->ops->has_text && now->cfg->scan.document == NULL,
               more = hashed && needed > least;
    return ingest_long_refuse(now->cfg, &now->share, record, more ? needed : least, err);
}

/* Bytes that the shingler may use for a document of a batch that is alone, while the record takes
 * `held_bytes`. At least 1, because a limit of 0 means none. */
static uint64_t ingest_long_limit(const bm_ingest_share *share, uint64_t held_bytes)
{
    return share->free > held_bytes ? share->free - held_bytes : 1;
}

/* `out` must not move: its gate points to it. */
static void ingest_long_init(const bm_ingest_cfg *cfg, bm_ingest_order *order, bm_ingest_long *out)
{
    *out = (bm_ingest_long){.cfg = cfg, .order = order, .gate = {out, reserve_memory, refuse}};
}

/* Call this before batch number `n` is read. */
static void ingest_long_begin(bm_ingest_long *now, uint64_t n)
{
    now->number = n;
    now->share = (bm_ingest_share){0};
}

/* === ingest parse ===
 *
 * Converts a raw batch to documents with their shingles. With `--on-error fail`, a bad record ends
 * the batch. The documents before it stay in the batch, because a repeated id among them must be
 * reported first. */

/* The scratch of one worker. */
typedef struct bm_ingest_worker {
    const bm_ingest_cfg *cfg;
    bm_batch_parser *parser;
    bm_hash64_fn *hash;     /* hashes texts for the document table; NULL: no hashes are needed */
    bm_shingler *shingler;  /* NULL if the source has no texts */
    void *lane;             /* the worker's lane of cfg->scan; NULL: none yet */
    bm_set_shingler sets;   /* for documents that are given as hashes of their shingles */
    bm_ingest_batch *batch; /* the batch that on_record fills */
    bm_ingest_entries entries;
    size_t joined;         /* 1 + the document whose joined text is not hashed yet; 0: none */
    uint64_t joined_entry; /* entry of the record of the document `joined` */
} bm_ingest_worker;

static void ingest_worker_close(bm_ingest_worker *worker)
{
    bm_batch_parser_close(worker->parser);
    bm_shingler_close(worker->shingler);
    bm_set_shingler_reset(&worker->sets);
    ingest_entries_reset(&worker->entries);
    if (worker->cfg->scan.close != NULL)
        worker->cfg->scan.close(worker->lane);
    worker->parser = NULL;
    worker->shingler = NULL;
    worker->lane = NULL;
}

static bm_status ingest_worker_open(const bm_ingest_cfg *cfg, bm_ingest_worker *out, bm_error *err)
{
    memset(out, 0, sizeof *out);
    out->cfg = cfg;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_batch_parser_open(cfg->source, &out->parser, err));
    out->parser->own_ids = cfg->in_place.words != NULL;
    BM_TRY_OUT(bm_isa_choose(cfg->cpu, &out->sets.isa, err));
    out->sets.bag = cfg->text->bag;
    if (cfg->source->ops->has_text && cfg->docs != NULL)
        out->hash = bm_hash64_of(out->sets.isa);
    out->entries.most_bytes =
        bm_budget_kept(cfg->budget != NULL ? cfg->budget->total : 0, cfg->threads);
    if (cfg->source->ops->has_text)
        BM_TRY_OUT(bm_shingler_open(cfg->text, cfg->cpu, &out->shingler, err));
out:
    if (status != BM_OK)
        ingest_worker_close(out);
    return status;
}

static bm_status add_doc(bm_ingest_batch *batch, const bm_doc_row *row, const bm_record *record,
                         bm_error *err)
{
    const bm_str id = record->id, keep_key = record->keep_key;
    BM_TRY(
        bm_grow(&batch->docs, &batch->capacity.docs, batch->n_docs + 1, sizeof *batch->docs, err));
    size_t begin = batch->ids.len;
    BM_TRY(bm_buf_add(&batch->ids, id.data, id.len, err));
    bm_ingest_doc *doc = &batch->docs[batch->n_docs++];
    doc->row = *row;
    doc->id_hash = XXH3_64bits(id.data, id.len);
    doc->place = record->place;
    doc->id_begin = begin;
    doc->id_len = id.len;
    doc->keep_key_len = keep_key.len;
    return keep_key.len > 0 ? bm_buf_add(&batch->keep_keys, keep_key.data, keep_key.len, err)
                            : BM_OK;
}

static bm_status skip_record(bm_ingest_worker *worker, const bm_record *record, bm_error *err)
{
    bm_ingest_batch *batch = worker->batch;
    const bm_ingest_cfg *cfg = worker->cfg;
    if (!bm_input_skips_bad_records(cfg->input))
        return bm_fail_bad_record(bm_batch_source_file(cfg->source, record->file), record, err);
    BM_TRY(bm_grow(&batch->skipped, &batch->capacity.skipped, batch->n_skipped + 1,
                   sizeof *batch->skipped, err));
    char *reason = bm_strdup(record->reason);
    if (reason == NULL)
        return bm_fail_nomem(err, strlen(record->reason));
    batch->skipped[batch->n_skipped++] =
        (bm_skipped){record->line, record->file, reason, record->n_behind};
    return BM_OK;
}

/* --- a batch that is alone --- */

/* Called after the shingler returned BM_ERR_NOMEM. If the document does not fit into the shingler's
 * limit, report this; otherwise *err stays as it is. `held`: bytes that the document's record still
 * takes. */
static bm_status report_too_long(bm_ingest_worker *worker, const bm_ingest_doc *doc, uint64_t held,
                                 bm_error *err)
{
    const uint64_t needed = bm_shingler_needed(worker->shingler);
    const bm_long_record record = {.file = bm_batch_source_file(worker->cfg->source, doc->row.file),
                                   .line = doc->row.line,
                                   .bytes = doc->row.text_bytes};
    return needed == 0 ? BM_ERR_NOMEM
                       : ingest_long_refuse(worker->cfg, &worker->batch->turn.share, &record,
                                            needed + held, err);
}

/* If there is joined text that is not hashed yet, hash it. `held`: bytes that records still
 * take. */
static bm_status hash_joined(bm_ingest_worker *worker, uint64_t held, bm_error *err)
{
    bm_ingest_batch *batch = worker->batch;
    if (worker->joined == 0)
        return BM_OK;
    bm_ingest_doc *doc = &batch->docs[worker->joined - 1];
    worker->joined = 0;
    bm_shingler_limit(worker->shingler, ingest_long_limit(&batch->turn.share, held));
    bm_status status = bm_shingler_add_last_joined(worker->shingler, &batch->shingles, err);
    if (status == BM_ERR_NOMEM)
        status = report_too_long(worker, doc, held, err);
    if (status == BM_OK) {
        doc->row.n_shingles = bm_shingle_batch_last(&batch->shingles);
        ingest_entries_keep(&worker->entries, worker->joined_entry, &batch->shingles);
    }
    bm_shingler_limit(worker->shingler, 0);
    return status;
}

/* Make the joined text of the record that was just added. It is hashed later: once the record is
 * freed, or when another record follows. */
static bm_status join_alone(bm_ingest_worker *worker, const bm_record *record, bm_error *err)
{
    bm_ingest_batch *batch = worker->batch;
    const struct bm_joined *joined;
    const uint64_t held = ingest_long_held(record->raw.len) + record->text.len;
    bm_shingler_limit(worker->shingler, ingest_long_limit(&batch->turn.share, held));
    bm_status status = bm_shingler_join(worker->shingler, record->text, &joined, err);
    if (status == BM_ERR_NOMEM)
        return report_too_long(worker, &batch->docs[batch->n_docs - 1], held, err);
    worker->joined = batch->n_docs;
    worker->joined_entry = record->entry;
    return status;
}

/* End the parsing of a batch that is alone, by hashing the last joined text. The records of the
 * batch are freed by now. */
static void end_alone(bm_ingest_worker *worker)
{
    bm_ingest_batch *batch = worker->batch;
    bm_error error = {0};
    bm_set_shingler_reset(&worker->sets); /* freed, since its memory may be large */
    bm_memory_trim();
    bm_status status = hash_joined(worker, 0, &error);
    bm_memory_trim();
    if (status == BM_OK || batch->status != BM_OK)
        return;
    batch->status = status;
    batch->error = error;
}

/* --- any batch --- */

/* Add the given band keys of a document, which has no shingles. If all its keys are BM_NO_BAND_KEY,
 * it counts as empty. */
static bm_status add_keys(bm_ingest_batch *batch, const uint64_t *keys, size_t n, bm_error *err)
{
    bm_shingle_batch *shingles = &batch->shingles;
    const size_t at = batch->n_docs * n;
    BM_TRY(bm_grow(&batch->keys, &batch->capacity.keys, at + n, sizeof *keys, err));
    BM_TRY(bm_shingle_batch_reserve(shingles, 1, 0, err));
    memcpy(batch->keys + at, keys, n * sizeof *keys);
    size_t n_none = 0;
    for (size_t i = 0; i < n; i++)
        n_none += keys[i] == BM_NO_BAND_KEY;
    const size_t doc = shingles->n_docs++;
    shingles->content[doc] = (bm_hash128){0};
    shingles->offsets[doc + 1] = shingles->offsets[doc];
    shingles->n_empty += n_none == n;
    return BM_OK;
}

/* Add a document to the batch: its text if a device will hash it, what cfg->scan makes of it, the
 * shingles of its text, or its given band keys or hashes. */
static bm_status add_shingles(bm_ingest_worker *worker, const bm_record *record, bm_error *err)
{
    bm_ingest_batch *batch = worker->batch;
    if (batch->as_text)
        return bm_unit_text_add(worker->shingler, record->text, &batch->text, err);
    if (worker->cfg->scan.document != NULL)
        return worker->cfg->scan.document(worker->cfg->scan.ctx, &worker->lane, worker->shingler,
                                          record, batch, err);
    if (worker->shingler != NULL) {
        BM_TRY(bm_shingler_add(worker->shingler, record->text, &batch->shingles, err));
        ingest_entries_keep(&worker->entries, record->entry, &batch->shingles);
        return BM_OK;
    }
    if (record->keys != NULL)
        return add_keys(batch, record->keys, worker->cfg->source->n_keys, err);
    return bm_shingle_set_add(&worker->sets, record->hashes, record->n_hashes, &batch->shingles,
                              err);
}

/* The hash of a text as read, before invalid UTF-8 is repaired, or BM_TEXT_UNKNOWN if no hashes are
 * needed. It is computed here because the text is still in cache. */
static uint64_t hash_text(const bm_ingest_worker *worker, const bm_record *record)
{
    const bm_str text = record->as_read.data != NULL ? record->as_read : record->text;
    return worker->hash != NULL ? worker->hash(text.data, text.len) : BM_TEXT_UNKNOWN;
}

/* Add a text without an id (bm_ingest_batch.nameless). If its entry is in the cache, it is not
 * shingled again. */
static bm_status add_nameless(bm_ingest_worker *worker, const bm_record *record, bm_error *err)
{
    bm_ingest_batch *batch = worker->batch;
    bool was_made = false;
    if (record->entry != 0)
        BM_TRY(
            ingest_entries_add(&worker->entries, record->entry, &batch->shingles, &was_made, err));
    if (!was_made)
        BM_TRY(add_shingles(worker, record, err));
    if (batch->n_docs == batch->capacity.texts)
        BM_TRY(bm_grow(&batch->texts, &batch->capacity.texts, batch->n_docs + 1,
                       sizeof *batch->texts, err));
    batch->texts[batch->n_docs++] =
        (bm_nameless_text){record->text_bytes, hash_text(worker, record)};
    batch->n_invalid += record->n_invalid;
    batch->nameless = true;
    return BM_OK;
}

/* Add documents that are parts of the record. */
static bm_status add_parts(bm_ingest_worker *worker, const bm_record *record, bm_error *err)
{
    bm_ingest_batch *batch = worker->batch;
    /* Ids of parts begin with this number, so that they differ from ids of an interrupted job. */
    const uint64_t skipped = worker->cfg->skip_records;
    bm_record part = *record;
    char id[64];
    batch->parts.len = 0;
    BM_TRY(add_shingles(worker, record, err));
    const uint64_t *offsets = batch->shingles.offsets;
    for (size_t at = 0; at < batch->parts.len; at += sizeof(bm_ingest_part)) {
        bm_ingest_part p;
        memcpy(&p, batch->parts.data + at, sizeof p);
        const size_t n = batch->n_docs;
        const int len = snprintf(id, sizeof id, "%" PRIx64 ".%" PRIx64 ".%zx", skipped,
                                 batch->turn.sequence, n);
        part.id = (bm_str){id, (size_t)len};
        const bm_doc_row row = {.line = record->line,
                                .text_bytes = p.bytes,
                                .text_hash = p.text_hash,
                                .file = record->file,
                                .n_shingles = (uint32_t)(offsets[n + 1] - offsets[n])};
        BM_TRY(add_doc(batch, &row, &part, err));
        if (worker->cfg->scan.keep != NULL)
            bm_keep_key_set_length(worker->cfg->scan.keep,
                                   batch->keep_keys.data + batch->keep_keys.len - part.keep_key.len,
                                   part.keep_key.len, p.bytes);
    }
    batch->n_invalid += record->n_invalid;
    return BM_OK;
}

static bm_status on_record(void *ctx, const bm_record *record, bm_error *err)
{
    bm_ingest_worker *worker = ctx;
    if (record->bad)
        return skip_record(worker, record, err);
    if (record->nameless)
        return add_nameless(worker, record, err);
    if (worker->cfg->scan.parts)
        return add_parts(worker, record, err);
    bm_ingest_batch *batch = worker->batch;
    bool was_made = false;
    if (worker->joined != 0)
        BM_TRY(hash_joined(worker, ingest_long_held(record->raw.len), err));
    const bool scans = worker->cfg->scan.document != NULL;
    if (record->entry != 0 && !batch->as_text && !scans)
        BM_TRY(
            ingest_entries_add(&worker->entries, record->entry, &batch->shingles, &was_made, err));
    const bool joins = batch->turn.share.alone && worker->shingler != NULL && !was_made && !scans;
    if (!joins && !was_made)
        BM_TRY(add_shingles(worker, record, err));
    bm_doc_row row = {.line = record->line,
                      .text_bytes = record->text_bytes,
                      .text_hash = hash_text(worker, record),
                      .file = record->file,
                      .n_shingles =
                          batch->as_text || joins ? 0 : bm_shingle_batch_last(&batch->shingles)};
    batch->n_invalid += record->n_invalid;
    bm_status status = add_doc(batch, &row, record, err);
    return status == BM_OK && joins ? join_alone(worker, record, err) : status;
}

/* Weigh the shingles of the batch. This may drop shingles, so n_shingles of the rows is updated. */
static void apply_weights(const bm_ingest_cfg *cfg, bm_ingest_batch *batch)
{
    const bm_shingle_batch *shingles = &batch->shingles;
    bm_error error = {0};
    bm_status status = bm_weigh_batch(cfg->weights, &batch->shingles, &error);
    if (status != BM_OK) {
        batch->status = status;
        batch->error = error;
    }
    for (size_t i = 0; status == BM_OK && i < batch->n_docs; i++)
        batch->docs[i].row.n_shingles = (uint32_t)(shingles->offsets[i + 1] - shingles->offsets[i]);
}

/* Parse and shingle the batch. A failure is stored in batch->status. */
static void ingest_batch_parse(bm_ingest_worker *worker, bm_ingest_batch *batch)
{
    const bm_ingest_cfg *cfg = worker->cfg;
    worker->batch = batch;
    batch->text.options = *cfg->text;
    worker->joined = 0;
    batch->as_text = cfg->source->ops->has_text && cfg->device_set != NULL &&
                     cfg->device_set->path.taken && !batch->turn.share.alone &&
                     !(cfg->hashes_of_long && batch->turn.share.cost > 0) && cfg->weights == NULL &&
                     cfg->in_place.words == NULL && !cfg->scan.parts;
    batch->shingles.counted = cfg->weights != NULL;
    batch->status =
        bm_batch_parser_run(worker->parser, batch->raw, on_record, worker, &batch->error);
    if (batch->as_text && ingest_text_pointless(batch)) {
        bm_error error = {0};
        bm_status status = ingest_text_hash(batch, worker->shingler, &error);
        if (status != BM_OK) {
            batch->status = status;
            batch->error = error;
        }
    }
    bm_ingest_batch_drop_raw(cfg, batch);
    if (batch->turn.share.alone)
        end_alone(worker);
    if (cfg->weights != NULL && batch->status == BM_OK)
        apply_weights(cfg, batch);
}

/* === ingest sign ===
 *
 * Signing by the native CPU and by the device workers.
 *
 *     queue ->  in_flight [2] [1] [0]  -> the batch's place in the ring, where a worker delivers it
 *                                 oldest batch: a device ends its tasks in the order of submission
 *
 * A worker copies its batch into a place of some device (bm_backend_stage). Then this device must
 * sign the batch. If no place is free, any device may take the batch, and its device worker copies
 * it. */

#define DEPTH_MAX 8u

/* A device, and its batches in flight. */
typedef struct device_run {
    bm_ingest_order *order;
    const bm_ingest_cfg *cfg;
    bm_device_worker *device;
    bm_ingest_batch *in_flight[DEPTH_MAX]; /* the oldest first */
    uint32_t n;
    bool stopped; /* the device is dead, and no longer used */
} device_run;

/* Sign a batch on the native CPU. The batch has a task, and consists of hashes or of texts. */
static bm_status ingest_sign_cpu(const bm_ingest_cfg *cfg, bm_ingest_batch *batch,
                                 bm_shingler *shingler, bm_error *err)
{
    bm_ingest_batch_unstage(batch);
    if (batch->as_text) {
        BM_TRY(ingest_text_hash(batch, shingler, err));
        BM_TRY(bm_ingest_batch_make_task(cfg, batch, err));
    }
    BM_TRY(bm_device_set_sign_cpu(cfg->device_set, &batch->task, err));
    atomic_fetch_add(&cfg->device_set->cpu_docs, batch->n_docs);
    return BM_OK;
}

/* The device of the batch is dead. Sign the batch on the native CPU, or let it fail with the error
 * of the device. The lock of the device is held. */
static void do_without(const bm_ingest_cfg *cfg, const bm_device_worker *device,
                       bm_ingest_batch *batch)
{
    batch->status = device->after_death;
    batch->error = device->death;
    if (batch->status == BM_OK)
        batch->status = ingest_sign_cpu(cfg, batch, device->shingler, &batch->error);
}

/* Settle a batch that a device has signed: check a sample of the results, and sign the documents
 * that are left to the host. If the device is dead or the check fails, the native CPU signs the
 * whole batch, or the batch fails. The caller has locked the device; this unlocks it. */
static void settle(const bm_ingest_cfg *cfg, bm_ingest_batch *batch)
{
    bm_device_worker *device = batch->turn.device;
    bm_error error = {0};
    const bm_status status =
        device->dead ? BM_OK : bm_device_set_check(cfg->device_set, device, &batch->task, &error);
    if (device->dead) {
        do_without(cfg, device, batch);
    } else if (status != BM_OK) {
        pthread_mutex_unlock(&device->lock);
        bm_device_set_worker_failed(cfg->device_set, device, status, &error);
        pthread_mutex_lock(&device->lock);
        do_without(cfg, device, batch);
    } else {
        device->n_docs += batch->n_docs;
        if (batch->as_text)
            batch->status =
                ingest_text_finish(cfg->device_set, batch, device->shingler, &batch->error);
    }
    pthread_mutex_unlock(&device->lock);
}

/* Call do_without for all batches that a dead device has in flight, and place them in the ring. */
static void fall_back(device_run *run)
{
    pthread_mutex_lock(&run->device->lock);
    for (uint32_t i = 0; i < run->n; i++)
        do_without(run->cfg, run->device, run->in_flight[i]);
    pthread_mutex_unlock(&run->device->lock);
    uint32_t n = run->n;
    run->n = 0;
    for (uint32_t i = 0; i < n; i++)
        bm_ingest_order_place(run->order, run->in_flight[i]);
}

/* A stuck device never returns its batches. Replace them by new batches of the same documents. If
 * this fails, the ingest fails. */
static void replace_batches(device_run *run)
{
    bm_error error = {0};
    for (uint32_t i = 0; i < run->n; i++) {
        bm_ingest_batch *other = bm_ingest_batch_replace(run->in_flight[i]);
        bm_status status = BM_ERR_NOMEM;
        if (other != NULL)
            status = bm_ingest_batch_make_task(run->cfg, other, &error);
        if (status != BM_OK) { /* the ingest ends here */
            bm_ingest_order_fail(run->order, run->in_flight[i]->turn.sequence, status, &error);
            bm_ingest_batch_free(other);
            run->n = i;
            return;
        }
        run->in_flight[i] = other;
    }
}

/* Stop using a dead device. Its work is ended first, since it may still write into its buffers. The
 * batches of a stuck device are replaced. The device is closed only with the device set, since
 * other threads may still use its places. */
static void stop(device_run *run)
{
    bm_backend *backend = run->device->backend;
    if (run->stopped)
        return;
    run->stopped = true;
    backend->ops->drain(backend, NULL);
    if (backend->stuck)
        replace_batches(run);
}

static void device_failed(device_run *run, bm_status status, const bm_error *error)
{
    stop(run);
    bm_device_set_worker_failed(run->cfg->device_set, run->device, status, error);
    fall_back(run);
}

static void submit(device_run *run, bm_ingest_batch *batch)
{
    bm_error error = {0};
    run->in_flight[run->n++] = batch;
    if (run->device->dead) {
        stop(run);
        fall_back(run);
        return;
    }
    bm_backend *backend = run->device->backend;
    bm_status status = backend->ops->submit(backend, &batch->task, &error);
    if (status == BM_ERR_UNSUPPORTED && batch->as_text) { /* a text exceeds the device's buffers */
        pthread_mutex_lock(&run->device->lock);
        status = ingest_text_hash(batch, run->device->shingler, &error);
        pthread_mutex_unlock(&run->device->lock);
        if (status == BM_OK)
            status = bm_ingest_batch_make_task(run->cfg, batch, &error);
        if (status == BM_OK)
            status = backend->ops->submit(backend, &batch->task, &error);
    }
    if (status != BM_OK)
        device_failed(run, status, &error);
}

static void finish_oldest(device_run *run)
{
    bm_error error = {0};
    bm_backend *backend = run->device->backend;
    bm_ingest_batch *batch = run->in_flight[0];
    bm_status status = backend->ops->wait(backend, &batch->task, &error);
    if (status != BM_OK) {
        device_failed(run, status, &error);
        return;
    }
    bm_ingest_batch_read_in_place(batch);
    batch->turn.device = run->device;
    run->n--;
    memmove(run->in_flight, run->in_flight + 1, run->n * sizeof run->in_flight[0]);
    bm_ingest_order_place(run->order, batch);
}

static uint32_t depth_of(const bm_device_worker *device)
{
    uint32_t depth = device->dead ? 1 : device->backend->depth;
    return depth < 1 ? 1 : depth > DEPTH_MAX ? DEPTH_MAX : depth;
}

/* Run a device worker: take batches from order->queue, keep as many in flight as the device's depth
 * allows, and place each finished batch in the ring, until the queue is closed or aborted.
 *
 * If the device fails, it is stopped. Its batches, and all later batches that it receives, are
 * signed on the native CPU; but if the device was requested, they fail with the error of the device
 * (bm_device_set_worker_failed decides). */
static void ingest_device_run(bm_ingest_order *order, bm_device_worker *device)
{
    device_run run = {.order = order, .cfg = order->cfg, .device = device};
    const uint32_t who = (uint32_t)(device - order->cfg->device_set->device_workers);
    const uint32_t depth = depth_of(device);
    void *item;
    bm_ingest_times times = {0};
    double mark = bm_clock_seconds();
    for (;;) {
        if (run.n == 0) {
            bool more = bm_queue_pop(order->queue, who, &item);
            bm_ingest_lap(&times.idle, &mark);
            if (!more)
                break;
            submit(&run, item);
        } else if (run.n < depth && bm_queue_try_pop(order->queue, who, &item)) {
            submit(&run, item);
        } else {
            finish_oldest(&run);
        }
        bm_ingest_lap(&times.device, &mark);
    }
    bm_ingest_order_add_times(order, &times);
}

typedef struct ingest {
    const bm_ingest_cfg *cfg;
    bm_ingest_order order;
    pthread_mutex_t read_lock; /* protects the source and the next four members */
    bool read_end;
    bm_ingest_long now; /* memory granted to the batch being read */
    uint64_t n_read;    /* number of batches read so far */
    uint64_t n_records; /* number of records in the batches read so far, if signed in place */

    bm_queue *queue; /* queue to the device workers; NULL: no devices */
    uint32_t n_workers, n_device_workers;
    atomic_uint workers_left, turn; /* turn modulo n_device_workers: the device to try first */
} ingest;

/* A worker: a thread that reads, parses and signs. */
typedef struct host_worker {
    ingest *in;
    bm_ingest_worker worker;
    bm_ingest_times times;
    double mark; /* the time up to which `times` is complete */
} host_worker;

/* Make room for n_docs documents in the columns of cfg->in_place. read_lock is held. */
static bm_status make_room(const bm_ingest_cfg *cfg, uint64_t n_docs, bm_error *err)
{
    const bm_ingest_in_place *to = &cfg->in_place;
    const size_t words = cfg->device_set->row_uints * sizeof(uint32_t);
    const size_t keys = to->keys != NULL ? cfg->device_set->bands * sizeof(uint64_t) : 0;
    if (n_docs > SIZE_MAX / (words + keys))
        return bm_fail_nomem(err, SIZE_MAX);
    BM_TRY(bm_column_grow(to->words, (size_t)n_docs * words, NULL, err));
    return keys == 0 ? BM_OK : bm_column_grow(to->keys, (size_t)n_docs * keys, NULL, err);
}

/* Let the task write words and keys directly to their places in the columns. */
static void sign_in_place(const bm_ingest_cfg *cfg, bm_ingest_batch *batch)
{
    const bm_ingest_in_place *to = &cfg->in_place;
    const uint64_t first = batch->turn.first_doc;
    batch->task.words = (uint32_t *)to->words->data + first * cfg->device_set->row_uints;
    batch->task.keys =
        to->keys == NULL ? NULL : (uint64_t *)to->keys->data + first * cfg->device_set->bands;
}

/* Number the documents of the batch, and make room for them in the columns. After a failure the
 * batch has no raw batch. read_lock is held. */
static bm_status number(ingest *in, bm_ingest_batch *batch, bm_error *err)
{
    bm_batch_source *source = in->cfg->source;
    uint64_t n = 0;
    bm_status status = source->ops->count(source, batch->raw, &n, err);
    if (status == BM_OK)
        status = make_room(in->cfg, in->n_records + n, err);
    if (status != BM_OK)
        bm_ingest_batch_drop_raw(in->cfg, batch);
    batch->turn.first_doc = in->n_records;
    in->n_records += n;
    return status;
}

/* Set *out to the next batch to parse; NULL: the inputs have ended, or the ingest stops. read_lock
 * is held. */
static bm_status read_batch(ingest *in, bm_ingest_batch **out, bm_error *err)
{
    bm_ingest_batch *batch = bm_ingest_order_new_batch(&in->order);
    bm_batch_got got = BM_BATCH_PASSED;
    bm_status status = batch != NULL ? BM_OK : bm_fail_nomem(err, sizeof *batch);
    while (status == BM_OK && got == BM_BATCH_PASSED &&
           bm_ingest_order_wait(&in->order, in->n_read)) {
        status = bm_meter_check(in->cfg->meter, err);
        ingest_long_begin(&in->now, in->n_read);
        if (status == BM_OK)
            status = ingest_read_next(in->cfg, batch, &got, err);
        if (got == BM_BATCH_PASSED) /* the records were skipped, and the batch is empty */
            bm_ingest_order_release(&in->order, &in->now.share);
        batch->turn.share = in->now.share;
    }
    if (status == BM_OK && got == BM_BATCH_READ && in->cfg->in_place.words != NULL)
        status = number(in, batch, err);
    in->read_end = status != BM_OK || got != BM_BATCH_READ;
    if (in->read_end) {
        bm_ingest_batch_free(batch);
        batch = NULL;
    }
    *out = batch;
    return status;
}

/* Reading has failed. Make a batch that carries this failure, so that failures of earlier batches
 * are reported first. If there is no memory for it, the ingest fails at once. */
static void deliver_failure(ingest *in, uint64_t sequence, bm_status status, const bm_error *error)
{
    bm_ingest_batch *last = bm_alloc_zero(1, sizeof *last);
    if (last == NULL) {
        bm_ingest_order_fail(&in->order, sequence, status, error);
        return;
    }
    last->turn.sequence = sequence;
    last->status = status;
    last->error = *error;
    bm_ingest_order_deliver(&in->order, last);
}

/* Read the next batch. NULL: the inputs have ended, the ingest stops, or reading has failed. */
static bm_ingest_batch *read_next(host_worker *w)
{
    ingest *in = w->in;
    bm_error error = {0};
    bm_status status = BM_OK;
    bm_ingest_batch *batch = NULL;
    uint64_t sequence = 0;
    bm_batch_source_lock(in->cfg->source, &in->read_lock);
    if (!in->read_end && bm_ingest_order_wait(&in->order, in->n_read)) {
        bm_ingest_lap(&w->times.wait, &w->mark);
        status = read_batch(in, &batch, &error);
        sequence = in->n_read;
        if (batch != NULL)
            batch->turn.sequence = sequence;
        in->n_read += batch != NULL || status != BM_OK;
        bm_ingest_lap(&w->times.read, &w->mark);
    }
    pthread_mutex_unlock(&in->read_lock);
    if (status != BM_OK)
        deliver_failure(in, sequence, status, &error);
    return batch;
}

/* Read the rest of the batch in parallel with other workers, and parse it. */
static void parse(host_worker *w, bm_ingest_batch *batch)
{
    double in_turn = 0;
    ingest_read_fill(w->in->cfg, batch, &in_turn);
    bm_ingest_lap(&w->times.fill, &w->mark);
    w->times.fill -= in_turn;
    w->times.read += in_turn;
    if (batch->status == BM_OK)
        ingest_batch_parse(&w->worker, batch);
    else
        bm_ingest_batch_drop_raw(w->in->cfg, batch);
    bm_ingest_lap(&w->times.text, &w->mark);
}

/* Stage the batch in a device, and return the number of the device. BM_QUEUE_ANYBODY: no device has
 * a free place. */
static uint32_t stage(ingest *in, bm_ingest_batch *batch)
{
    const bm_device_worker *workers = in->cfg->device_set->device_workers;
    const uint32_t n = in->n_device_workers, first = atomic_fetch_add(&in->turn, 1);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t at = (first + i) % n;
        if (!workers[at].dead)
            batch->task.staged = bm_backend_stage(workers[at].backend, &batch->task);
        if (batch->task.staged != NULL)
            return at;
    }
    return BM_QUEUE_ANYBODY;
}

/* Push the batch to the queue of the devices. False: it is not in the queue, and this thread still
 * owns it. */
static bool push(ingest *in, bm_ingest_batch *batch)
{
    const uint32_t whose = stage(in, batch);
    if (whose != BM_QUEUE_ANYBODY && bm_queue_push_for(in->queue, whose, batch))
        return true;
    bm_ingest_batch_unstage(batch);
    return in->cfg->device_set->use_cpu ? bm_queue_try_push(in->queue, batch)
                                        : bm_queue_push(in->queue, batch);
}

/* Sign the batch on this thread, or pass it to a device. Returns true if this thread still owns the
 * batch. */
static bool sign(host_worker *w, bm_ingest_batch *batch)
{
    ingest *in = w->in;
    bm_device_set *device_set = in->cfg->device_set;
    if (device_set == NULL || batch->status != BM_OK || batch->n_docs == 0)
        return true;
    batch->status = bm_ingest_batch_make_task(in->cfg, batch, &batch->error);
    if (batch->status != BM_OK)
        return true;
    /* The native CPU signs a batch that is alone, because this needs no memory for staging. */
    if (in->queue != NULL && !batch->turn.share.alone &&
        !bm_device_set_is_for_cpu(device_set, &batch->task)) {
        const bool taken = push(in, batch);
        bm_ingest_lap(&w->times.wait, &w->mark);
        if (taken)
            return false;
        if (!device_set->use_cpu)
            return true; /* the ingest stops */
    }
    if (in->cfg->in_place.words != NULL)
        sign_in_place(in->cfg, batch);
    batch->status = ingest_sign_cpu(in->cfg, batch, w->worker.shingler, &batch->error);
    bm_ingest_lap(&w->times.sign, &w->mark);
    return true;
}

static void run_worker(ingest *in)
{
    host_worker w = {.in = in, .mark = bm_clock_seconds()};
    bm_error error = {0};
    bm_status status = ingest_worker_open(in->cfg, &w.worker, &error);
    if (status != BM_OK)
        bm_ingest_order_fail(&in->order, 0, status, &error);
    bm_ingest_batch *batch;
    while (status == BM_OK && (batch = read_next(&w)) != NULL) {
        parse(&w, batch);
        /* Deliver this batch, if this thread owns it, and batches that devices have finished. */
        bm_ingest_order_deliver(&in->order, sign(&w, batch) ? batch : NULL);
        w.mark = bm_clock_seconds(); /* delivery is timed separately */
    }
    ingest_worker_close(&w.worker);
    bm_ingest_order_add_times(&in->order, &w.times);
    if (atomic_fetch_sub(&in->workers_left, 1) == 1 && in->queue != NULL)
        bm_queue_close(in->queue);
    pthread_mutex_lock(&in->read_lock);
    const uint64_t n = in->n_read;
    pthread_mutex_unlock(&in->read_lock);
    bm_ingest_order_finish(&in->order, n);
}

static bm_status run_thread(void *ctx, uint32_t thread, bm_error *err)
{
    (void)err;
    ingest *in = ctx;
    if (thread < in->n_workers)
        run_worker(in);
    else
        ingest_device_run(&in->order, &in->cfg->device_set->device_workers[thread - in->n_workers]);
    return BM_OK;
}

static bm_status ingest_open(const bm_ingest_cfg *cfg, ingest *in, bm_error *err)
{
    memset(in, 0, sizeof *in);
    in->cfg = cfg;
    in->n_workers = cfg->threads;
    in->n_device_workers =
        cfg->device_set != NULL ? (uint32_t)cfg->device_set->n_device_workers : 0;
    atomic_store(&in->workers_left, in->n_workers);
    pthread_mutex_init(&in->read_lock, NULL);
    uint64_t window = bm_budget_window(cfg->threads, in->n_device_workers);
    bm_status status = bm_ingest_order_open(cfg, window, &in->order, err);
    if (status == BM_OK && in->n_device_workers > 0)
        status = bm_queue_open(2 * (size_t)in->n_device_workers, &in->queue, err);
    in->order.queue = in->queue;
    in->order.settle = settle;
    ingest_long_init(cfg, &in->order, &in->now);
    if (status == BM_OK)
        status = ingest_read_begin(cfg, &in->now.gate, window, err);
    return status;
}

static void ingest_close(ingest *in)
{
    void *item;
    while (in->queue != NULL && bm_queue_drain(in->queue, &item))
        bm_ingest_batch_free(item);
    bm_queue_free(in->queue);
    bm_ingest_order_close(&in->order);
    bm_batch_source_end(in->cfg->source);
    pthread_mutex_destroy(&in->read_lock);
}

/* After reading, check that all inputs had their expected format, and count the records of files
 * that had not. If bad records are skipped, a file of another format only causes a warning, and
 * only the first few are named. */
static bm_status check_files(const bm_ingest_cfg *cfg, bm_error *err)
{
    bm_batch_source *source = cfg->source;
    const bool skips = bm_input_skips_bad_records(cfg->input);
    uint64_t n_other = 0, n_warned = 0;
    uint32_t file = 0;
    char words[sizeof err->message];
    bm_error why = {0};
    bm_status status = BM_OK;
    while (source->ops->check != NULL &&
           (status = source->ops->check(source, &file, &n_other, &why)) == BM_ERR_INPUT && skips) {
        bm_error_format(&why, words, sizeof words);
        if (n_warned++ < FILES_SHOWN)
            bm_meter_log(cfg->meter, BM_LOG_WARNING, "%s", words);
    }
    cfg->counts->other_records = n_other;
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

bm_status bm_ingest_run(const bm_ingest_cfg *cfg, bm_error *err)
{
    ingest in;
    bm_pool *pool = NULL;
    const double began = bm_clock_seconds();
    bm_status status = ingest_open(cfg, &in, err);
    if (status == BM_OK)
        status = bm_pool_open(in.n_workers + in.n_device_workers, &pool, err);
    if (status == BM_OK) {
        bm_pool_run(pool, run_thread, &in, NULL);
        status = in.order.status;
        if (status != BM_OK && err != NULL)
            *err = in.order.error;
    }
    bm_ingest_times *times = &in.order.times;
    times->elapsed = bm_clock_seconds() - began;
    times->workers = in.n_workers;
    times->device_workers = in.n_device_workers;
    if (cfg->times != NULL)
        *cfg->times = *times;
    bm_pool_close(pool);
    ingest_close(&in);
    return status == BM_OK ? check_files(cfg, err) : status;
}
