/* SPDX-License-Identifier: Apache-2.0 */
/* overlap_lane.c -- a document looked up among the shingles of the items.
 *
 *     hashes of a window   -> those that the filter lets pass -> those in the table
 *     places               (shingle, unit), sorted: for each shingle where it stands
 *     touched              (class, shingle), sorted: for each class what of it stands here
 *     rows                 classes at the threshold, with their longest run
 *
 * A document without a place ends after the first step. Its joined text is one stretch, whatever
 * lines and paragraphs it has, and so runs cross them. Bytes are looked for only where a document
 * holds an item: its text is gone through once more (text/unit_text.h).
 *
 * What a lane finds goes to the ordered end as bytes, where it is news: a shingle that was seen
 * before, or a class that had as many shingles in an earlier document, is left out. Lanes look at
 * what the ordered end writes, and may miss what it is about to write, so they may say too much and
 * never too little.
 *
 * Tests: tests/cli/cases/overlap.sh */
#include "parts/overlap_parts.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/orders.h"
#include "base/utf8.h"
#include "lsh/verify.h"
#include "text/join_exact.h"
#include "text/unit_text.h"

typedef struct words {
    uint64_t *list;
    size_t n, cap;
} words;

typedef struct overlap_lane {
    bm_overlap_found *found;
    const bm_items *items;
    const bm_joined *joined;
    bm_shingler *shingler;
    words places;  /* shingle << 32 | unit, sorted once the document is whole */
    words firsts;  /* of each shingle, the first of its places; and an end */
    words touched; /* class << 32 | number in `firsts`, sorted */
    words scratch; /* to sort in */
    words run;     /* units of a class, sorted */
    words rows;    /* bm_overlap_row, as bytes */
    bm_text_units units;
    bool has_units;
} overlap_lane;

/* What a document has said, in front of its rows, its new shingles and its better classes. */
typedef struct said {
    uint32_t doc; /* in the batch */
    uint32_t n_rows, n_seen, n_best;
} said;

typedef struct better {
    uint32_t class, hits;
} better;

static bm_status push(words *w, uint64_t value, bm_error *err)
{
    if (w->n == w->cap)
        BM_TRY(bm_grow_array(&w->list, &w->cap, w->n + 1, err));
    w->list[w->n++] = value;
    return BM_OK;
}

static bm_status sort(overlap_lane *lane, words *w, bm_error *err)
{
    BM_TRY(bm_grow_array(&lane->scratch.list, &lane->scratch.cap, w->n, err));
    if (w->n > 1)
        bm_hashes_sort(w->list, w->n, lane->scratch.list);
    return BM_OK;
}

static bool has_bit(const uint8_t *bits, size_t at)
{
    return (__atomic_load_n(&bits[at / 8], __ATOMIC_RELAXED) >> at % 8 & 1) != 0;
}

/* --- places --- */

static bm_status on_run(void *ctx, const bm_shingle_run *run, bm_error *err)
{
    overlap_lane *lane = ctx;
    uint16_t passed[BM_SHINGLE_RUN_MAX];
    size_t n = 0;
    for (size_t i = 0; i < run->n; i++) {
        passed[n] = (uint16_t)i;
        n += bm_items_may_have(lane->items, run->hashes[i]);
    }
    for (size_t i = 0; i < n; i++) /* the table is larger than a cache */
        bm_items_fetch(lane->items, run->hashes[passed[i]]);
    for (size_t i = 0; i < n; i++) {
        const uint32_t shingle = bm_items_find(lane->items, run->hashes[passed[i]]);
        if (shingle != BM_NO_CLASS)
            BM_TRY(push(&lane->places, (uint64_t)shingle << 32 | (run->first + passed[i]), err));
    }
    return BM_OK;
}

/* Where the n-th unit behind the one at `at` ends; SIZE_MAX: there are fewer. */
static size_t end_of_units(const bm_joined *joined, bm_shingle_kind kind, size_t at, uint32_t n)
{
    if (kind == BM_SHINGLE_BYTE)
        return joined->len - at < n ? SIZE_MAX : at + n;
    for (size_t i = at + 1; i < joined->len; i++)
        if ((kind == BM_SHINGLE_WORD ? joined->data[i] == ' '
                                     : ((unsigned char)joined->data[i] & 0xC0) != 0x80) &&
            --n == 0)
            return i;
    return n == 1 ? joined->len : SIZE_MAX;
}

