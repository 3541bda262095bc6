/* filter_drops.c -- three tables into one list.
 *
 * Tests: tests/cli/cases/dedup.sh, tests/cli/cases/staged.sh, tests/cli/cases/filter.sh */
#include "jobs/filter_drops.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "results/result_dir.h"
#include "results/source_table.h"
#include "model/file_names.h"
#include "model/numbered_id.h"
#include "job/record_room.h"

/* One table after another, into the drops. */
typedef struct loading {
    bm_drops *out;
    bm_source_walk rows;
    bool removed;             /* removed.tsv; else skipped.tsv */
    uint64_t n;               /* rows of it so far */
    uint64_t room;            /* bytes that there are; 0: no limit */
    uint64_t n_ids, id_bytes; /* so far */
} loading;

static int by_place(bm_drop a, bm_drop b)
{
    if (a.file != b.file)
        return a.file < b.file ? -1 : 1;
    return a.place < b.place ? -1 : a.place > b.place;
}

static bm_status add_drop(bm_drop_list *list, bm_drop drop, bm_error *err)
{
    BM_TRY(bm_grow_array(&list->rows, &list->cap, list->n + 1, err));
    list->rows[list->n++] = drop;
    return BM_OK;
}

/* Known once sources.tsv was read; ids come to that. */
static uint64_t bytes_of_rows(const bm_drops *drops)
{
    return (drops->n_removed + drops->n_skipped) * sizeof(bm_drop);
}

/* An id, or its bytes only, once all of them are more than there is room for. */
static bm_status load_id(bm_drops *out, loading *now, bm_str id, bm_error *err)
{
    uint32_t number;
    now->n_ids++;
    now->id_bytes += id.len;
    out->bytes = bytes_of_rows(out) + bm_id_set_bytes(now->n_ids, now->id_bytes);
    if (now->room != 0 && out->bytes > now->room) {
        bm_id_set_reset(&out->ids);
        bm_id_set_reset(&out->bases);
        return BM_OK;
    }
    BM_TRY(bm_id_set_add(&out->ids, id, &number, err));
    bm_str base;
    uint32_t repeat;
    if (out->no_lines && bm_numbered_id(id, &base, &repeat))
        BM_TRY(bm_id_set_add(&out->bases, base, &number, err));
    return BM_OK;
}

/* A bm_result_row_fn. */
static bm_status load_row(void *ctx, const bm_tsv_table *row, bm_error *err)
{
    loading *now = ctx;
    bm_drops *out = now->out;
    const size_t line = now->removed ? BM_REMOVED_LINE : BM_SKIPPED_LINE;
    bm_drop_list *list = now->removed ? &out->removed : &out->skipped;
    BM_TRY(
        bm_source_walk_row(&now->rows, row, now->removed ? BM_REMOVED_FILE : BM_SKIPPED_FILE, err));
    bm_drop drop = {.file = (uint32_t)now->rows.file};
    now->n++;
    /* no row has a line */
    if (now->removed && list->n == 0 && row->fields[line].len == 0)
        out->by_id = out->no_lines = true;
    if (out->by_id)
        return now->removed ? load_id(out, now, row->fields[BM_REMOVED_ID], err) : BM_OK;
    BM_TRY(bm_tsv_table_uint(row, line, &drop.place, err));
    if (list->n > 0 && by_place(list->rows[list->n - 1], drop) > 0)
        return bm_fail_at(err, BM_ERR_FORMAT, row->path, row->line,
                          "the rows are not in the order of the inputs");
    return add_drop(list, drop, err);
}

static bm_status load_rows(loading *now, bool removed, bm_error *err)
{
    const bm_drops *out = now->out;
    const bm_result_dir dir = {.manifest = now->rows.manifest,
                               .callbacks = &out->settings->callbacks};
    const bm_table table = removed ? BM_TABLE_REMOVED : BM_TABLE_SKIPPED;
    const uint64_t expected = removed ? out->n_removed : out->n_skipped;
    now->removed = removed;
    now->n = 0;
    BM_TRY(bm_result_rows(&dir, table, load_row, now, err));
    if (now->n == expected)
        return BM_OK;
    char message[100];
    snprintf(message, sizeof message, "%llu rows (" BM_FILE_SOURCES " counts %llu)",
             (unsigned long long)now->n, (unsigned long long)expected);
    return bm_result_fail(&dir, bm_table_file(table), 0, message, err);
}

