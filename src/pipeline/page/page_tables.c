/* page_tables.c -- three walks, of which only what will be shown stays in memory:
 *
 *     removed.tsv     the most chained; which kept documents have chained ones (their ids stay)
 *     groups.jsonl    the largest groups; the largest that has chained documents
 *     removed.tsv     of the largest groups: why their documents went, the least like the kept one
 *
 * Tests: tests/cli/cases/report.sh, tests/reference/test_report.py */
#include "pipeline/page/page_tables.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/results/result_tables.h"
#include "io/results/tsv_table.h"
#include "model/file_names.h"
#include "pipeline/context/record_room.h"
#include "pipeline/page/page_least.h"

typedef struct removed_row {
    bm_str id, kept;
    double jaccard; /* NAN: not known */
    bool identical, chained, known;
} removed_row;

typedef bm_status (*removed_fn)(void *ctx, const removed_row *row, bm_error *err);

typedef struct reading {
    const bm_settings *settings;
    bm_page_content *content;
    uint64_t room;  /* bytes for ids; 0: no limit */
    bm_id_set hubs; /* kept documents that have chained ones */
    bm_page_least chained, near;
    uint64_t best_size; /* of the largest group with chained documents */
    /* Of the largest groups: the kept documents, and which group each is of. Where there are known documents, whose ids may
     * be those of others: the members. */
    bm_id_set keys;
    size_t *group_of, cap_group_of;
    size_t at_group;
    bm_buf id;
} reading;

/* --- removed.tsv --- */

/* Six decimals, as our files have them. */
static bool parse_jaccard(bm_str field, double *out)
{
    uint32_t millionths = 0;
    *out = NAN;
    if (field.len == 0)
        return true;
    if (field.len != 8 || field.data[1] != '.')
        return false;
    for (size_t i = 0; i < field.len; i++) {
        if (i == 1)
            continue;
        if (field.data[i] < '0' || field.data[i] > '9')
            return false;
        millionths = millionths * 10 + (uint32_t)(field.data[i] - '0');
    }
    *out = millionths / 1e6;
    return millionths <= 1000000;
}

static bool is_word(bm_str field, const char *word)
{
    return field.len == strlen(word) && memcmp(field.data, word, field.len) == 0;
}

static bm_status each_removed(const reading *r, removed_fn fn, void *ctx, bm_error *err)
{
    bm_tsv_table table = {0};
    bool end = false;
    bm_status status = bm_tsv_table_open_listed(r->content->manifest, BM_FILE_REMOVED,
                                                bm_table_header(BM_TABLE_REMOVED), &table, err);
    table.lines.callbacks = &r->settings->callbacks;
    while (status == BM_OK) {
        status = bm_tsv_table_next(&table, &end, err);
        if (status != BM_OK || end)
            break;
        const bm_str reason = table.fields[BM_REMOVED_REASON];
        removed_row row = {.id = table.fields[BM_REMOVED_ID],
                           .kept = table.fields[BM_REMOVED_KEPT],
                           .identical = is_word(reason, BM_REMOVED_IS_IDENTICAL),
                           .chained = is_word(reason, BM_REMOVED_IS_CHAINED),
                           .known = is_word(reason, BM_REMOVED_IS_KNOWN)};
        if (!parse_jaccard(table.fields[BM_REMOVED_JACCARD], &row.jaccard))
            status = bm_fail_at(err, BM_ERR_FORMAT, table.path, table.line,
                                "the similarity is none of six decimals");
        else
            status = fn(ctx, &row, err);
    }
    bm_tsv_table_close(&table);
    return status;
}

static bm_status take_hub(reading *r, bm_str kept, bm_error *err)
{
    uint32_t number;
    bm_status status = bm_id_set_add(&r->hubs, kept, &number, err);
    if (status == BM_OK && r->room != 0 && bm_id_set_bytes(r->hubs.n, r->hubs.text.len) > r->room)
        status = bm_table_room_refuse(r->settings, "the kept documents of chained ones",
                                      bm_id_set_bytes(r->hubs.n, r->hubs.text.len), err);
    return status;
}

