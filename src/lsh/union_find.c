/* union_find.c -- merge verified pairs into groups.
 *
 * One uint32_t parent per document. root() halves paths in a loop, so a chain of a million links
 * cannot overflow the stack. link() makes the smaller number the root: labels then do not depend on
 * the order in which pairs arrive. Halving alone bounds m operations by O(m log n); linking by size
 * would bound them better and lose the rule of the smaller root.
 *
 * One thread at a time. */
#include "lsh/union_find.h"

#include "base/error.h"
#include "base/memory.h"

bm_status bm_union_find_init(bm_union_find *sets, size_t n, bm_error *err)
{
    if (n > BM_DOCS_MAX)
        return bm_fail(err, BM_ERR_USAGE, "%zu documents are too many (at most %u)", n,
                       BM_DOCS_MAX);
    uint32_t *parent = NULL;
    BM_TRY(bm_new(&parent, n, err));
    for (size_t i = 0; i < n; i++)
        parent[i] = (uint32_t)i;
    sets->parent = parent;
    sets->n = n;
    return BM_OK;
}

void bm_union_find_reset(bm_union_find *sets)
{
    bm_free(sets->parent);
    sets->parent = NULL;
    sets->n = 0;
}

uint32_t bm_union_find_root(bm_union_find *sets, uint32_t doc)
{
    uint32_t *parent = sets->parent;
    while (parent[doc] != doc) {
        parent[doc] = parent[parent[doc]];
        doc = parent[doc];
    }
    return doc;
}

bool bm_union_find_link(bm_union_find *sets, uint32_t a, uint32_t b)
{
    a = bm_union_find_root(sets, a);
    b = bm_union_find_root(sets, b);
    if (a == b)
        return false;
    if (a < b)
        sets->parent[b] = a;
    else
        sets->parent[a] = b;
    return true;
}
