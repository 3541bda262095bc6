/* checkpoint_matches.c -- edges are loaded by the call with which matching stores those it finds, so
 * that they go to memory or to files as --memory allows now. */
#include "job/checkpoint_matches.h"

#include <string.h>

#include "base/error.h"
#include "lsh/band_buckets.h"
#include "spill/spill_saved.h"
#include "model/pair_order.h"

#define BLOCK_DOCS 32768u

typedef struct match_header {
    uint64_t n_docs, n_edges; /* n_edges: that follow */
    uint64_t n_candidates, n_verified, n_edges_found, n_not_compared;
    uint32_t only_groups, earlier; /* are there edges to earlier documents? */
} match_header;

/* --- saving --- */

static bm_status save_groups(bm_match *match, bm_spill_file *file, bm_buf *out, bm_error *err)
{
    size_t n_docs = match->settings.corpus->n;
    for (size_t at = 0; at < n_docs; at += BLOCK_DOCS) {
        size_t n = n_docs - at < BLOCK_DOCS ? n_docs - at : BLOCK_DOCS;
        out->len = 0;
        BM_TRY(bm_buf_reserve(out, n * (2 * sizeof(uint32_t) + sizeof(double)), err));
        for (size_t i = 0; i < n; i++) {
            uint32_t root = bm_union_find_root(&match->result.groups, (uint32_t)(at + i));
            BM_TRY(bm_buf_add(out, &root, sizeof root, err));
        }
        if (match->result.earlier.docs != NULL)
            BM_TRY(bm_buf_add(out, match->result.earlier.docs + at,
                              n * sizeof *match->result.earlier.docs, err));
        if (match->result.earlier.docs != NULL)
            BM_TRY(bm_buf_add(out, match->result.earlier.similarities + at,
                              n * sizeof *match->result.earlier.similarities, err));
        BM_TRY(bm_spill_add(file, out->data, out->len, NULL, err));
    }
    return BM_OK;
}

static bm_status save_edges(const bm_match *match, bm_spill_file *file, bm_buf *out, bm_error *err)
{
    bm_pair edge;
    bm_status status = BM_OK;
    out->len = 0;
    BM_TRY(bm_edges_begin(match, err));
    while ((status = bm_edges_next(match, &edge, err)) == BM_OK) {
        BM_TRY(bm_buf_add(out, &edge, sizeof edge, err));
        if (out->len < BLOCK_DOCS * sizeof edge)
            continue;
        BM_TRY(bm_spill_add(file, out->data, out->len, NULL, err));
        out->len = 0;
    }
    return status == BM_NOT_FOUND && out->len > 0
               ? bm_spill_add(file, out->data, out->len, NULL, err)
           : status == BM_NOT_FOUND ? BM_OK
                                    : status;
}

bm_status bm_checkpoint_matches_save(bm_match *match, bm_spill_file *file, bm_error *err)
{
    match_header h = {.n_docs = match->settings.corpus->n,
                      .n_edges = match->settings.only_groups ? 0 : match->result.counts.edges,
                      .n_candidates = match->result.counts.candidates,
                      .n_verified = match->result.counts.verified,
                      .n_edges_found = match->result.counts.edges,
                      .n_not_compared = match->result.counts.not_compared,
                      .only_groups = match->settings.only_groups,
                      .earlier = match->result.earlier.docs != NULL};
    bm_buf out = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_spill_add(file, &h, sizeof h, NULL, err));
    status = match->settings.only_groups ? save_groups(match, file, &out, err)
                                         : save_edges(match, file, &out, err);
out:
    bm_buf_reset(&out);
    return status == BM_OK ? bm_spill_flush(file, err) : status;
}

/* --- loading --- */

typedef struct loading {
    bm_match *match;
    match_header header;
    bool has_header;
    uint64_t n; /* documents or edges so far */
} loading;

static bm_status damaged(const char *what, bm_error *err)
{
    return bm_fail(err, BM_ERR_FORMAT, "the saved matches are damaged: %s do not fit", what);
}

