/* rows_pairs.c -- pairs in input order of a, then b; a is the earlier document, or, of containment, the smaller one.
 *
 * Edges join representatives. With `chain`, a copy adds one row, (representative, copy). Without it
 * every document stands for itself: the partners of a document are the copies of its representative
 * and, for each neighbour of that, the neighbour and all its copies. Neighbours come from sorted
 * runs, in the order of documents. Partners of one document are gathered, sorted and written, so the
 * memory is that of one document's partners.
 *
 * Tests: tests/unit/job/test_corpus_spill.c, tests/cli/cases/pairs.sh */
#include "job/rows.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "results/result_tables.h"
#include "model/pair_order.h"

#define ROWS_A_QUESTION 4096u
#define GATHERED        1024u /* rows, whose edit distances are computed at once */

typedef struct partner {
    uint32_t doc;
    double similarity;
} partner;

typedef struct partners {
    const bm_pair_rows *rows;
    bm_sorted_runs *links; /* of documents to representatives that an edge joins to theirs */
    bm_run_record link;    /* the next */
    bool ended;            /* there is none */
    uint64_t *copy_begin;  /* of each representative's documents in `copies`, itself first */
    uint32_t *copies;
    partner *row; /* of one document */
    size_t n_row, cap_row;
    bm_pair gathered[GATHERED];
    bm_edit_pair edits[GATHERED];
    size_t n_gathered;
} partners;

static int by_doc(const void *x, const void *y)
{
    uint32_t a = ((const partner *)x)->doc, b = ((const partner *)y)->doc;
    return a < b ? -1 : a > b;
}

static bm_status index_copies(partners *p, bm_error *err)
{
    const bm_corpus *corpus = p->rows->match->settings.corpus;
    size_t n = corpus->n;
    p->copy_begin = bm_alloc_zero(n + 2, sizeof *p->copy_begin);
    p->copies = bm_alloc(n, sizeof *p->copies);
    if (p->copy_begin == NULL || p->copies == NULL)
        return bm_fail_nomem(err, n * sizeof *p->copy_begin);
    for (size_t i = 0; i < n; i++)
        p->copy_begin[corpus->rep[i] + 2]++;
    for (size_t i = 0; i < n; i++)
        p->copy_begin[i + 2] += p->copy_begin[i + 1];
    for (size_t i = 0; i < n; i++)
        p->copies[p->copy_begin[corpus->rep[i] + 1]++] = (uint32_t)i;
    return BM_OK;
}

/* Does document a stand before b in the row of the two? */
static bool stands_first(const partners *p, uint32_t a, uint32_t b)
{
    const bm_corpus *corpus = p->rows->match->settings.corpus;
    const uint32_t size_a = corpus->sizes[corpus->rep[a]], size_b = corpus->sizes[corpus->rep[b]];
    return p->rows->measure == BM_MEASURE_CONTAINMENT && size_a != size_b ? size_a < size_b : a < b;
}

static bm_status add_partner(partners *p, uint32_t doc, uint32_t other, double similarity,
                             bm_error *err)
{
    if (other == doc || !stands_first(p, doc, other))
        return BM_OK;
    BM_TRY(bm_grow(&p->row, &p->cap_row, p->n_row + 1, sizeof *p->row, err));
    p->row[p->n_row++] = (partner){other, similarity};
    return BM_OK;
}

static bm_status add_copies(partners *p, uint32_t doc, uint32_t rep, double similarity,
                            bm_error *err)
{
    for (uint64_t i = p->copy_begin[rep]; i < p->copy_begin[rep + 1]; i++)
        BM_TRY(add_partner(p, doc, p->copies[i], similarity, err));
    return BM_OK;
}

/* Does the caller want to stop? Asked once in so many rows. */
static bm_status ask(const bm_pair_rows *pairs, bm_error *err)
{
    bm_meter *meter = pairs->match->settings.meter;
    if (pairs->n_written % ROWS_A_QUESTION != 0)
        return BM_OK;
    bm_meter_progress(meter, pairs->n_written, 0, 0);
    return bm_meter_check(meter, err);
}

/* Rows that are next to be written. */
static bm_status write_gathered(bm_rows *rows, bm_pair_rows *pairs, partners *p, bm_error *err)
{
    const uint32_t *rep = pairs->match->settings.corpus->rep;
    if (pairs->texts != NULL)
        BM_TRY(bm_pair_texts_compare(pairs->texts, p->edits, p->n_gathered, err));
    for (size_t i = 0; i < p->n_gathered; i++) {
        const bm_pair *pair = &p->gathered[i];
        bm_pair_line line = {.id_a = bm_doc_table_id(pairs->docs, pair->a),
                             .id_b = bm_doc_table_id(pairs->docs, pair->b),
                             .measure = pairs->measure,
                             .similarity = pair->similarity};
        BM_TRY(ask(pairs, err));
        if (pairs->texts != NULL) {
            line.has_edit = true;
            line.edit = p->edits[i].distance;
            pairs->n_edit_unknown += line.edit == BM_EDIT_UNKNOWN;
        }
        BM_TRY(pairs->json ? bm_pair_line_add_json(&rows->buf, &line, err)
                           : bm_pair_line_add(&rows->buf, &line, err));
        BM_TRY(bm_rows_flush(rows, false, err));
        if (pairs->histogram != NULL && !isnan(pair->similarity))
            pairs->histogram[bm_histogram_bin(pair->similarity)]++;
        pairs->n_written++;
        pairs->n_identical += rep[pair->a] == rep[pair->b];
    }
    p->n_gathered = 0;
    return BM_OK;
}

