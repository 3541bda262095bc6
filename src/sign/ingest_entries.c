/* ingest_entries.c -- see the header. */
#include "sign/ingest_entries.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define SLOTS ((size_t)4096)

static bm_ingest_entry *slot_of(const bm_ingest_entries *entries, uint64_t entry)
{
    return &entries->slots[entry % SLOTS];
}

/* Append a document of `from` to `to`, which counts what the other one does. */
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

bm_status bm_ingest_entries_add(bm_ingest_entries *entries, uint64_t entry, bm_shingle_batch *batch,
                                bool *was_made, bm_error *err)
{
    entries->n_short = batch->n_short;
    *was_made = entries->slots != NULL && slot_of(entries, entry)->number == entry;
    if (!*was_made)
        return BM_OK;
    const bm_ingest_entry *slot = slot_of(entries, entry);
    BM_TRY(copy_doc(&entries->made, slot->doc, batch, err));
    batch->n_short += slot->is_short;
    batch->n_empty += bm_shingle_batch_last(batch) == 0 && !slot->is_short;
    return BM_OK;
}

/* Room for a document of so many shingles. */
static bool make_room(bm_ingest_entries *entries, size_t n)
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

void bm_ingest_entries_keep(bm_ingest_entries *entries, uint64_t entry,
                            const bm_shingle_batch *batch)
{
    bm_shingle_batch *made = &entries->made;
    if (entry == 0)
        return;
    made->counted = batch->counted;
    if (!make_room(entries, bm_shingle_batch_last(batch)) ||
        copy_doc(batch, batch->n_docs - 1, made, NULL) != BM_OK)
        return;
    *slot_of(entries, entry) = (bm_ingest_entry){.number = entry,
                                                 .doc = (uint32_t)(made->n_docs - 1),
                                                 .is_short = batch->n_short > entries->n_short};
}

void bm_ingest_entries_reset(bm_ingest_entries *entries)
{
    bm_free(entries->slots);
    bm_shingle_batch_reset(&entries->made);
    *entries = (bm_ingest_entries){.most_bytes = entries->most_bytes};
}
