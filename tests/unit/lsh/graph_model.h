/* graph_model.h -- small random graphs, and what a graph says by the plainest means: an adjacency
 * matrix, Bellman's relaxation, flooding, all subsets. Header only; expected values of the tests of
 * link_graph, shortest_chain, min_cut and bridges. */
#ifndef BM_TESTS_GRAPH_MODEL_H
#define BM_TESTS_GRAPH_MODEL_H

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "lsh/link_graph.h"

enum { MODEL_DOCS = 40, MODEL_PAIRS = 400 };

typedef struct graph_model {
    uint32_t n_docs;
    size_t n_pairs;
    bm_pair pairs[MODEL_PAIRS];
    uint64_t state;
} graph_model;

static inline uint32_t model_draw(graph_model *m, uint32_t below)
{
    m->state = m->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((m->state >> 33) % below);
}

/* `n_pairs` pairs of different documents; `repeats`: the same two may come again, either way round.
 * Similarities are few, so that there are ties; one in twenty is not known. */
static inline void model_make(graph_model *m, uint32_t n_docs, size_t n_pairs, bool repeats)
{
    bool there[MODEL_DOCS][MODEL_DOCS] = {{false}};
    m->n_docs = n_docs;
    m->n_pairs = 0;
    for (size_t tries = 0; m->n_pairs < n_pairs && tries < 4 * n_pairs; tries++) {
        uint32_t a = model_draw(m, n_docs), b = model_draw(m, n_docs);
        if (a == b || (!repeats && (there[a][b] || there[b][a])))
            continue;
        there[a][b] = true;
        double similarity = model_draw(m, 20) == 0 ? NAN : .5 + model_draw(m, 4) / 8.0;
        m->pairs[m->n_pairs++] = (bm_pair){a, b, similarity};
    }
}

static inline void model_open(const graph_model *m, bm_link_graph *out)
{
    bm_error err = {0};
    cr_assert_eq(bm_link_graph_init(out, m->pairs, m->n_pairs, m->n_docs, &err), BM_OK, "%s",
                 err.message);
}

/* Mark what hangs together with `doc` without the pair `no_pair` (SIZE_MAX: all) and the document
 * `no_doc` (UINT32_MAX: all). The number marked. */
static inline size_t model_flood(const graph_model *m, uint32_t doc, size_t no_pair,
                                 uint32_t no_doc, bool *marked)
{
    size_t n = 0;
    if (marked[doc] || doc == no_doc)
        return 0;
    marked[doc] = true;
    for (size_t i = 0; i < m->n_pairs; i++) {
        if (i == no_pair || (m->pairs[i].a != doc && m->pairs[i].b != doc))
            continue;
        n += model_flood(m, m->pairs[i].a == doc ? m->pairs[i].b : m->pairs[i].a, no_pair, no_doc,
                         marked);
    }
    return n + 1;
}

/* Components of all documents but `no_doc` that `among` marks. */
static inline uint32_t model_parts(const graph_model *m, const bool *among, uint32_t no_doc)
{
    bool marked[MODEL_DOCS] = {false};
    uint32_t parts = 0;
    for (uint32_t doc = 0; doc < m->n_docs; doc++)
        if (among[doc] && doc != no_doc && !marked[doc]) {
            parts++;
            model_flood(m, doc, SIZE_MAX, no_doc, marked);
        }
    return parts;
}

/* Of the graph `m`, opened as `g`: two different documents. */
typedef void (*model_check_fn)(const graph_model *m, const bm_link_graph *g, uint32_t from,
                               uint32_t to);

/* `check` every two documents, both ways round, of so many graphs of 2 to 9 documents, each with
 * less than n_docs * pairs_a_doc pairs; every third may have repeats. */
static inline void model_every_two(graph_model *m, int graphs, uint32_t pairs_a_doc,
                                   model_check_fn check)
{
    for (int i = 0; i < graphs; i++) {
        bm_link_graph g;
        uint32_t n = 2 + model_draw(m, 8);
        model_make(m, n, model_draw(m, pairs_a_doc * n), i % 3 == 0);
        model_open(m, &g);
        for (uint32_t from = 0; from < n; from++)
            for (uint32_t to = 0; to < n; to++)
                if (from != to)
                    check(m, &g, from, to);
        bm_link_graph_reset(&g);
    }
}

#endif