static bm_status first_walk(void *ctx, const removed_row *row, bm_error *err)
{
    reading *r = ctx;
    bm_page_content *content = r->content;
    bm_status status = BM_OK;
    const bool of_pairs = content->facts.has_pairs;
    const bm_page_offer offer = {row->kept, row->id, row->jaccard, row->known};
    if (!of_pairs && !isnan(row->jaccard)) {
        content->similarities[bm_histogram_bin(row->jaccard)]++;
        content->n_similarities++;
        if (row->jaccard >= content->facts.threshold && row->jaccard < 1)
            status = bm_page_least_offer(&r->near, &offer, err);
    }
    if (status == BM_OK && row->chained) {
        status = take_hub(r, row->kept, err);
        if (status == BM_OK && !isnan(row->jaccard))
            status = bm_page_least_offer(&r->chained, &offer, err);
    }
    return status;
}

/* Of the largest groups. */
static bm_status last_walk(void *ctx, const removed_row *row, bm_error *err)
{
    reading *r = ctx;
    const bool against = r->content->facts.against;
    const uint32_t number = bm_id_set_find(&r->keys, against ? row->id : row->kept);
    if (number == BM_ID_NONE)
        return BM_OK;
    bm_page_group *group = &r->content->groups.rows[r->group_of[number]];
    group->removed++;
    group->identical += row->identical;
    group->chained += row->chained;
    const bool first = group->least_doc == BM_PAGE_NO_DOC; /* shown even where nothing is known */
    if (!first && (isnan(row->jaccard) || (!isnan(group->least) && row->jaccard >= group->least)))
        return BM_OK;
    group->least = row->jaccard;
    return bm_page_show(r->content, row->id, &group->least_doc, err);
}

/* --- groups.jsonl --- */

bm_status bm_page_each_group(const bm_settings *settings, const bm_manifest *manifest,
                             bm_page_group_fn fn, void *ctx, bm_error *err)
{
    char *path = NULL;
    bm_group_file file;
    bm_listed *listed = NULL;
    bool more = true, stop = false;
    bm_status status = bm_manifest_beside(manifest, BM_FILE_GROUPS, &path, err);
    if (status == BM_OK)
        status = bm_listed_open(manifest, BM_FILE_GROUPS, path, &listed, err);
    if (status == BM_OK)
        status = bm_group_file_open(path, settings->memory, &file, err);
    if (status == BM_OK) {
        file.lines.callbacks = &settings->callbacks;
        status = bm_line_file_compare(&file.lines, listed, err);
        while (status == BM_OK && more && !stop) {
            status = bm_group_file_next(&file, &more, err);
            if (status == BM_OK && more)
                status = fn(ctx, &file, &stop, err);
        }
        bm_group_file_close(&file);
    }
    bm_listed_close(listed);
    bm_free(path);
    return status;
}

/* Its place among the largest; `most`: it is none of them. */
static size_t place_of(const bm_page_groups *groups, uint64_t size, size_t most)
{
    size_t low = 0, high = groups->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (groups->rows[middle].size >= size)
            low = middle + 1;
        else
            high = middle;
    }
    return low < most ? low : most;
}

static bm_status take_group(void *ctx, bm_group_file *file, bool *stop, bm_error *err)
{
    reading *r = ctx;
    bm_page_groups *groups = &r->content->groups;
    const size_t most = r->content->options->groups, at = place_of(groups, file->size, most);
    bm_status status = BM_OK;
    (void)stop;
    if (r->hubs.n > 0 && file->size > r->best_size) {
        status = bm_group_file_id(file, file->kept, &r->id, err);
        if (status == BM_OK &&
            bm_id_set_find(&r->hubs, (bm_str){r->id.data, r->id.len}) != BM_ID_NONE) {
            r->best_size = file->size;
            groups->largest_chained = file->group;
        }
    }
    if (status != BM_OK || at == most)
        return status;
    status = bm_grow_array(&groups->rows, &groups->cap, groups->n + 1, err);
    if (status != BM_OK)
        return status;
    groups->n -= groups->n == most;
    memmove(groups->rows + at + 1, groups->rows + at, (groups->n - at) * sizeof *groups->rows);
    groups->rows[at] = (bm_page_group){.number = file->group,
                                       .size = file->size,
                                       .kept = BM_PAGE_NO_DOC,
                                       .least_doc = BM_PAGE_NO_DOC,
                                       .least = NAN,
                                       .known = file->known};
    groups->n++;
    return BM_OK;
}

