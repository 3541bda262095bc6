/* SPDX-License-Identifier: Apache-2.0 */
/* shingler.c -- makes distinct hashes from the text of a document: first joined text, then the
 * hashes of its shingles, then the distinct hashes.
 *
 * Joined text (shingle_ops.h) is the only copy that is made of a text. It is processed in windows
 * of 4 KiB. So word starts and hashes stay in the first-level cache, and only the memory for joined
 * text grows with the document. Most documents have one window.
 *
 * Limits: 2^32-2 distinct shingles in a document. Scratch buffers of more than SCRATCH_MAX bytes
 * are freed after the document. */
#include "text/shingler.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/option_words.h"
#include "text/distinct.h"
#include "text/join_exact.h"
#include "text/normalize.h"
#include "text/shingle_ops.h"
#include "text/stop_table.h"
#include "text/stop_words_en.h"
#include "text/token_hash.h"
#include "text/unreadable.h"

#define WINDOW      ((size_t)BM_SHINGLE_RUN_MAX - 1) /* bytes of joined text in a window */
#define SCRATCH_MAX ((size_t)1 << 20)                /* larger buffers are freed after a document */

struct bm_shingler {
    bm_text_options options;
    bm_join_rules rules;
    const bm_shingle_ops *ops;
    bm_token_hasher hash;
    bm_joined joined;
    bm_codes codes[2];
    bm_distinct distinct;
    bm_content_parts *content; /* used for documents with several windows */
    bm_hash64_fn *hash64;      /* hashes the whole joined text */
    bm_stream_hash *sequence;  /* hashes the sequence of hashes, for stop word shingles; otherwise
                                * NULL */
    size_t units;              /* units of a shingle */
    size_t *starts;            /* where the units of a window start: space for units + WINDOW +
                                * 17 */
    uint64_t *run;             /* the hashes of a window, with repeats: space for WINDOW + 1 */
    bm_stop_table stop;        /* the stop words, for stop word shingles; otherwise empty */
    /* for stop word shingles: where those of a window start, then where they end; space for 2 *
     * (WINDOW + 1). Otherwise NULL */
    size_t *picked;
    uint32_t *counts; /* for bags: how often each distinct hash occurs */
    size_t cap_counts;
    uint64_t limit;  /* limit for the bytes of a document; 0: no limit */
    uint64_t needed; /* bytes that the last document over the limit needs */
};

/* The document that is being added. */
typedef struct document {
    bm_shingle_batch *batch;
    size_t n_distinct, n_run; /* number of distinct hashes so far; number of all hashes so far */
    bm_content_sums content;  /* sums for the content hash, if the document has one window */
    /* the document has several windows, whose hashes are added to shingler->content */
    bool streamed;
    bm_shingle_run_fn *scan; /* receives the hashes, which are then not added to the batch; NULL:
                              * they are added */
    void *scan_ctx;
    bm_shingle_run scanned; /* passed to `scan`: the hashes of the current window */
} document;

/* --- open and close --- */

static bm_status check(const bm_text_options *options, bm_error *err)
{
    const uint32_t unknown = options->normalize & ~(uint32_t)BM_NORM_ALL;
    if (options->shingle_k < 1 || options->shingle_k > 1024)
        return bm_fail_field(err, "shingle_k", "shingles of %u units (1 to 1024)",
                             options->shingle_k);
    if (unknown != 0)
        return bm_fail_field(err, "normalize", "unknown normaliser bits 0x%x", unknown);
    if ((options->normalize & BM_NORM_NFC) && (options->normalize & BM_NORM_NFKC))
        return bm_fail_field(err, "normalize",
                             "normalisers nfc and nfkc together (one of the two)");
    if ((unsigned)options->words > BM_WORDS_TEXT_DEDUP ||
        (unsigned)options->shingle > BM_SHINGLE_STOPWORD ||
        (unsigned)options->short_rule > BM_SHORT_SKIP || (unsigned)options->hash > BM_TOKEN_MURMUR3)
        return bm_fail_field(err, "text", "unknown word rule, shingle, short rule or hash");
    return BM_OK;
}

static bm_status open_stop_words(bm_shingler *shingler, bm_error *err)
{
    const size_t n = 2 * (WINDOW + 1);
    BM_TRY(bm_new(&shingler->picked, n, err));
    BM_TRY(bm_stream_hash_open(shingler->ops->isa, &shingler->sequence, err));
    return bm_stop_table_init(bm_stop_words_of(&shingler->options), &shingler->stop, err);
}

