/* documents.c -- checks of what a caller hands in, and guided ranges of it.
 *
 * A range is a share of what is left: a third of it divided by the threads, within bounds. With two
 * threads and ranges of 256 KiB the last ones are 16 KiB, some 25 microseconds of work, and that is
 * the most that one thread waits for the other, but for a document that is longer.
 *
 * Tests: tests/unit/inmem/test_documents.c */
#include "inmem/documents.h"

#include "base/error.h"
#include "base/portable_log.h"
#include "base/sized_struct.h"

#define LONG_RANGES  2u /* a document of so many ranges is handed out alone, and first */
#define SHARES_LEFT  3u
#define DOCS_A_RANGE 65536u

static bm_status check_offsets(const uint64_t *offsets, size_t n_docs, bm_error *err)
{
    if (offsets[0] != 0)
        return bm_fail(err, BM_ERR_INPUT, "offset of row 0 is %llu (0 was expected)",
                       (unsigned long long)offsets[0]);
    for (size_t i = 0; i < n_docs; i++) {
        unsigned long long begin = offsets[i], end = offsets[i + 1];
        if (end < begin)
            return bm_fail(err, BM_ERR_INPUT,
                           "row %zu ends at offset %llu before it begins at %llu (offsets must not "
                           "fall)",
                           i, end, begin);
        if (end - begin > UINT32_MAX)
            return bm_fail(err, BM_ERR_INPUT, "row %zu has %llu hashes (at most %u)", i,
                           end - begin, UINT32_MAX);
    }
    if (offsets[n_docs] > SIZE_MAX / 64)
        return bm_fail(err, BM_ERR_INPUT, "%llu hashes are more than memory has",
                       (unsigned long long)offsets[n_docs]);
    return BM_OK;
}

static bm_status check_weights(const bm_documents *docs, bm_error *err)
{
    if (docs->hashes == NULL)
        return bm_fail_field(err, "weights", "`weights` without `hashes`");
    for (size_t doc = 0; doc < docs->n_docs; doc++)
        for (uint64_t i = docs->offsets[doc]; i < docs->offsets[doc + 1]; i++)
            if (!bm_is_positive_finite(docs->weights[i]))
                return bm_fail(err, BM_ERR_INPUT,
                               "weight %llu of row %zu is %g (finite and more than 0 was expected)",
                               (unsigned long long)(i - docs->offsets[doc]), doc, docs->weights[i]);
    return BM_OK;
}

static bm_status check_texts(const bm_documents *docs, uint64_t *work, bm_error *err)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < docs->n_docs; i++) {
        if (docs->texts[i].data == NULL && docs->texts[i].len != 0)
            return bm_fail_field(err, "texts", "text %zu of `texts` is NULL and has %zu bytes", i,
                                 docs->texts[i].len);
        if (docs->texts[i].len > (UINT64_MAX >> 1) - bytes)
            return bm_fail_field(err, "texts",
                                 "text %zu of `texts` has %zu bytes (more than "
                                 "memory has)",
                                 i, docs->texts[i].len);
        bytes += docs->texts[i].len;
    }
    *work = bytes + docs->n_docs * (uint64_t)BM_DOC_WORK;
    return BM_OK;
}