static bm_status add_key(reading *r, bm_str id, size_t group, bm_error *err)
{
    uint32_t number;
    bm_status status = bm_grow_array(&r->group_of, &r->cap_group_of, r->keys.n + 1, err);
    if (status == BM_OK)
        status = bm_id_set_add(&r->keys, id, &number, err);
    if (status == BM_OK && number + (size_t)1 == r->keys.n)
        r->group_of[number] = group;
    const uint64_t bytes =
        bm_id_set_bytes(r->keys.n, r->keys.text.len) + r->cap_group_of * sizeof *r->group_of;
    if (status == BM_OK && r->room != 0 && bytes > r->room)
        status = bm_table_room_refuse(r->settings, "the members of the largest groups", bytes, err);
    return status;
}

static bm_status add_member(void *ctx, const bm_group_file *file, bm_str id, bm_error *err)
{
    reading *r = ctx;
    (void)file;
    return add_key(r, id, r->at_group, err);
}

/* The kept documents of the largest groups, once these are known. */
static bm_status take_kept(void *ctx, bm_group_file *file, bool *stop, bm_error *err)
{
    reading *r = ctx;
    bm_page_groups *groups = &r->content->groups;
    (void)stop;
    for (r->at_group = 0; r->at_group < groups->n; r->at_group++)
        if (groups->rows[r->at_group].number == file->group)
            break;
    if (r->at_group == groups->n)
        return BM_OK;
    uint32_t *kept = &groups->rows[r->at_group].kept;
    bm_status status = BM_OK;
    if (r->content->facts.against)
        status = bm_group_file_members(file, add_member, r, &r->id, err);
    else
        status = bm_group_file_id(file, file->kept, &r->id, err);
    const bm_str id = {r->id.data, r->id.len};
    if (status == BM_OK && !r->content->facts.against)
        status = add_key(r, id, r->at_group, err);
    if (status != BM_OK)
        return status;
    return file->known ? bm_page_show_known(r->content, id, kept, err)
                       : bm_page_show(r->content, id, kept, err);
}

/* Is the member one of the most chained? Then the one kept of its group is known. */
static bm_status mark_known(void *ctx, const bm_group_file *file, bm_str id, bm_error *err)
{
    const reading *r = ctx;
    (void)file;
    (void)err;
    for (size_t i = 0; i < r->chained.n; i++) {
        bm_page_least_row *row = &r->chained.rows[i];
        if (row->len_b == id.len && memcmp(row->ids + row->len_a, id.data, id.len) == 0)
            row->known = true;
    }
    return BM_OK;
}

static bm_status mark_group(void *ctx, bm_group_file *file, bool *stop, bm_error *err)
{
    reading *r = ctx;
    (void)stop;
    return file->known ? bm_group_file_members(file, mark_known, r, &r->id, err) : BM_OK;
}

static bm_status read_groups(reading *r, bm_error *err)
{
    bm_page_groups *groups = &r->content->groups;
    bm_status status = bm_page_each_group(r->settings, r->content->manifest, take_group, r, err);
    if (status == BM_OK && groups->n > 0)
        status = bm_page_each_group(r->settings, r->content->manifest, take_kept, r, err);
    if (status == BM_OK && groups->n > 0)
        status = each_removed(r, last_walk, r, err);
    return status;
}

bm_status bm_page_read_tables(const bm_settings *settings, bm_page_content *content, bm_error *err)
{
    reading r = {.settings = settings,
                 .content = content,
                 .chained = {.most = content->options->pairs},
                 .near = {.most = content->options->pairs}};
    bm_status status = bm_table_room(settings, &r.room, err);
    if (status == BM_OK)
        status = each_removed(&r, first_walk, &r, err);
    if (status == BM_OK)
        status = read_groups(&r, err);
    if (status == BM_OK && content->facts.against && r.chained.n > 0)
        status = bm_page_each_group(settings, content->manifest, mark_group, &r, err);
    if (status == BM_OK)
        status = bm_page_least_show(&r.chained, content, &content->chained, err);
    if (status == BM_OK && !content->facts.has_pairs)
        status = bm_page_least_show(&r.near, content, &content->near, err);
    bm_page_least_reset(&r.chained);
    bm_page_least_reset(&r.near);
    bm_id_set_reset(&r.hubs);
    bm_id_set_reset(&r.keys);
    bm_free(r.group_of);
    bm_buf_reset(&r.id);
    return status;
}