bm_status bm_shingler_open(const bm_text_options *options, const char *cpu, bm_shingler **out,
                           bm_error *err)
{
    bm_isa isa;
    BM_TRY(check(options, err));
    BM_TRY(bm_isa_choose(cpu, &isa, err));
    bm_shingler *shingler = NULL;
    BM_TRY(bm_new_zero(&shingler, 1, err));
    shingler->options = *options;
    shingler->rules = bm_join_rules_of(options);
    shingler->ops = bm_shingle_ops_of(isa);
    shingler->hash64 = bm_hash64_of(isa);
    shingler->units = bm_shingle_units(options);
    const size_t n_starts = shingler->units + WINDOW + 17;
    shingler->starts = bm_alloc_aligned(n_starts, sizeof *shingler->starts);
    shingler->run = bm_alloc_aligned(WINDOW + 1, sizeof *shingler->run);
    shingler->content = bm_alloc_aligned(1, sizeof *shingler->content);
    if (shingler->starts == NULL || shingler->run == NULL || shingler->content == NULL) {
        bm_shingler_close(shingler);
        return bm_fail_nomem(err, n_starts * sizeof *shingler->starts);
    }
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_token_hasher_open(options, shingler->ops, &shingler->hash, err));
    if (options->shingle == BM_SHINGLE_STOPWORD)
        BM_TRY_OUT(open_stop_words(shingler, err));
out:
    if (status == BM_OK)
        *out = shingler;
    else
        bm_shingler_close(shingler);
    return status;
}

void bm_shingler_close(bm_shingler *shingler)
{
    if (shingler == NULL)
        return;
    bm_joined_reset(&shingler->joined);
    bm_codes_reset(&shingler->codes[0]);
    bm_codes_reset(&shingler->codes[1]);
    bm_distinct_reset(&shingler->distinct);
    bm_free_all(shingler->content, shingler->starts, shingler->run);
    bm_stream_hash_close(shingler->sequence);
    bm_stop_table_reset(&shingler->stop);
    bm_free_all(shingler->picked, shingler->counts, shingler);
}

static void trim_scratch(bm_shingler *shingler)
{
    if (shingler->joined.cap > SCRATCH_MAX)
        bm_joined_reset(&shingler->joined);
    if (shingler->distinct.cap_far * sizeof *shingler->distinct.far > SCRATCH_MAX)
        bm_distinct_reset(&shingler->distinct);
    if (shingler->cap_counts * sizeof *shingler->counts > SCRATCH_MAX) {
        bm_free(shingler->counts);
        shingler->counts = NULL;
        shingler->cap_counts = 0;
    }
    for (int i = 0; i < 2; i++)
        if (shingler->codes[i].cap * sizeof *shingler->codes[i].data > SCRATCH_MAX)
            bm_codes_reset(&shingler->codes[i]);
}

/* --- a limit --- */

void bm_shingler_limit(bm_shingler *shingler, uint64_t bytes)
{
    shingler->limit = bytes;
    shingler->needed = 0;
}

uint64_t bm_shingler_needed(const bm_shingler *shingler)
{
    return shingler->needed;
}

static uint64_t bytes_of(uint64_t joined, uint64_t n_hashes, bool bag)
{
    const uint64_t each = sizeof(uint64_t) + (bag ? sizeof(uint32_t) : 0);
    return joined + n_hashes * each + bm_distinct_bytes(n_hashes);
}

uint64_t bm_shingler_bytes(const bm_text_options *options, uint64_t joined, uint64_t n_hashes)
{
    return bytes_of(joined, n_hashes, options->bag);
}

static bm_status over_limit(bm_shingler *shingler, uint64_t needed, bm_error *err)
{
    shingler->needed = needed;
    return bm_fail(err, BM_ERR_NOMEM, "a document needs %llu bytes, and has %llu",
                   (unsigned long long)needed, (unsigned long long)shingler->limit);
}

/* An upper bound for the number of units in the joined text. */
static uint64_t count_units(const bm_shingler *shingler)
{
    const bm_joined *joined = &shingler->joined;
    if (!bm_shingle_is_of_words(shingler->options.shingle))
        return joined->len;
    uint64_t n = 1;
    for (size_t i = 0; i < joined->len; i++)
        n += joined->data[i] == ' ';
    return n;
}

/* Check that the document does not exceed the limit with `n` hashes. If it does, the error reports
 * the bytes that the whole document needs, assuming that all its remaining shingles are new (or, in
 * a bag, further occurrences). */
