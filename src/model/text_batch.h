/* text_batch.h -- the documents of one batch as joined text, for a device that cuts and hashes the
 * shingles itself.
 *
 *     bytes   the cat sat on the mat·a dog …      joined text (text/shingle_ops.h), document after
 *                                                document; words: one 0x20 between documents
 *     starts  0   4   8  12 15  19  23·…          words: of each word, and behind the last one
 *     slots   0                  2        …       n_docs + 1 of them, never falling
 *
 * A *slot* is a place where the device makes a hash: a byte for byte and char shingles, a word for
 * word shingles. The hash is that of the shingle that begins there; where the byte is inside a code
 * point, that of the shingle which begins with this code point, once more. So a document has
 *
 *     byte, char   as many slots as there are bytes before the first at which no shingle begins
 *     word         as many slots as shingles
 *     any          one slot, the whole text, where it has fewer than K units (`--short whole`)
 *     any          none, and no bytes, where it has no shingles
 *
 * A document that has a shingle of more than BM_TEXT_SHINGLE_MAX bytes is left to the host: it has
 * no slots, and its joined text lies in `host_bytes`. One thread at a time. */
#ifndef BM_MODEL_TEXT_BATCH_H
#define BM_MODEL_TEXT_BATCH_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

#define BM_TEXT_SHINGLE_MAX 240u /* bytes: up to here XXH3 has its short forms */

typedef struct bm_text_doc {
    uint64_t begin;       /* in `bytes`; never falling */
    uint64_t first_start; /* in `starts`; never falling */
    uint64_t host_begin;  /* in `host_bytes`, where it is left to the host */
    uint64_t len;         /* bytes of its joined text; 0 where it has no shingles */
    uint64_t n_shingles;  /* in order, with repeats; 0 where it is left to the host */
    uint32_t n_starts;    /* words: its entries in `starts`; the last is one behind its end */
    bool ascii, by_host;
} bm_text_doc;

typedef struct bm_text_batch {
    bm_text_options options; /* set by whoever fills it */
    size_t n_docs, cap_docs, cap_slots;
    bm_text_doc *docs;
    uint64_t *slots; /* n_docs + 1; NULL while nothing was added */
    bm_buf bytes, host_bytes;
    uint32_t *starts; /* in bytes from the document's begin */
    size_t n_starts, cap_starts;
    uint64_t n_empty; /* documents without units */
    uint64_t n_short; /* of 1 <= n < K units, but for those left to the host */
    size_t n_by_host;
} bm_text_batch; /* {0} is empty */

/* Can a device cut such shingles at all? Not where any K units have more than BM_TEXT_SHINGLE_MAX
 * bytes, nor stop word shingles, nor where occurrences are counted. */
bool bm_text_batch_able(const bm_text_options *options);
void bm_text_batch_clear(bm_text_batch *batch); /* empty, in the same memory */
void bm_text_batch_reset(bm_text_batch *batch); /* frees */

/* Where the bytes, and the starts, of the documents before document `end` end. */
static inline uint64_t bm_text_batch_bytes_end(const bm_text_batch *batch, size_t end)
{
    return end < batch->n_docs ? batch->docs[end].begin : batch->bytes.len;
}
static inline uint64_t bm_text_batch_starts_end(const bm_text_batch *batch, size_t end)
{
    return end < batch->n_docs ? batch->docs[end].first_start : batch->n_starts;
}
/* The joined text of a document. */
static inline bm_str bm_text_batch_text(const bm_text_batch *batch, size_t doc)
{
    const bm_text_doc *d = &batch->docs[doc];
    if (d->len == 0)
        return (bm_str){"", 0};
    const char *data =
        d->by_host ? batch->host_bytes.data + d->host_begin : batch->bytes.data + d->begin;
    return (bm_str){data, (size_t)d->len};
}

#endif
