/* cluster_groups.c -- by counting: sizes by label, groups numbered as their first members are met,
 * then each document put into its place. Linear; 8 bytes a document while it works. */
#include "jobs/cluster_groups.h"

#include <string.h>

#include "base/error.h"
#include "results/result_tables.h"

#define NO_GROUP UINT32_MAX

static bm_status fill(const uint32_t *labels, size_t n_docs, uint32_t *group_of,
                      bm_cluster_groups *g, bm_error *err)
{
    g->begins = bm_alloc_zero(g->n + 2, sizeof *g->begins);
    g->members = bm_alloc((size_t)g->n_members, sizeof *g->members);
    g->kept = bm_alloc(g->n, sizeof *g->kept);
    if (g->begins == NULL || g->members == NULL || g->kept == NULL)
        return bm_fail_nomem(err, (size_t)g->n_members * sizeof *g->members);
    for (size_t doc = 0; doc < n_docs; doc++)
        if (group_of[labels[doc]] != NO_GROUP)
            g->begins[group_of[labels[doc]] + 2]++;
    for (size_t i = 0; i < g->n; i++)
        g->begins[i + 2] += g->begins[i + 1];
    for (size_t doc = 0; doc < n_docs; doc++) {
        uint32_t group = group_of[labels[doc]];
        if (group == NO_GROUP)
            continue;
        g->members[g->begins[group + 1]++] = (uint32_t)doc;
    }
    return BM_OK;
}

bm_status bm_cluster_groups_make(const uint32_t *labels, size_t n_docs, bm_cluster_groups *out,
                                 bm_error *err)
{
    bm_cluster_groups g = {0};
    uint32_t *size = bm_alloc_zero(n_docs, sizeof *size);
    uint32_t *group_of = bm_alloc(n_docs, sizeof *group_of);
    bm_status status = BM_OK;
    if (size == NULL || group_of == NULL) {
        status = bm_fail_nomem(err, n_docs * 2 * sizeof *size);
        goto out;
    }
    memset(group_of, 0xFF, n_docs * sizeof *group_of);
    for (size_t doc = 0; doc < n_docs; doc++)
        size[labels[doc]]++;
    for (size_t doc = 0; doc < n_docs; doc++) {
        uint32_t label = labels[doc];
        if (size[label] < 2 || group_of[label] != NO_GROUP)
            continue;
        group_of[label] = (uint32_t)g.n++;
        g.n_members += size[label];
        g.largest = size[label] > g.largest ? size[label] : g.largest;
    }
    status = fill(labels, n_docs, group_of, &g, err);
    for (size_t i = 0; status == BM_OK && i < g.n; i++)
        g.kept[i] = labels[g.members[g.begins[i]]];
out:
    bm_free(size);
    bm_free(group_of);
    if (status == BM_OK)
        *out = g;
    else
        bm_cluster_groups_reset(&g);
    return status;
}

void bm_cluster_groups_reset(bm_cluster_groups *groups)
{
    bm_free(groups->begins);
    bm_free(groups->members);
    bm_free(groups->kept);
    memset(groups, 0, sizeof *groups);
}

static bm_str id_of(const bm_id_set *ids, const uint32_t *numbers, uint32_t doc)
{
    return bm_id_set_id(ids, numbers != NULL ? numbers[doc] : doc);
}

bm_status bm_cluster_groups_row(const bm_cluster_groups *groups, const bm_id_set *ids,
                                const uint32_t *numbers, size_t group, bool keeps, bm_rows *rows,
                                bm_error *err)
{
    bm_json json = {0};
    size_t begin = groups->begins[group], end = groups->begins[group + 1];
    const bm_str kept = keeps ? id_of(ids, numbers, groups->kept[group]) : (bm_str){0};
    bm_group_line_begin(&json, group + 1, kept, end - begin);
    for (size_t i = begin; i < end; i++)
        bm_json_string(&json, id_of(ids, numbers, groups->members[i]));
    bm_status status = bm_group_line_end(&json, &rows->buf, err);
    bm_buf_reset(&json.buf);
    return status == BM_OK ? bm_rows_flush(rows, false, err) : status;
}
