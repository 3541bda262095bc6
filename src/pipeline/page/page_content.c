/* page_content.c -- what every reader of the content adds to: documents that are shown.
 *
 * Tests: tests/unit/page/test_page_least.c, tests/cli/cases/report.sh */
#include "pipeline/page/page_content.h"

#include <string.h>

#include "base/memory.h"
#include "lsh/verify.h"

static void reset_graph(bm_page_graph *graph)
{
    bm_id_set_reset(&graph->ids);
    bm_bridges_reset(&graph->bridges);
    bm_free(graph->bridge_order);
    bm_free(graph->point_order);
    bm_free(graph->pairs);
    bm_free(graph->nodes);
    bm_free(graph->weakest);
}

void bm_page_content_reset(bm_page_content *content)
{
    const size_t n_sources = content->sources != NULL ? bm_manifest_n_inputs(content->manifest) : 0;
    for (size_t i = 0; i < n_sources; i++) {
        bm_free(content->sources[i].gone);
        bm_free(content->sources[i].path);
    }
    for (size_t i = 0; i < content->ids.n; i++) {
        bm_free(content->docs[i].text);
        bm_free(content->docs[i].hashes);
    }
    bm_free(content->sources);
    bm_free(content->no_texts);
    bm_free(content->docs);
    bm_free(content->facts.sizes);
    bm_free(content->groups.rows);
    bm_free(content->near.rows);
    bm_free(content->chained.rows);
    bm_id_set_reset(&content->ids);
    bm_id_set_reset(&content->known_ids);
    reset_graph(&content->graph);
    memset(content, 0, sizeof *content);
}

bm_status bm_page_show(bm_page_content *content, bm_str id, uint32_t *number, bm_error *err)
{
    const size_t before = content->ids.n;
    bm_status status = bm_grow_array(&content->docs, &content->cap_docs, before + 1, err);
    if (status == BM_OK)
        status = bm_id_set_add(&content->ids, id, number, err);
    if (status == BM_OK && content->ids.n > before)
        content->docs[before] = (bm_page_doc){0};
    return status;
}

bm_status bm_page_show_known(bm_page_content *content, bm_str id, uint32_t *number, bm_error *err)
{
    const bm_status status = bm_id_set_add(&content->known_ids, id, number, err);
    *number |= BM_PAGE_KNOWN;
    return status;
}

bm_str bm_page_id(const bm_page_content *content, uint32_t number)
{
    return (number & BM_PAGE_KNOWN) != 0
               ? bm_id_set_id(&content->known_ids, number & ~BM_PAGE_KNOWN)
               : bm_id_set_id(&content->ids, number);
}

const bm_page_doc *bm_page_doc_of(const bm_page_content *content, uint32_t number)
{
    static const bm_page_doc none = {0};
    return (number & BM_PAGE_KNOWN) != 0 ? &none : &content->docs[number];
}

bool bm_page_shared(const bm_page_content *content, uint32_t a, uint32_t b, size_t *shared)
{
    const bm_page_doc *x = bm_page_doc_of(content, a), *y = bm_page_doc_of(content, b);
    if (!x->counted || !y->counted)
        return false;
    *shared = bm_hashes_common(x->hashes, x->n_hashes, y->hashes, y->n_hashes);
    return true;
}