static bm_status write_row(bm_rows *rows, bm_pair_rows *pairs, partners *p, uint32_t doc,
                           partner other, bm_error *err)
{
    p->edits[p->n_gathered] = (bm_edit_pair){.a = doc, .b = other.doc};
    p->gathered[p->n_gathered++] =
        (bm_pair){.a = doc, .b = other.doc, .similarity = other.similarity};
    return p->n_gathered == GATHERED ? write_gathered(rows, pairs, p, err) : BM_OK;
}

/* --- links --- */

/* A document of one end with the representative of the other: with `chain` the one that stands
 * first; else each copy of both. */
static bm_status sort_edge(const partners *p, const bm_pair *edge, bm_error *err)
{
    const uint64_t bits = bm_edge_bits(edge->similarity);
    for (int turned = 0; turned < 2; turned++) {
        const uint32_t from = turned ? edge->b : edge->a, to = turned ? edge->a : edge->b;
        if (p->rows->chain && !stands_first(p, from, to))
            continue;
        const uint64_t end = p->rows->chain ? p->copy_begin[from] + 1 : p->copy_begin[from + 1];
        for (uint64_t i = p->copy_begin[from]; i < end; i++)
            BM_TRY(bm_sorted_runs_add(p->links, bm_pair_key(p->copies[i], to), bits, err));
    }
    return bm_meter_check(p->rows->match->settings.meter, err);
}

static bm_status next_link(partners *p, bm_error *err)
{
    const bm_status status = bm_sorted_runs_next(p->links, &p->link, err);
    p->ended = status == BM_NOT_FOUND;
    return p->ended ? BM_OK : status;
}

static bm_status sort_links(partners *p, bm_error *err)
{
    const bm_match *match = p->rows->match;
    bm_pair edge;
    bm_status status = BM_OK;
    BM_TRY(bm_edges_open_runs(match->settings.corpus, &p->links, err));
    BM_TRY(bm_edges_begin(match, err));
    while ((status = bm_edges_next(match, &edge, err)) == BM_OK)
        BM_TRY(sort_edge(p, &edge, err));
    BM_TRY(status == BM_NOT_FOUND ? BM_OK : status);
    BM_TRY(bm_sorted_runs_begin(p->links, err));
    return next_link(p, err);
}

static bm_status gather(partners *p, uint32_t doc, bm_error *err)
{
    const uint32_t rep = p->rows->match->settings.corpus->rep[doc];
    const bool chain = p->rows->chain;
    p->n_row = 0;
    /* a copy has the row (representative, copy) only */
    if (!chain || rep == doc)
        BM_TRY(add_copies(p, doc, rep, 1.0, err));
    while (!p->ended && p->link.key >> 32 == doc) {
        const uint32_t other = (uint32_t)p->link.key;
        const double similarity = bm_edge_similarity(p->link.value);
        BM_TRY(chain ? add_partner(p, doc, other, similarity, err)
                     : add_copies(p, doc, other, similarity, err));
        BM_TRY(next_link(p, err));
    }
    if (p->n_row > 1)
        qsort(p->row, p->n_row, sizeof *p->row, by_doc);
    return BM_OK;
}

static bm_status write_rows(bm_rows *rows, partners *p, bm_pair_rows *pairs, bm_error *err)
{
    BM_TRY(sort_links(p, err));
    for (size_t i = 0; i < pairs->match->settings.corpus->n; i++) {
        BM_TRY(gather(p, (uint32_t)i, err));
        for (size_t k = 0; k < p->n_row; k++)
            BM_TRY(write_row(rows, pairs, p, (uint32_t)i, p->row[k], err));
    }
    return BM_OK;
}

bm_status bm_rows_pairs(bm_rows *rows, bm_pair_rows *pairs, bm_error *err)
{
    partners *p = NULL;
    BM_TRY(bm_new_zero(&p, 1, err));
    p->rows = pairs;
    bm_status status = BM_OK;
    BM_TRY_OUT(pairs->json
                   ? BM_OK
                   : bm_table_begin(&rows->buf,
                                    bm_table_of_pairs(pairs->measure, pairs->texts != NULL), err));
    BM_TRY_OUT(index_copies(p, err));
    BM_TRY_OUT(write_rows(rows, p, pairs, err));
    BM_TRY_OUT(write_gathered(rows, pairs, p, err));
    status = bm_rows_flush(rows, true, err);
out:
    bm_sorted_runs_close(p->links);
    bm_free(p->copy_begin);
    bm_free(p->copies);
    bm_free(p->row);
    bm_free(p);
    return status;
}
