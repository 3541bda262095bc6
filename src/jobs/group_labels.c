/* SPDX-License-Identifier: Apache-2.0 */
/* group_labels.c -- reads the members of groups from groups.jsonl and similarities from
 * removed.tsv.
 *
 * Tests: tests/cli/cases/annotate.sh */
#include "jobs/group_labels.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/file_names.h"
#include "job/job_context.h"

/* The state of loading. Once the labels exceed the budget, they are only counted. */
typedef struct loading {
    bm_group_labels *out;
    uint64_t budget; /* bytes available; 0: no limit */
    uint64_t n, id_bytes, longest_row;
    bool too_many;
} loading;

static void count_member(loading *now, const bm_group_file *file, bm_str id)
{
    bm_group_labels *out = now->out;
    now->n++;
    now->id_bytes += id.len;
    if (file->lines.len > now->longest_row)
        now->longest_row = file->lines.len;
    out->bytes = bm_id_set_bytes(now->n, now->id_bytes) + now->n * sizeof *out->labels;
    if (now->budget != 0 && out->bytes + now->longest_row > now->budget && !now->too_many) {
        now->too_many = true;
        bm_id_set_reset(&out->ids);
    }
}

/* A bm_group_member_fn. Adds the label of a member. BM_ERR_FORMAT: the member was listed before. */
static bm_status add_member(void *ctx, const bm_group_file *file, bm_str id, bm_error *err)
{
    loading *now = ctx;
    bm_group_labels *out = now->out;
    const size_t before = out->ids.n;
    uint32_t number;
    count_member(now, file, id);
    if (now->too_many)
        return BM_OK;
    BM_TRY(bm_id_set_add(&out->ids, id, &number, err));
    if (out->ids.n == before)
        return bm_fail_at(err, BM_ERR_FORMAT, file->lines.name, file->lines.number,
                          "a document is in two groups, or twice in one");
    BM_TRY(bm_grow_array(&out->labels, &out->cap, out->ids.n, err));
    out->labels[number] = (bm_group_label){
        .group = file->group, .size = file->size, .millionths = BM_JACCARD_UNKNOWN};
    return BM_OK;
}

/* A bm_result_group_fn. Adds the labels of the group's members, and marks the kept one, if a member
 * is kept. */
static bm_status add_group(void *ctx, bm_group_file *row, bool *stop, bm_error *err)
{
    loading *now = ctx;
    bm_group_labels *out = now->out;
    bm_str kept_id;
    (void)stop;
    out->n_groups = row->group;
    BM_TRY(bm_group_file_members(row, add_member, now, &kept_id, err));
    if (now->too_many || row->known || kept_id.data == NULL)
        return BM_OK;
    const uint32_t kept = bm_id_set_find(&out->ids, kept_id);
    if (kept == BM_ID_NONE || out->labels[kept].group != row->group)
        return bm_fail_at(err, BM_ERR_FORMAT, row->lines.name, row->lines.number,
                          "the kept document is no member");
    out->labels[kept].kept = true;
    out->labels[kept].millionths = 1000000;
    return BM_OK;
}

/* A bm_result_row_fn. Sets the similarity of a removed document. */
static bm_status add_removed(void *ctx, const bm_tsv_table *row, bm_error *err)
{
    bm_group_labels *out = ctx;
    const bm_str id = row->fields[BM_REMOVED_ID], jaccard = row->fields[BM_REMOVED_JACCARD];
    const uint32_t number = bm_id_set_find(&out->ids, id);
    if (number == BM_ID_NONE || out->labels[number].kept)
        return bm_fail_at(err, BM_ERR_FORMAT, row->path, row->line,
                          "'%.*s' is removed and no such member of a group", (int)id.len, id.data);
    return bm_table_jaccard(jaccard, &out->labels[number].millionths)
               ? BM_OK
               : bm_fail_at(err, BM_ERR_FORMAT, row->path, row->line,
                            "'%.*s' is no similarity (six decimals)", (int)jaccard.len,
                            jaccard.data);
}

bm_status bm_group_labels_load(const bm_manifest *manifest, bm_group_labels *out, bm_error *err)
{
    loading now = {.out = out};
    BM_TRY(bm_table_budget(out->settings, &now.budget, err));
    const bm_result_dir dir = {manifest, &out->settings->callbacks,
                               now.budget > 0 ? now.budget : UINT64_MAX};
    BM_TRY(bm_result_groups(&dir, add_group, &now, err));
    if (now.too_many)
        return bm_table_budget_refuse(out->settings, "the members of groups",
                                      out->bytes + now.longest_row, err);
    BM_TRY(bm_result_rows(&dir, BM_TABLE_REMOVED, add_removed, out, err));
    return bm_manifest_compare_count(manifest, "groups", out->n_groups, BM_FILE_GROUPS, err);
}

void bm_group_labels_reset(bm_group_labels *labels)
{
    bm_id_set_reset(&labels->ids);
    bm_free(labels->labels);
    memset(labels, 0, sizeof *labels);
}

bm_group_label bm_group_labels_find(bm_group_labels *labels, bm_str id)
{
    const uint32_t number = labels->ids.n > 0 ? bm_id_set_find(&labels->ids, id) : BM_ID_NONE;
    if (number == BM_ID_NONE)
        return (bm_group_label){.millionths = BM_JACCARD_UNKNOWN, .kept = true};
    labels->n_met++;
    return labels->labels[number];
}

bool bm_group_labels_done(const bm_group_labels *labels)
{
    return labels->n_met == labels->ids.n;
}