static bm_status load_header(loading *l, const void *data, size_t len, bm_error *err)
{
    bm_match *match = l->match;
    if (len != sizeof l->header)
        return damaged("lengths", err);
    memcpy(&l->header, data, sizeof l->header);
    l->has_header = true;
    if (l->header.n_docs != match->settings.corpus->n ||
        (l->header.only_groups != 0) != match->settings.only_groups ||
        (l->header.earlier != 0) != (match->result.earlier.docs != NULL))
        return damaged("numbers", err);
    return BM_OK;
}

/* A similarity, or NaN: one that is not known. */
static bool is_similarity(double value)
{
    return !(value < 0) && !(value > 1);
}

/* The edges of n documents from `first` on lead to documents before them. */
static bool earlier_fit(const bm_earlier_edges *earlier, size_t first, size_t n)
{
    for (size_t i = first; i < first + n; i++)
        if (earlier->docs[i] != BM_NO_DOC &&
            (earlier->docs[i] >= i || !is_similarity(earlier->similarities[i])))
            return false;
    return true;
}

static bm_status load_groups(loading *l, const void *data, size_t len, bm_error *err)
{
    bm_match *match = l->match;
    size_t one = sizeof(uint32_t);
    if (match->result.earlier.docs != NULL)
        one += sizeof *match->result.earlier.docs + sizeof *match->result.earlier.similarities;
    size_t n = len / one, at = (size_t)l->n;
    if (n * one != len || n > match->settings.corpus->n - at)
        return damaged("groups", err);
    const char *from = data;
    for (size_t i = 0; i < n; i++, from += sizeof(uint32_t)) {
        uint32_t root;
        memcpy(&root, from, sizeof root);
        if (root > at + i)
            return damaged("labels", err);
        bm_union_find_link(&match->result.groups, (uint32_t)(at + i), root);
    }
    if (match->result.earlier.docs != NULL) {
        memcpy(match->result.earlier.docs + at, from, n * sizeof *match->result.earlier.docs);
        from += n * sizeof *match->result.earlier.docs;
        memcpy(match->result.earlier.similarities + at, from,
               n * sizeof *match->result.earlier.similarities);
        if (!earlier_fit(&match->result.earlier, at, n))
            return damaged("edges", err);
    }
    l->n += n;
    return BM_OK;
}

static bm_status load_edges(loading *l, const void *data, size_t len, bm_error *err)
{
    const bm_pair *edges = data; /* aligned, says bm_spill_visit */
    size_t n = len / sizeof *edges;
    if (n * sizeof *edges != len)
        return damaged("edges", err);
    for (size_t i = 0; i < n; i++)
        if (edges[i].a >= edges[i].b || edges[i].b >= l->match->settings.corpus->n ||
            !is_similarity(edges[i].similarity))
            return damaged("edges", err);
    l->n += n;
    return bm_edges_take(l->match, edges, n, err);
}

static bm_status load_block(void *ctx, uint64_t place, const void *data, size_t len, bm_error *err)
{
    loading *l = ctx;
    (void)place;
    if (!l->has_header)
        return load_header(l, data, len, err);
    return l->match->settings.only_groups ? load_groups(l, data, len, err)
                                          : load_edges(l, data, len, err);
}

bm_status bm_checkpoint_matches_load(bm_match *match, const bm_spill_file *file, bm_error *err)
{
    loading l = {.match = match};
    BM_TRY(bm_match_begin(match, err));
    BM_TRY(bm_spill_walk(file, load_block, &l, err));
    uint64_t expected = match->settings.only_groups ? l.header.n_docs : l.header.n_edges;
    if ((!l.has_header || l.n != expected))
        BM_TRY(damaged("counts", err));
    match->result.counts.candidates = l.header.n_candidates;
    match->result.counts.verified = l.header.n_verified;
    match->result.counts.edges = l.header.n_edges_found;
    match->result.counts.not_compared = l.header.n_not_compared;
    if (match->result.counts.not_compared > 0)
        bm_meter_log(match->settings.meter, BM_LOG_WARNING,
                     "up to %llu pairs of crowded buckets were not compared (`pairs` compares all)",
                     (unsigned long long)match->result.counts.not_compared);
    return match->settings.verify == BM_VERIFY_NONE /* grouping asks for common bands */
               ? bm_corpus_keyset(match->settings.corpus, match->settings.pool, &match->result.keys,
                                  err)
               : BM_OK;
}
