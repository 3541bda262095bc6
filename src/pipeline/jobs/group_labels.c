/* group_labels.c -- members from groups.jsonl, similarities from removed.tsv.
 *
 * Tests: tests/cli/cases/annotate.sh */
#include "pipeline/jobs/group_labels.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/results/group_file.h"
#include "io/results/result_tables.h"
#include "io/results/tsv_table.h"
#include "model/file_names.h"
#include "pipeline/context/record_room.h"

/* What is read so far; where there is no room for all of it, it is only counted any more. */
typedef struct loading {
    uint64_t room; /* bytes that there are; 0: no limit */
    uint64_t n, id_bytes, longest_row;
    bool too_many;
} loading;

typedef struct taking {
    bm_group_labels *out;
    loading *now;
} taking;

static void count_member(bm_group_labels *out, loading *now, const bm_group_file *file, bm_str id)
{
    now->n++;
    now->id_bytes += id.len;
    if (file->lines.len > now->longest_row)
        now->longest_row = file->lines.len;
    out->bytes = bm_id_set_bytes(now->n, now->id_bytes) + now->n * sizeof *out->labels;
    if (now->room != 0 && out->bytes + now->longest_row > now->room && !now->too_many) {
        now->too_many = true;
        bm_id_set_reset(&out->ids);
    }
}

/* A bm_group_member_fn. */
static bm_status add_member(void *ctx, const bm_group_file *file, bm_str id, bm_error *err)
{
    const taking *t = ctx;
    bm_group_labels *out = t->out;
    const size_t before = out->ids.n;
    uint32_t number;
    count_member(out, t->now, file, id);
    if (t->now->too_many)
        return BM_OK;
    BM_TRY(bm_id_set_add(&out->ids, id, &number, err));
    if (out->ids.n == before)
        return bm_fail_at(err, BM_ERR_FORMAT, file->lines.name, file->lines.number,
                          "a document is in two groups, or twice in one");
    BM_TRY(bm_grow_array(&out->labels, &out->cap, out->ids.n, err));
    out->labels[number] = (bm_group_label){.group = file->group, .millionths = BM_JACCARD_UNKNOWN};
    return BM_OK;
}

/* The row read last; `id` is scratch. */
static bm_status take_group(bm_group_labels *out, loading *now, bm_group_file *file, bm_buf *id,
                            bm_error *err)
{
    BM_TRY(bm_group_file_members(file, add_member, &(taking){out, now}, id, err));
    if (now->too_many || file->known)
        return BM_OK;
    const uint32_t kept = bm_id_set_find(&out->ids, (bm_str){id->data, id->len});
    if (kept == BM_ID_NONE || out->labels[kept].group != file->group)
        return bm_fail_at(err, BM_ERR_FORMAT, file->lines.name, file->lines.number,
                          "the kept document is no member");
    out->labels[kept].kept = true;
    out->labels[kept].millionths = 1000000;
    return BM_OK;
}

static bm_status load_rows(bm_group_file *file, loading *now, bm_group_labels *out, bm_error *err)
{
    bm_buf id = {0};
    bool more = true;
    bm_status status = BM_OK;
    while (more) {
        BM_TRY_OUT(bm_group_file_next(file, &more, err));
        if (more)
            BM_TRY_OUT(take_group(out, now, file, &id, err));
    }
    if (now->too_many)
        BM_TRY_OUT(bm_table_room_refuse(out->settings, "the members of groups",
                                        out->bytes + now->longest_row, err));
out:
    bm_buf_reset(&id);
    return status;
}

static bm_status load_groups(const bm_manifest *manifest, bm_group_labels *out, bm_error *err)
{
    loading now = {0};
    bm_group_file file;
    bm_listed *listed = NULL;
    char *path = NULL;
    bm_status status = bm_table_room(out->settings, &now.room, err);
    if (status == BM_OK)
        status = bm_manifest_beside(manifest, BM_FILE_GROUPS, &path, err);
    if (status == BM_OK)
        status = bm_listed_open(manifest, BM_FILE_GROUPS, path, &listed, err);
    if (status == BM_OK) {
        status = bm_group_file_open(path, now.room > 0 ? now.room : UINT64_MAX, &file, err);
        if (status == BM_OK)
            status = bm_line_file_compare(&file.lines, listed, err);
        file.lines.callbacks = &out->settings->callbacks;
        if (status == BM_OK)
            status = load_rows(&file, &now, out, err);
        out->n_groups = file.group;
        bm_group_file_close(&file);
    }
    bm_listed_close(listed);
    bm_free(path);
    return status;
}

/* "0.843750" to 843750, nothing to unknown. */
static bm_status read_jaccard(const bm_tsv_table *table, uint32_t *millionths, bm_error *err)
{
    const bm_str field = table->fields[BM_REMOVED_JACCARD];
    uint32_t value = 0;
    bool good = field.len == 8 && field.data[1] == '.';
    for (size_t i = 0; good && i < field.len; i++) {
        if (i == 1)
            continue;
        good = field.data[i] >= '0' && field.data[i] <= '9';
        value = value * 10 + (uint32_t)(field.data[i] - '0');
    }
    if (field.len != 0 && (!good || value > 1000000))
        return bm_fail_at(err, BM_ERR_FORMAT, table->path, table->line,
                          "'%.*s' is no similarity (six decimals)", (int)field.len, field.data);
    *millionths = field.len == 0 ? BM_JACCARD_UNKNOWN : value;
    return BM_OK;
}

static bm_status load_removed(const bm_manifest *manifest, bm_group_labels *out, bm_error *err)
{
    bm_tsv_table table = {0};
    bool end = false;
    bm_status status = bm_tsv_table_open_listed(manifest, BM_FILE_REMOVED,
                                                bm_table_header(BM_TABLE_REMOVED), &table, err);
    table.lines.callbacks = &out->settings->callbacks;
    while (status == BM_OK) {
        status = bm_tsv_table_next(&table, &end, err);
        if (status != BM_OK || end)
            break;
        const uint32_t number = bm_id_set_find(&out->ids, table.fields[BM_REMOVED_ID]);
        if (number == BM_ID_NONE || out->labels[number].kept)
            status =
                bm_fail_at(err, BM_ERR_FORMAT, table.path, table.line,
                           "'%.*s' is removed and no such member of a group",
                           (int)table.fields[BM_REMOVED_ID].len, table.fields[BM_REMOVED_ID].data);
        else
            status = read_jaccard(&table, &out->labels[number].millionths, err);
    }
    bm_tsv_table_close(&table);
    return status;
}

bm_status bm_group_labels_load(const bm_manifest *manifest, bm_group_labels *out, bm_error *err)
{
    BM_TRY(load_groups(manifest, out, err));
    BM_TRY(load_removed(manifest, out, err));
    return bm_manifest_compare_count(manifest, "groups", out->n_groups, BM_FILE_GROUPS, err);
}

void bm_group_labels_reset(bm_group_labels *labels)
{
    bm_id_set_reset(&labels->ids);
    bm_free(labels->labels);
    memset(labels, 0, sizeof *labels);
}

bm_group_label bm_group_labels_take(bm_group_labels *labels, bm_str id)
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