bm_status bm_documents_take(const bm_documents *documents, bm_documents *out, uint64_t *work,
                            bm_error *err)
{
    *out = (bm_documents){0};
    *work = 0;
    BM_TRY(bm_sized_take(documents, BM_SIZED_TYPE(bm_documents, hashes32), out, err));
    if (out->n_docs == 0)
        return BM_OK;
    if ((out->texts != NULL) + (out->hashes != NULL) + (out->hashes32 != NULL) > 1)
        return bm_fail_field(err, "texts", "more than one of `texts`, `hashes` and `hashes32`");
    if (out->n_docs > BM_DOCS_MAX)
        return bm_fail_field(err, "n_docs", "%zu documents are too many (at most %u)", out->n_docs,
                             BM_DOCS_MAX);
    if (out->texts != NULL)
        return out->weights != NULL ? check_weights(out, err) : check_texts(out, work, err);
    if (out->offsets == NULL)
        return bm_fail_field(err, "offsets", "neither `texts` nor `offsets` of %zu documents",
                             out->n_docs);
    BM_TRY(check_offsets(out->offsets, out->n_docs, err));
    if (out->offsets[out->n_docs] != 0 && out->hashes == NULL && out->hashes32 == NULL)
        return bm_fail_field(err, "hashes", "`hashes` is NULL and has %llu entries",
                             (unsigned long long)out->offsets[out->n_docs]);
    static const uint64_t none; /* where no document has a hash */
    if (out->hashes == NULL && out->hashes32 == NULL)
        out->hashes = &none;
    *work = out->offsets[out->n_docs] * bm_hash_work(out) + out->n_docs * (uint64_t)BM_DOC_WORK;
    return out->weights != NULL ? check_weights(out, err) : BM_OK;
}

bm_status bm_documents_no_weights(const bm_documents *docs, bm_error *err)
{
    return docs->weights == NULL ? BM_OK
                                 : bm_fail_field(err, "weights", "`weights` are signed only");
}

/* --- ranges --- */

static bool is_long(const bm_doc_ranges *ranges, uint64_t work)
{
    return work > ranges->most * LONG_RANGES;
}

void bm_doc_ranges_begin(bm_doc_ranges *ranges, const bm_documents *docs, uint64_t work,
                         const bm_range_size *size)
{
    *ranges = (bm_doc_ranges){.docs = docs,
                              .left = work,
                              .most = size->most == 0 ? 1 : size->most,
                              .least = size->least < size->most ? size->least : size->most,
                              .takers = size->takers == 0 ? 1 : size->takers};
    if (size->takers > 1 && work > ranges->most * LONG_RANGES)
        for (size_t i = 0; i < docs->n_docs && !ranges->any_long; i++)
            ranges->any_long = is_long(ranges, bm_document_work(docs, i));
    pthread_mutex_init(&ranges->lock, NULL);
}

/* The next long document, in order. */
static bool take_long(bm_doc_ranges *ranges, size_t *begin, size_t *end)
{
    for (; ranges->next_long < ranges->docs->n_docs; ranges->next_long++) {
        const uint64_t work = bm_document_work(ranges->docs, ranges->next_long);
        if (!is_long(ranges, work))
            continue;
        ranges->left -= work;
        *begin = ranges->next_long++;
        *end = *begin + 1;
        return true;
    }
    return false;
}

/* The next of the others; a long document ends a range. */
static bool take_others(bm_doc_ranges *ranges, size_t *begin, size_t *end)
{
    const bm_documents *docs = ranges->docs;
    uint64_t share = ranges->left / ranges->takers / SHARES_LEFT, sum = 0;
    share = share > ranges->most ? ranges->most : share < ranges->least ? ranges->least : share;
    size_t doc = ranges->next;
    while (ranges->any_long && doc < docs->n_docs && is_long(ranges, bm_document_work(docs, doc)))
        doc++;
    *begin = doc;
    while (doc < docs->n_docs && doc - *begin < DOCS_A_RANGE && sum < share) {
        const uint64_t more = bm_document_work(docs, doc);
        if (ranges->any_long && is_long(ranges, more))
            break;
        sum += more;
        doc++;
    }
    ranges->next = *end = doc;
    ranges->left -= sum;
    return *end > *begin;
}

bool bm_doc_ranges_take(bm_doc_ranges *ranges, size_t *begin, size_t *end)
{
    pthread_mutex_lock(&ranges->lock);
    bool taken =
        (ranges->any_long && take_long(ranges, begin, end)) || take_others(ranges, begin, end);
    pthread_mutex_unlock(&ranges->lock);
    return taken;
}

void bm_doc_ranges_end(bm_doc_ranges *ranges)
{
    pthread_mutex_destroy(&ranges->lock);
}