/* Short items may begin here. */
static bm_status look_at_anchor(overlap_lane *lane, size_t at, uint64_t unit, bm_error *err)
{
    const bm_items *items = lane->items;
    const bm_joined *joined = lane->joined;
    size_t end = at;
    uint32_t units = 0;
    for (size_t i = 0; i < items->n_lengths && end != SIZE_MAX; i++) {
        end = end_of_units(joined, items->settings->text.shingle, at, items->lengths[i]);
        units = items->lengths[i];
        if (end == SIZE_MAX)
            break;
        const uint64_t hash = bm_shingler_hash_one(lane->shingler, joined->data + at, end - at);
        const uint32_t shingle =
            bm_items_may_have(items, hash) ? bm_items_find(items, hash) : BM_NO_CLASS;
        if (shingle != BM_NO_CLASS &&
            items->class_begin[shingle] < items->class_begin[shingle + 1] &&
            items->classes[items->class_list[items->class_begin[shingle]]].units == units)
            BM_TRY(push(&lane->places, (uint64_t)shingle << 32 | unit, err));
    }
    return BM_OK;
}

static bm_status on_anchors(void *ctx, const bm_shingle_run *run, bm_error *err)
{
    overlap_lane *lane = ctx;
    for (size_t i = 0; i < run->n; i++) {
        if (!bm_items_may_have(lane->items, run->hashes[i]))
            continue;
        const uint32_t shingle = bm_items_find(lane->items, run->hashes[i]);
        if (shingle != BM_NO_CLASS && has_bit(lane->items->anchors, shingle))
            BM_TRY(look_at_anchor(lane, run->starts != NULL ? run->starts[i] : run->first_byte + i,
                                  run->first + i, err));
    }
    return BM_OK;
}

/* Find the places, and count the document as the shingler would. */
static bm_status find_places(overlap_lane *lane, bm_shingler *shingler, bm_str text,
                             bm_shingle_batch *batch, bm_error *err)
{
    const bm_items *items = lane->items;
    const uint32_t k = items->settings->text.shingle_k;
    uint64_t n_units = 0, n_again;
    lane->places.n = 0;
    lane->shingler = shingler;
    BM_TRY(bm_shingler_join(shingler, text, &lane->joined, err));
    BM_TRY(bm_shingler_scan(shingler, k, on_run, lane, &n_units, err));
    if (items->n_lengths > 0)
        BM_TRY(bm_shingler_scan(shingler, items->least_units, on_anchors, lane, &n_again, err));
    BM_TRY(bm_shingle_batch_reserve(batch, 1, 0, err));
    batch->n_unreadable += lane->joined->unreadable;
    batch->n_short += n_units > 0 && n_units < k;
    batch->n_empty += n_units == 0 && !lane->joined->unreadable;
    bm_shingle_batch_commit(batch, 0,
                            lane->joined->unreadable     ? BM_CONTENT_UNREADABLE
                            : n_units > 0 && n_units < k ? BM_CONTENT_SHORT
                                                         : (bm_hash128){0});
    return BM_OK;
}

/* Sort the places, and find where each shingle's begin. */
static bm_status group_places(overlap_lane *lane, bm_error *err)
{
    BM_TRY(sort(lane, &lane->places, err));
    lane->firsts.n = 0;
    for (size_t i = 0; i < lane->places.n; i++)
        if (i == 0 || lane->places.list[i] >> 32 != lane->places.list[i - 1] >> 32)
            BM_TRY(push(&lane->firsts, i, err));
    return push(&lane->firsts, lane->places.n, err);
}

static uint32_t shingle_at(const overlap_lane *lane, size_t first)
{
    return (uint32_t)(lane->places.list[lane->firsts.list[first]] >> 32);
}

/* --- where a run stands --- */

static bm_status find_bytes(overlap_lane *lane, const bm_record *record, bm_overlap_row *row,
                            uint64_t unit, bm_error *err)
{
    if (!lane->has_units)
        BM_TRY(bm_text_units_make(&lane->items->settings->text, record->text, &lane->units, err));
    lane->has_units = true;
    if (row->longest == 0 || unit + row->longest > lane->units.n)
        return bm_fail(err, BM_ERR_INTERNAL, "a run of units %llu to %llu, of %zu",
                       (unsigned long long)unit, (unsigned long long)(unit + row->longest),
                       lane->units.n);
    const bm_str text = record->text, read = record->as_read;
    row->from = bm_utf8_before_repair(text, read, lane->units.list[unit].from);
    row->to = bm_utf8_before_repair(text, read, lane->units.list[unit + row->longest - 1].to);
    return BM_OK;
}

