/* SPDX-License-Identifier: Apache-2.0 */
/* documents.c -- checks the documents of a call, and divides them into ranges.
 *
 * The work of a range is a third of the remaining work, divided by the number of threads, but
 * within limits. With limits of 256 KiB and 16 KiB, the last ranges have 16 KiB, about 25
 * microseconds of work. At the end, a thread waits no longer than that for the other threads,
 * unless a document is longer.
 *
 * Tests: tests/unit/inmem/test_doc_signer.c, tests/unit/inmem/test_documents.c,
 *        tests/unit/inmem/test_hash_sets.c, tests/unit/inmem/test_signer.c */
#include "inmem/documents.h"

#include <float.h>

#include "base/error.h"
#include "base/portable_log.h"
#include "base/sized_struct.h"
#include "base/system.h"
#include "base/utf8.h"
#include "cpu/cpu_backend.h"
#include "lsh/verify.h"
#include "model/low_halves.h"
#include "model/scheme_facts.h"
#include "sketch/scheme.h"

#define LONG_RANGES  2u /* a document is long if it is more work than 2 full ranges */
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
    for (size_t doc = 0; doc < docs->n_docs; doc++) {
        double sum = 0;
        for (uint64_t i = docs->offsets[doc]; i < docs->offsets[doc + 1]; i++) {
            if (!bm_is_positive_finite(docs->weights[i]))
                return bm_fail(err, BM_ERR_INPUT,
                               "weight %llu of row %zu is %g (finite and more than 0 was expected)",
                               (unsigned long long)(i - docs->offsets[doc]), doc, docs->weights[i]);
            sum += docs->weights[i];
        }
        if (sum > DBL_MAX / 2) /* comparing two documents adds their sums */
            return bm_fail(err, BM_ERR_INPUT,
                           "the weights of row %zu add up to %g (at most %g was expected: divide "
                           "all weights by the same number)",
                           doc, sum, DBL_MAX / 2);
    }
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