static bm_status check_hashes(bm_shingler *shingler, const document *doc, uint64_t n, bm_error *err)
{
    const bool bag = shingler->options.bag;
    const uint64_t joined = shingler->joined.len;
    if (shingler->limit == 0 || bytes_of(joined, n, bag) <= shingler->limit)
        return BM_OK;
    const uint64_t left = count_units(shingler) - doc->n_run;
    const uint64_t most = (bag ? doc->n_run : doc->n_distinct) + left + WINDOW;
    return over_limit(shingler, bytes_of(joined, most, bag), err);
}

/* Check that the joined text does not exceed the limit. `left` of `len` bytes of text are not
 * joined yet. */
static bm_status check_joined(bm_shingler *shingler, size_t left, size_t len, bm_error *err)
{
    const double joined = (double)shingler->joined.len, done = (double)(len - left);
    const uint64_t needed = shingler->joined.len + left;
    if (shingler->limit == 0 || needed <= shingler->limit)
        return BM_OK;
    const uint64_t likely = done > 0 ? (uint64_t)(joined / done * 1.25 * (double)len) : 0;
    return over_limit(shingler, likely > needed ? likely : needed, err);
}

/* --- text to joined text --- */

static bm_status join_text(bm_shingler *shingler, bm_str text, bm_error *err)
{
    const bm_join_rules *rules = &shingler->rules;
    bm_joined *joined = &shingler->joined;
    bm_str rest = text;
    bm_joined_begin(joined);
    while (rest.len > 0) {
        BM_TRY(check_joined(shingler, rest.len, text.len, err));
        BM_TRY(bm_joined_reserve(joined, rest.len + 1, err));
        size_t n = shingler->ops->join(rules, rest.data, rest.len, joined);
        if (n > 0)
            bm_joined_go_behind(joined, rest.data[n - 1]);
        rest.data += n;
        rest.len -= n;
        if (rest.len == 0)
            break;
        bm_str stretch = rest;
        BM_TRY(bm_join_exact(rules, &rest, shingler->codes, joined, err));
        stretch.len -= rest.len;
        joined->odd = joined->odd || bm_text_is_odd(stretch);
    }
    bm_joined_end(joined, rules->rule);
    joined->unreadable = joined->odd && bm_text_is_unreadable(text);
    if (joined->unreadable)
        joined->len = 0;
    return BM_OK;
}

/* --- joined text to hashes --- */

/* Add the first n hashes of shingler->run to the document, or pass them to doc->scan if it is set.
 * `whole`: the document has no other hashes. */
static bm_status add_run(bm_shingler *shingler, document *doc, size_t n, bool whole, bm_error *err)
{
    if (n == 0) /* the batch may have no array of hashes yet */
        return BM_OK;
    if (doc->scan != NULL) {
        doc->scanned.hashes = shingler->run;
        doc->scanned.n = n;
        doc->scanned.first = doc->n_run;
        doc->n_run += n;
        return doc->scan(doc->scan_ctx, &doc->scanned, err);
    }
    if (shingler->sequence != NULL)
        bm_stream_hash_add(shingler->sequence, shingler->run, n * sizeof *shingler->run);
    if (whole && !doc->streamed) {
        shingler->ops->add_content(shingler->run, n, 0, &doc->content);
    } else {
        if (!doc->streamed)
            bm_content_parts_begin(shingler->content);
        bm_content_parts_add(shingler->content, shingler->ops->add_content, shingler->run, n);
        doc->streamed = true;
    }
    BM_TRY(check_hashes(shingler, doc, doc->n_distinct + n, err));
    doc->n_run += n;
    BM_TRY(bm_shingle_batch_reserve(doc->batch, 0, doc->n_distinct + n, err));
    if (shingler->options.bag)
        BM_TRY(bm_grow_array(&shingler->counts, &shingler->cap_counts, doc->n_distinct + n, err));
    const size_t first = bm_shingle_batch_hashes(doc->batch);
    bm_distinct_list list = {doc->batch->hashes + first, doc->n_distinct,
                             shingler->options.bag ? shingler->counts
                             : doc->batch->counted ? doc->batch->counts + first
                                                   : NULL};
    const bm_status status = bm_distinct_add(&shingler->distinct, shingler->run, n, &list, err);
    doc->n_distinct = list.n;
    return status;
}

/* Make a bag: add each further occurrence of a shingle as an element of its own. */
static bm_status add_repeats(bm_shingler *shingler, document *doc, bm_error *err)
{
    bm_shingle_batch *batch = doc->batch;
    const uint64_t all = doc->n_distinct + bm_repeats_count(shingler->counts, doc->n_distinct);
    BM_TRY(check_hashes(shingler, doc, all, err));
    BM_TRY(bm_shingle_batch_reserve(batch, 0, all, err));
    const size_t first = bm_shingle_batch_hashes(batch);
    bm_distinct_list list = {batch->hashes + first, doc->n_distinct,
                             batch->counted ? batch->counts + first : NULL};
    bm_status status = bm_repeats_add(&shingler->distinct, shingler->counts, &list, err);
    doc->n_distinct = list.n;
    return status;
}

