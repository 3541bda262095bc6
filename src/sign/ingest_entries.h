/* ingest_entries.h -- the shingles of texts that are entries of dictionaries, each made once by a worker: a file of a
 * few kB may have a long text in every row.
 *
 *     slots    entry -> document          one for all entries whose numbers end alike: the last of them
 *     made     documents of a batch       until they would take more than `most_bytes`; then all begins anew
 *
 * Whoever has no dictionaries pays for nothing. */
#ifndef BM_INGEST_INGEST_ENTRIES_H
#define BM_INGEST_INGEST_ENTRIES_H

#include "model/shingle_batch.h"

typedef struct bm_ingest_entry {
    uint64_t number; /* bm_record.entry; 0: none */
    uint32_t doc;    /* of `made` */
    bool is_short;   /* it was counted so */
} bm_ingest_entry;

typedef struct bm_ingest_entries {
    size_t most_bytes;
    bm_ingest_entry *slots; /* NULL while there was no entry */
    bm_shingle_batch made;
    uint64_t n_short; /* of a batch, before the document that was asked for last */
} bm_ingest_entries;  /* but for most_bytes, {0} has none */

/* Where the document of the entry is there, append it to `batch`: then *was_made. */
bm_status bm_ingest_entries_add(bm_ingest_entries *entries, uint64_t entry, bm_shingle_batch *batch,
                                bool *was_made, bm_error *err);
/* The last document of `batch` is that of `entry` (0: of none), which was asked for and not there. Where there is no room
 * for it, it is not kept. */
void bm_ingest_entries_keep(bm_ingest_entries *entries, uint64_t entry,
                            const bm_shingle_batch *batch);
void bm_ingest_entries_reset(bm_ingest_entries *entries); /* frees */

#endif