/* The longest run of the units with which shingles of the class begin. */
static bm_status find_run(overlap_lane *lane, size_t begin, size_t end, uint64_t *unit,
                          bm_overlap_row *row, bm_error *err)
{
    uint64_t first = 0, longest = 0;
    lane->run.n = 0;
    for (size_t i = begin; i < end; i++) {
        const uint32_t at = (uint32_t)lane->touched.list[i];
        for (uint64_t k = lane->firsts.list[at]; k < lane->firsts.list[at + 1]; k++)
            BM_TRY(push(&lane->run, (uint32_t)lane->places.list[k], err));
    }
    BM_TRY(sort(lane, &lane->run, err));
    const uint64_t *list = lane->run.list;
    for (size_t i = 0; i < lane->run.n; i++) {
        if (i == 0 || list[i] != list[i - 1] + 1)
            first = list[i];
        if (list[i] - first + 1 > longest) {
            longest = list[i] - first + 1;
            *unit = first;
        }
    }
    row->longest = (uint32_t)(longest - 1 + lane->items->classes[row->class].units);
    return BM_OK;
}

/* --- classes --- */

static bool counts(const bm_items *items, uint32_t shingle)
{
    return items->stopped == NULL || !has_bit(items->stopped, shingle);
}

bool bm_overlap_holds(const bm_items *items, uint64_t hits, uint64_t n)
{
    return hits > 0 && (double)hits / (double)n >= items->settings->bands.threshold;
}

static bm_status touch_classes(overlap_lane *lane, bm_error *err)
{
    const bm_items *items = lane->items;
    lane->touched.n = 0;
    for (size_t i = 0; i + 1 < lane->firsts.n; i++) {
        const uint32_t shingle = shingle_at(lane, i);
        for (uint64_t k = items->class_begin[shingle]; k < items->class_begin[shingle + 1]; k++)
            BM_TRY(push(&lane->touched, (uint64_t)items->class_list[k] << 32 | i, err));
    }
    return sort(lane, &lane->touched, err);
}

static bm_status add_row(overlap_lane *lane, const bm_record *record, bm_overlap_row row,
                         size_t begin, size_t end, bm_buf *out, bm_error *err)
{
    uint64_t unit = 0;
    BM_TRY(find_run(lane, begin, end, &unit, &row, err));
    BM_TRY(find_bytes(lane, record, &row, unit, err));
    return bm_buf_add(out, &row, sizeof row, err);
}

/* Rows to the batch; what is better than before to lane->rows, behind them. */
static bm_status look_at_classes(overlap_lane *lane, const bm_record *record, said *head,
                                 bm_buf *out, bm_error *err)
{
    const bm_items *items = lane->items;
    const uint64_t *list = lane->touched.list;
    lane->rows.n = 0;
    for (size_t begin = 0, end; begin < lane->touched.n; begin = end) {
        bm_overlap_row row = {.class = (uint32_t)(list[begin] >> 32)};
        for (end = begin; end < lane->touched.n && list[end] >> 32 == row.class; end++)
            row.hits += counts(items, shingle_at(lane, (uint32_t)list[end]));
        if (row.hits > __atomic_load_n(&lane->found->best[row.class], __ATOMIC_RELAXED))
            BM_TRY(push(&lane->rows, (uint64_t)row.hits << 32 | row.class, err));
        if (!bm_overlap_holds(items, row.hits, items->classes[row.class].n))
            continue;
        BM_TRY(add_row(lane, record, row, begin, end, out, err));
        head->n_rows++;
    }
    return BM_OK;
}

static bm_status look_at_document(void *ctx, bm_shingler *shingler, const bm_record *record,
                                  bm_ingest_batch *batch, bm_error *err)
{
    overlap_lane *lane = ctx;
    bm_buf *out = &batch->scanned;
    BM_TRY(find_places(lane, shingler, record->text, &batch->shingles, err));
    if (lane->places.n == 0)
        return BM_OK;
    said head = {.doc = (uint32_t)batch->n_docs};
    const size_t at = out->len;
    lane->has_units = false;
    BM_TRY(bm_buf_add(out, &head, sizeof head, err));
    BM_TRY(group_places(lane, err));
    BM_TRY(touch_classes(lane, err));
    BM_TRY(look_at_classes(lane, record, &head, out, err));
    for (size_t i = 0; i < lane->rows.n; i++) {
        const better one = {(uint32_t)lane->rows.list[i], (uint32_t)(lane->rows.list[i] >> 32)};
        BM_TRY(bm_buf_add(out, &one, sizeof one, err));
    }
    head.n_best = (uint32_t)lane->rows.n;
    for (size_t i = 0; i + 1 < lane->firsts.n; i++) {
        const uint32_t shingle = shingle_at(lane, i);
        if (has_bit(lane->found->seen, shingle) || !counts(lane->items, shingle))
            continue;
        BM_TRY(bm_buf_add(out, &shingle, sizeof shingle, err));
        head.n_seen++;
    }
    memcpy(out->data + at, &head, sizeof head);
    return BM_OK;
}