/* Hash a document in which each byte is a unit, because it has byte shingles, or char shingles of
 * ASCII. */
static bm_status hash_bytes(bm_shingler *shingler, document *doc, size_t *n_units, bm_error *err)
{
    const size_t k = shingler->units, len = shingler->joined.len;
    *n_units = len;
    if (len < k)
        return BM_OK;
    const size_t n = len - k + 1;
    for (size_t at = 0; at < n; at += WINDOW) {
        size_t m = n - at < WINDOW ? n - at : WINDOW;
        const bm_slices windows = {
            .joined = shingler->joined.data + at, .k = k, .hashes = shingler->run};
        bm_token_hash_windows(&shingler->hash, &windows, m);
        doc->scanned.first_byte = at;
        BM_TRY(add_run(shingler, doc, m, n <= WINDOW, err));
    }
    return BM_OK;
}

/* Find the stop words among the first m units of shingler->starts. At each of them begins a slice
 * of k units. shingler->picked becomes the starts of all slices, followed by their ends. Returns
 * the number of slices. The code does not branch on whether a word is a stop word, because that is
 * unpredictable. */
static size_t pick_stop_words(bm_shingler *shingler, size_t m)
{
    const bm_stop_table stop = shingler->stop; /* a copy, because stores may alias shingler->stop */
    const char *data = shingler->joined.data;
    const size_t *starts = shingler->starts, k = shingler->units;
    size_t *picked = shingler->picked, n = 0;
    for (size_t i = 0; i < m; i++) {
        picked[n] = i;
        n += bm_stop_table_has(&stop, data + starts[i], starts[i + 1] - 1 - starts[i]);
    }
    for (size_t i = 0; i < n; i++) {
        picked[n + i] = starts[picked[i] + k];
        picked[i] = starts[picked[i]];
    }
    return n;
}

/* Hash the shingles that start at the first m units of shingler->starts. If shingler->picked is
 * set, only those that start with a stop word are hashed. Returns the number of hashes. */
static size_t hash_starts(bm_shingler *shingler, size_t m, size_t gap)
{
    bm_slices slices = {shingler->joined.data, shingler->starts, shingler->units, gap,
                        shingler->run};
    if (shingler->picked != NULL) {
        m = pick_stop_words(shingler, m);
        slices.starts = shingler->picked;
        slices.k = m;
    }
    bm_token_hash_slices(&shingler->hash, &slices, m);
    return m;
}

/* Hash a document in units that are found by where they start: words (gap 1) or code points (gap
 * 0). The shingle that starts at unit i ends `gap` bytes before unit i + k starts. A further start
 * follows the last unit. The last k starts of a window are moved to the next window. */
static bm_status hash_units(bm_shingler *shingler, document *doc, size_t *n_units, bm_error *err)
{
    const bool words = bm_shingle_is_of_words(shingler->options.shingle);
    const size_t k = shingler->units, len = shingler->joined.len;
    const size_t gap = words ? 1 : 0;
    const char *data = shingler->joined.data;
    size_t *starts = shingler->starts;
    size_t n = 0;
    doc->scanned.starts = starts;
    *n_units = 0;
    if (len == 0)
        return BM_OK;
    if (words)
        starts[n++] = 0;
    for (size_t at = 0; at < len; at += WINDOW) {
        const size_t end = len - at < WINDOW ? len : at + WINDOW;
        n += words ? shingler->ops->word_starts(data, at, end, starts + n)
                   : shingler->ops->char_starts(data, at, end, starts + n);
        if (end == len)
            starts[n++] = len + gap;
        if (n <= k)
            continue;
        const size_t m = n - k;
        const size_t n_hashes = hash_starts(shingler, m, gap);
        BM_TRY(add_run(shingler, doc, n_hashes, at == 0 && end == len, err));
        memmove(starts, starts + m, k * sizeof *starts);
        *n_units += m;
        n = k;
    }
    *n_units += n - 1; /* the last start is not that of a unit */
    return BM_OK;
}

static bm_status hash_joined(bm_shingler *shingler, document *doc, size_t *n_units, bm_error *err)
{
    const bm_shingle_kind kind = shingler->options.shingle;
    if (kind == BM_SHINGLE_BYTE || (kind == BM_SHINGLE_CHAR && shingler->joined.ascii))
        return hash_bytes(shingler, doc, n_units, err);
    return hash_units(shingler, doc, n_units, err);
}