bm_status bm_documents_accept(const bm_documents *documents, bm_documents *out, uint64_t *work,
                              bm_error *err)
{
    *out = (bm_documents){0};
    *work = 0;
    BM_TRY(bm_sized_read(documents, BM_SIZED_TYPE(bm_documents, hashes32), out, err));
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
    static const uint64_t none; /* used if no document has a hash */
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

bool bm_documents_sign_low_halves(const bm_documents *docs, bm_scheme scheme)
{
    return docs->n_docs > 0 && docs->hashes != NULL && !bm_scheme_whole_hashes(scheme);
}

bm_status bm_documents_check_low_halves(const bm_documents *docs, bm_scheme scheme, bm_error *err)
{
    if (!bm_documents_sign_low_halves(docs, scheme))
        return BM_OK;
    bm_low_halves *seen;
    bm_status status = BM_OK;
    BM_TRY(bm_new(&seen, 1, err));
    bm_low_halves_begin(seen, "`hashes`", scheme);
    BM_TRY_OUT(bm_low_halves_add(seen, docs->offsets, docs->hashes, docs->n_docs, err));
    status = bm_low_halves_check(seen, err);
out:
    bm_free(seen);
    return status;
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

/* Take the next long document, in order. */
static bool next_long_range(bm_doc_ranges *ranges, size_t *begin, size_t *end)
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

/* Take the next range of documents that are not long, at most up to the next long document. False:
 * there are none. */
static bool next_short_range(bm_doc_ranges *ranges, size_t *begin, size_t *end)
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

/* Take the next range. False: all documents are handed out. */
static bool doc_ranges_pop(bm_doc_ranges *ranges, size_t *begin, size_t *end)
{
    pthread_mutex_lock(&ranges->lock);
    bool taken = (ranges->any_long && next_long_range(ranges, begin, end)) ||
                 next_short_range(ranges, begin, end);
    pthread_mutex_unlock(&ranges->lock);
    return taken;
}

void bm_doc_ranges_done(bm_doc_ranges *ranges, const size_t range[2], bm_status status)
{
    atomic_fetch_add(&ranges->n_done, range[1] - range[0]);
    if (status != BM_OK)
        atomic_store(&ranges->stopped, true);
}

bool bm_doc_ranges_next(bm_doc_ranges *ranges, uint32_t thread, size_t range[2], bm_status *status,
                        bm_error *err)
{
    bm_doc_ranges_done(ranges, range, *status);
    if (thread == 0 && ranges->meter != NULL && !atomic_load(&ranges->stopped)) {
        const size_t n_done = atomic_load(&ranges->n_done);
        bm_meter_progress(ranges->meter, n_done, ranges->docs->n_docs, n_done);
        *status = bm_meter_check(ranges->meter, err);
        if (*status != BM_OK)
            atomic_store(&ranges->stopped, true);
    }
    return !atomic_load(&ranges->stopped) && doc_ranges_pop(ranges, &range[0], &range[1]);
}

void bm_doc_ranges_end(bm_doc_ranges *ranges)
{
    pthread_mutex_destroy(&ranges->lock);
}

/* doc_hasher -- copies a text only if it is not valid UTF-8. */

#define KEEP ((size_t)4 << 20) /* most bytes of `repaired` that stay allocated between documents */

bm_status bm_doc_hasher_init(bm_doc_hasher *hasher, const bm_text_options *options, const char *cpu,
                             bm_error *err)
{
    *hasher = (bm_doc_hasher){.sets = {.bag = options->bag}};
    BM_TRY(bm_isa_choose(cpu, &hasher->sets.isa, err));
    return bm_shingler_open(options, cpu, &hasher->shingler, err);
}

void bm_doc_hasher_reset(bm_doc_hasher *hasher)
{
    bm_shingler_close(hasher->shingler);
    bm_buf_reset(&hasher->repaired);
    bm_set_shingler_reset(&hasher->sets);
    bm_free(hasher->wide);
    *hasher = (bm_doc_hasher){0};
}

static bm_status add_text(bm_doc_hasher *hasher, bm_str text, bm_shingle_batch *batch,
                          bm_error *err)
{
    bm_buf *repaired = &hasher->repaired;
    uint64_t n_replaced = 0;
    /* with length 0, data may be NULL */
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

bm_status bm_doc_hasher_add(bm_doc_hasher *hasher, const bm_documents *docs, size_t doc,
                            bm_shingle_batch *batch, bm_error *err)
{
    if (docs->texts != NULL)
        return add_text(hasher, docs->texts[doc], batch, err);
    const size_t begin = (size_t)docs->offsets[doc], n = (size_t)docs->offsets[doc + 1] - begin;
    if (docs->hashes != NULL)
        return bm_shingle_set_add(&hasher->sets, docs->hashes + begin, n, batch, err);
    BM_TRY(bm_grow_array(&hasher->wide, &hasher->cap_wide, n, err));
    for (size_t i = 0; i < n; i++)
        hasher->wide[i] = docs->hashes32[begin + i];
    return bm_shingle_set_add(&hasher->sets, hasher->wide, n, batch, err);
}

/* doc_signer -- use: add documents, sign them, read the results, clear, and begin again.
 *
 * Hashes are signed before they are sorted. The signature does not depend on their order. */

#define KEEP_HASHES ((size_t)1 << 20) /* most hashes that stay allocated after clear */

bm_status bm_doc_backend_open(const bm_doc_recipe *recipe, bm_backend **out, bm_error *err)
{
    const uint32_t keyed = recipe->bands * recipe->rows;
    const bm_backend_cfg cfg = {.sketch = *recipe->sketch,
                                .perms_used =
                                    recipe->words ? 0 : bm_scheme_words(recipe->sketch, keyed),
                                .bands = recipe->bands,
                                .rows = recipe->rows,
                                .device = "cpu",
                                .cpu = recipe->cpu,
                                .cache_dir = ""};
    return bm_backend_cpu.open(&cfg, out, err);
}

bm_status bm_doc_signer_init(bm_doc_signer *signer, const bm_doc_recipe *recipe,
                             bm_backend *backend, bm_error *err)
{
    *signer = (bm_doc_signer){
        .backend = backend,
        .bands = recipe->bands,
        .row_uints = bm_scheme_row_uints(recipe->sketch->scheme, recipe->sketch->perms),
        .wants_words = recipe->words};
    return bm_doc_hasher_init(&signer->hasher, recipe->text, recipe->cpu, err);
}

void bm_doc_signer_reset(bm_doc_signer *signer)
{
    bm_doc_hasher_reset(&signer->hasher);
    bm_shingle_batch_reset(&signer->batch);
    bm_free_all(signer->scratch, signer->sets, signer->n_shingles, signer->keys, signer->words);
    *signer = (bm_doc_signer){0};
}

void bm_doc_signer_clear(bm_doc_signer *signer)
{
    if (signer->batch.cap_hashes > KEEP_HASHES)
        bm_shingle_batch_reset(&signer->batch);
    else
        bm_shingle_batch_clear(&signer->batch);
}

static bm_status reserve(bm_doc_signer *s, bm_error *err)
{
    const size_t n = s->batch.n_docs;
    BM_TRY(bm_grow_array(&s->sets, &s->cap_sets, n, err));
    BM_TRY(bm_grow_array(&s->n_shingles, &s->cap_n_shingles, n, err));
    BM_TRY(bm_grow_array(&s->keys, &s->cap_keys, n * s->bands, err));
    if (s->wants_words)
        BM_TRY(bm_grow_array(&s->words, &s->cap_words, n * s->row_uints, err));
    return BM_OK;
}

static bm_status sort_sets(bm_doc_signer *s, bm_error *err)
{
    for (size_t i = 0; i < s->batch.n_docs; i++) {
        const size_t n = (size_t)(s->batch.offsets[i + 1] - s->batch.offsets[i]);
        /* If the batch has no hashes, the array may be NULL, and no offset may be added to it. */
        uint64_t *set = n > 0 ? s->batch.hashes + s->batch.offsets[i] : s->batch.hashes;
        BM_TRY(bm_grow_array(&s->scratch, &s->cap_scratch, n, err));
        bm_hashes_sort(set, n, s->scratch);
        s->sets[i] = set;
        s->n_shingles[i] = (uint32_t)n;
    }
    if (s->cap_scratch > KEEP_HASHES) {
        bm_free(s->scratch);
        s->scratch = NULL;
        s->cap_scratch = 0;
    }
    return BM_OK;
}

bm_status bm_doc_signer_sign(bm_doc_signer *signer, bm_error *err)
{
    BM_TRY(reserve(signer, err));
    if (signer->batch.n_docs == 0)
        return BM_OK;
    bm_sign_task task = {.offsets = signer->batch.offsets,
                         .hashes = signer->batch.hashes,
                         .n_docs = signer->batch.n_docs,
                         .words = signer->words,
                         .keys = signer->keys};
    BM_TRY(signer->backend->ops->submit(signer->backend, &task, err));
    BM_TRY(signer->backend->ops->wait(signer->backend, &task, err));
    return sort_sets(signer, err);
}