static bm_status count_document(void *ctx, bm_shingler *shingler, const bm_record *record,
                                bm_ingest_batch *batch, bm_error *err)
{
    overlap_lane *lane = ctx;
    BM_TRY(find_places(lane, shingler, record->text, &batch->shingles, err));
    BM_TRY(group_places(lane, err));
    for (size_t i = 0; i + 1 < lane->firsts.n; i++)
        __atomic_fetch_add(&lane->found->counts[shingle_at(lane, i)], 1, __ATOMIC_RELAXED);
    return BM_OK;
}

static bm_status open_lane(void *ctx, void **out, bm_error *err)
{
    overlap_lane *lane = NULL;
    BM_TRY(bm_new_zero(&lane, 1, err));
    lane->found = ctx;
    lane->items = lane->found->items;
    *out = lane;
    return BM_OK;
}

static void close_lane(void *ctx)
{
    overlap_lane *lane = ctx;
    if (lane == NULL)
        return;
    bm_free_all(lane->places.list, lane->firsts.list, lane->touched.list, lane->scratch.list,
                lane->run.list, lane->rows.list);
    bm_text_units_reset(&lane->units);
    bm_free(lane);
}

bm_ingest_scan bm_overlap_scan(bm_overlap_found *found)
{
    return (bm_ingest_scan){open_lane, look_at_document, close_lane, found};
}

bm_ingest_scan bm_overlap_counting(bm_overlap_found *found)
{
    return (bm_ingest_scan){open_lane, count_document, close_lane, found};
}

/* --- the ordered end --- */

bm_status bm_overlap_open(const bm_items *items, bm_overlap_found *out, bm_error *err)
{
    *out = (bm_overlap_found){.items = items};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new_zero(&out->seen, items->n_shingles / 8 + 1, err));
    BM_TRY_OUT(bm_new_zero(&out->best, items->n_classes + 1, err));
    BM_TRY_OUT(bm_new_zero(&out->holders, items->n_classes + 1, err));
out:
    if (status != BM_OK)
        bm_overlap_reset(out);
    return status;
}

void bm_overlap_reset(bm_overlap_found *found)
{
    bm_column_reset(&found->column);
    bm_free_all(found->seen, found->best, found->holders, found->counts);
    *found = (bm_overlap_found){0};
}

static bm_status add_rows(bm_overlap_found *found, uint32_t doc, const char *rows, uint32_t n,
                          bm_error *err)
{
    const size_t bytes = (size_t)(found->n_rows + n) * sizeof *found->rows;
    if (bytes > found->column.bytes)
        BM_TRY(bm_column_grow(&found->column, bytes,
                              found->memory != 0 && bytes > found->memory ? found->temp_dir : NULL,
                              err));
    found->rows = found->column.data;
    for (uint32_t i = 0; i < n; i++) {
        bm_overlap_row *row = &found->rows[found->n_rows++];
        memcpy(row, rows + i * sizeof *row, sizeof *row);
        row->doc = doc;
        found->holders[row->class]++;
    }
    return BM_OK;
}

bm_status bm_overlap_sink(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    bm_overlap_found *found = ctx;
    if (batch->scanned.len == 0)
        return BM_OK;
    const char *at = batch->scanned.data, *const end = at + batch->scanned.len;
    while (at < end) {
        said head;
        memcpy(&head, at, sizeof head);
        at += sizeof head;
        BM_TRY(add_rows(found, (uint32_t)(first_row + head.doc), at, head.n_rows, err));
        at += head.n_rows * sizeof(bm_overlap_row);
        for (uint32_t i = 0; i < head.n_best; i++, at += sizeof(better)) {
            better one;
            memcpy(&one, at, sizeof one);
            if (one.hits > found->best[one.class])
                __atomic_store_n(&found->best[one.class], one.hits, __ATOMIC_RELAXED);
        }
        for (uint32_t i = 0; i < head.n_seen; i++, at += sizeof(uint32_t)) {
            uint32_t shingle;
            memcpy(&shingle, at, sizeof shingle);
            uint8_t *byte = &found->seen[shingle / 8];
            __atomic_store_n(byte, (uint8_t)(*byte | 1u << shingle % 8), __ATOMIC_RELAXED);
        }
    }
    bm_column_leave(&found->column);
    return BM_OK;
}