/* --- a document --- */

uint64_t bm_shingler_second_hash(const bm_shingler *shingler)
{
    return shingler->sequence != NULL
               ? bm_stream_hash_end64(shingler->sequence)
               : shingler->hash64(shingler->joined.data, shingler->joined.len);
}

static bm_hash128 content_of(const bm_shingler *shingler, const document *doc, bool is_short)
{
    bm_content_add_fn *add = shingler->ops->add_content;
    if (doc->n_run == 0)
        return is_short ? BM_CONTENT_SHORT : (bm_hash128){0};
    const bm_hash128 sequence = doc->streamed ? bm_content_parts_end(shingler->content, add)
                                              : bm_content_end(&doc->content, doc->n_run);
    return bm_content_with_second(sequence, bm_shingler_second_hash(shingler));
}

/* Append the joined text to the batch as a document. */
static bm_status add_document(bm_shingler *shingler, bm_shingle_batch *batch, bm_error *err)
{
    document doc = {.batch = batch};
    size_t n_units = 0;
    BM_TRY(bm_shingle_batch_reserve(batch, 1, 0, err));
    bm_distinct_begin(&shingler->distinct);
    if (shingler->sequence != NULL)
        bm_stream_hash_begin(shingler->sequence);
    BM_TRY(hash_joined(shingler, &doc, &n_units, err));
    const bool is_short = n_units > 0 && n_units < shingler->units;
    if (is_short && bm_text_keeps_short(&shingler->options)) {
        shingler->run[0] =
            bm_token_hash_one(&shingler->hash, shingler->joined.data, shingler->joined.len);
        BM_TRY(add_run(shingler, &doc, 1, true, err));
    }
    if (shingler->options.bag && doc.n_run > 0)
        BM_TRY(add_repeats(shingler, &doc, err));
    if (shingler->joined.unreadable) {
        batch->n_unreadable++;
        bm_shingle_batch_commit(batch, 0, BM_CONTENT_UNREADABLE);
        return BM_OK;
    }
    batch->n_empty += doc.n_run == 0 && !is_short;
    batch->n_short += is_short;
    bm_shingle_batch_commit(batch, doc.n_distinct, content_of(shingler, &doc, is_short));
    return BM_OK;
}

bm_status bm_shingler_add(bm_shingler *shingler, bm_str text, bm_shingle_batch *batch,
                          bm_error *err)
{
    bm_status status = BM_OK;
    BM_TRY_OUT(join_text(shingler, text, err));
    status = add_document(shingler, batch, err);
out:
    trim_scratch(shingler);
    return status;
}

bm_status bm_shingler_join(bm_shingler *shingler, bm_str text, const bm_joined **out, bm_error *err)
{
    trim_scratch(shingler); /* large buffers may be left from the document before */
    *out = &shingler->joined;
    return join_text(shingler, text, err);
}

bm_status bm_shingler_add_last_joined(bm_shingler *shingler, bm_shingle_batch *batch, bm_error *err)
{
    bm_status status = add_document(shingler, batch, err);
    trim_scratch(shingler);
    return status;
}

const bm_shingle_ops *bm_shingler_ops(const bm_shingler *shingler)
{
    return shingler->ops;
}

bm_status bm_shingler_add_joined(bm_shingler *shingler, bm_str joined, bm_shingle_batch *batch,
                                 bm_error *err)
{
    bm_joined_begin(&shingler->joined);
    BM_TRY(bm_joined_reserve(&shingler->joined, joined.len, err));
    unsigned char high = 0;
    for (size_t i = 0; i < joined.len; i++)
        high |= (unsigned char)joined.data[i];
    if (joined.len > 0)
        memcpy(shingler->joined.data, joined.data, joined.len);
    shingler->joined.len = joined.len;
    shingler->joined.ascii = high < 0x80;
    bm_status status = add_document(shingler, batch, err);
    trim_scratch(shingler);
    return status;
}

bm_status bm_shingler_scan(bm_shingler *shingler, uint32_t k, bm_shingle_run_fn *fn, void *ctx,
                           uint64_t *n_units, bm_error *err)
{
    const size_t units = shingler->units;
    document doc = {.scan = fn, .scan_ctx = ctx};
    size_t n = 0;
    shingler->units = k;
    bm_status status = hash_joined(shingler, &doc, &n, err);
    shingler->units = units;
    *n_units = n;
    return status;
}

uint64_t bm_shingler_hash_one(const bm_shingler *shingler, const char *bytes, size_t len)
{
    return bm_token_hash_one(&shingler->hash, bytes, len);
}
