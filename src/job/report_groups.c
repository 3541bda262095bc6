/* report_groups.c -- by counting; 8 bytes for each size up to the largest while it works. */
#include "job/report_groups.h"

#include "base/error.h"
#include "base/memory.h"
#include "job/rows.h"

#define DOMINANT_LEAST 1000u

static uint64_t size_of(const bm_grouping *g, size_t group)
{
    return g->begin[group + 1] - g->begin[group];
}

static bm_status write_sizes(bm_json *json, const bm_grouping *g, bm_error *err)
{
    uint64_t *of_size = NULL;
    BM_TRY(bm_new_zero(&of_size, (size_t)g->largest + 1, err));
    for (size_t i = 0; i < g->n_groups; i++)
        of_size[size_of(g, i)]++;
    bm_json_key(json, "group_sizes");
    bm_json_begin_array(json);
    for (uint64_t size = 0; size <= g->largest; size++) {
        if (of_size[size] == 0)
            continue;
        bm_json_begin_object(json);
        bm_json_key_uint(json, "size", size);
        bm_json_key_uint(json, "groups", of_size[size]);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
    bm_free(of_size);
    return BM_OK;
}

/* The largest groups, in order; returns how many. */
static size_t find_largest(const bm_grouping *g, size_t out[BM_LARGEST_GROUPS])
{
    size_t n = 0;
    for (size_t i = 0; i < g->n_groups; i++) {
        size_t at = n;
        while (at > 0 && size_of(g, out[at - 1]) < size_of(g, i))
            at--;
        if (at == BM_LARGEST_GROUPS)
            continue;
        n += n < BM_LARGEST_GROUPS;
        for (size_t j = n - 1; j > at; j--)
            out[j] = out[j - 1];
        out[at] = i;
    }
    return n;
}

static void write_largest(bm_json *json, const bm_grouping *g, const bm_doc_table *docs)
{
    size_t largest[BM_LARGEST_GROUPS], n = find_largest(g, largest);
    bm_json_key(json, "largest_groups");
    bm_json_begin_array(json);
    for (size_t i = 0; i < n; i++) {
        uint64_t begin = g->begin[largest[i]], end = g->begin[largest[i] + 1], chained = 0;
        for (uint64_t j = begin; j < end; j++)
            chained += g->reason[g->members[j]] == BM_REASON_CHAINED;
        bm_json_begin_object(json);
        bm_json_key_uint(json, "group", largest[i] + 1);
        bm_json_key(json, "kept");
        if (g->known != NULL && g->known[g->members[begin]] != BM_NO_KNOWN)
            bm_json_string(json,
                           bm_known_id(g->from, g->known_members[g->known_begin[largest[i]]]));
        else if (g->kept[g->members[begin]] == BM_NO_KEPT)
            bm_json_text(json, NULL);
        else
            bm_json_string(json, bm_doc_table_id(docs, g->kept[g->members[begin]]));
        bm_json_key_uint(json, "size", end - begin);
        bm_json_key_uint(json, "chained", chained);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

bool bm_group_is_dominant(uint64_t size, uint64_t n_docs)
{
    return size > DOMINANT_LEAST && size > n_docs / 100;
}

bm_status bm_report_groups(bm_json *json, const bm_grouping *grouping, const bm_doc_table *docs,
                           bm_error *err)
{
    BM_TRY(write_sizes(json, grouping, err));
    write_largest(json, grouping, docs);
    double removed = grouping->n_removed > 0 ? (double)grouping->n_removed : 1;
    bm_json_key_double(json, "chained_share", (double)grouping->n_chained / removed);
    if (!bm_group_is_dominant(grouping->largest, grouping->n))
        return BM_OK;
    bm_json_key(json, "dominant_group");
    bm_json_begin_object(json);
    bm_json_key_uint(json, "size", grouping->largest);
    bm_json_key(json, "helps");
    bm_json_begin_array(json);
    bm_json_text(json, "cluster star");
    bm_json_text(json, "max_group_size");
    bm_json_text(json, "weights tfidf");
    bm_json_end_array(json);
    bm_json_end_object(json);
    return BM_OK;
}

void bm_report_similarities(bm_json *json, const uint64_t *histogram)
{
    bm_json_key(json, "similarities");
    bm_json_begin_array(json);
    for (uint32_t i = 0; i < BM_HISTOGRAM_BINS; i++) {
        if (histogram[i] == 0)
            continue;
        bm_json_begin_object(json);
        bm_json_key_double(json, "low", (double)i / BM_HISTOGRAM_BINS);
        bm_json_key_double(json, "high", (double)(i + 1) / BM_HISTOGRAM_BINS);
        bm_json_key_uint(json, "pairs", histogram[i]);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}