static bm_status check_room(bm_drops *out, const loading *now, bm_error *err)
{
    if (out->bytes < bytes_of_rows(out))
        out->bytes = bytes_of_rows(out);
    return now->room == 0 || out->bytes <= now->room
               ? BM_OK
               : bm_table_room_refuse(out->settings, "the removed and skipped records", out->bytes,
                                      err);
}

bm_status bm_drops_load(const bm_manifest *manifest, bm_drops *out, bm_error *err)
{
    loading now = {.out = out};
    bm_source_walk *rows = &now.rows;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_source_walk_open(manifest, rows, err));
    BM_TRY_OUT(bm_table_room(out->settings, &now.room, err));
    /* both sums first: they say what the rows will take */
    BM_TRY_OUT(bm_source_walk_begin(rows, BM_SOURCES_SKIPPED, &out->n_skipped, err));
    BM_TRY_OUT(bm_source_walk_begin(rows, BM_SOURCES_REMOVED, &out->n_removed, err));
    BM_TRY_OUT(check_room(out, &now, err));
    BM_TRY_OUT(load_rows(&now, true, err));
    BM_TRY_OUT(check_room(out, &now, err));
    if (out->n_skipped > 0) {
        BM_TRY_OUT(bm_source_walk_begin(rows, BM_SOURCES_SKIPPED, &out->n_skipped, err));
        BM_TRY_OUT(load_rows(&now, false, err));
    }
    BM_TRY_OUT(
        bm_manifest_compare_count(manifest, "removed", out->n_removed, BM_FILE_REMOVED, err));
    status = bm_manifest_compare_count(manifest, "skipped", out->n_skipped, BM_FILE_SOURCES, err);
out:
    bm_source_walk_close(rows);
    return status;
}

void bm_drops_reset(bm_drops *drops)
{
    bm_free(drops->removed.rows);
    bm_free(drops->skipped.rows);
    bm_id_set_reset(&drops->ids);
    bm_id_set_reset(&drops->bases);
    memset(drops, 0, sizeof *drops);
}

/* --- the lists --- */

bm_status bm_drops_meet(bm_drops *drops, bm_drop drop, const char *name, bm_error *err)
{
    if (drops->removed.n >= drops->n_removed + drops->n_skipped)
        return bm_fail_at(err, BM_ERR_INPUT, name, 0,
                          "the inputs hold more removed and skipped records than there were (%llu)",
                          (unsigned long long)(drops->n_removed + drops->n_skipped));
    return add_drop(&drops->removed, drop, err);
}

static bool take(bm_drop_list *list, bm_drop here)
{
    if (list->next >= list->n || by_place(list->rows[list->next], here) != 0)
        return false;
    list->next++;
    return true;
}

bool bm_drops_take(bm_drops *drops, bm_drop here)
{
    return take(&drops->removed, here) || take(&drops->skipped, here);
}

uint64_t bm_drops_taken(const bm_drops *drops)
{
    return drops->removed.next + drops->skipped.next;
}

bool bm_drops_doubt(const bm_drops *drops, bm_str id)
{
    bm_str base;
    uint32_t number;
    return drops->bases.n > 0 && bm_numbered_id(id, &base, &number) &&
           (bm_id_set_find(&drops->bases, base) != BM_ID_NONE ||
            bm_id_set_find(&drops->bases, id) != BM_ID_NONE);
}

bool bm_drops_has_id(const bm_drops *drops, bm_str id)
{
    return drops->ids.n > 0 && bm_id_set_find(&drops->ids, id) != BM_ID_NONE;
}
