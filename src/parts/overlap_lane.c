/* SPDX-License-Identifier: Apache-2.0 */
/* overlap_lane.c -- looks up the shingles of a document among the shingles of the items.
 *
 *     hashes of a window   -> those that pass the filter -> those in the table
 *     places               (shingle, unit), sorted: all occurrences of shingles
 *     touched              (class or group, how many of its shingles the document has), sorted
 *     rows                 classes that reach the threshold, with their longest run
 *
 * If no shingle is found, the document is finished after the first step. The joined text ignores
 * lines and paragraphs, so runs cross them. Byte offsets are computed only if the document contains
 * an item, in a second pass over its text (text/unit_text.h).
 *
 * If a class belongs to a group, its hits are its own plus those of the group. If the hits of the
 * group alone reach the threshold for some members, one row of the group represents all of them.
 *
 * A lane (the state of one thread) passes new facts to the sink, as bytes: a shingle that no
 * earlier document has, or a class if no earlier document has as many of its shingles. Lanes read
 * the sink's state and may miss its latest changes. So they may pass facts that are not new, but
 * they never omit a new one.
 *
 * Memory: each place takes 24 bytes, which is no more than the hashes and the table for making the
 * document's set would take. Each place of a shingle that very many items have takes 16 more. Each
 * class that shares a shingle with the document takes 16. Memory beyond the reserved memory is
 * counted, and so are rows until their batch is delivered (count_held).
 *
 * Tests: tests/cli/cases/overlap.sh */
#include "parts/overlap_parts.h"

#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "lsh/verify.h"
#include "text/join_exact.h"
#include "text/unit_text.h"

typedef struct words {
    uint64_t *list;
    size_t n, cap;
} words;

/* when `touched` has so many entries, entries of the same class are added up */
#define TOUCHED ((size_t)1 << 16)
/* if a list has more entries after a document, the lists of the lane are freed */
#define KEPT ((size_t)1 << 20)

typedef struct overlap_lane {
    bm_overlap_found *found;
    const bm_items *items;
    const bm_joined *joined;
    bm_shingler *shingler;
    words places;          /* shingle << 32 | unit; sorted after the whole document was scanned */
    words touched;         /* class or group << 32 | hits; at the end sorted, with one entry for
                            * each class or group */
    words scratch;         /* memory for sorting */
    words run;             /* unit numbers at which shingles of one class begin, sorted */
    words held;            /* group << 32 | index in `touched`, sorted */
    words better;          /* hits << 32 | class */
    bm_stretch *stretches; /* the stretches of the current group */
    size_t n_stretches, cap_stretches;
    bm_stretch longest; /* the longest of `stretches` */
    /* The rows of the document, and the units at which their runs begin and end. */
    bm_overlap_rows rows;
    words ends; /* unit << 32 | 2 * row if the unit is the first of the row's run; | 2 * row + 1 if
                 * it is the last */
    size_t at;  /* index of the next entry in `ends` */
    uint64_t counted; /* bytes of the lane's lists that bm_overlap_hold was told of */
} overlap_lane;

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

/* Count the memory of the lane's lists, except reserved memory. bm_overlap_bytes reserves
 * BM_OVERLAP_TOUCHED entries of `touched`. The lists `places`, `run` and `scratch` use the memory
 * that is reserved for the hashes of a document. */
static bm_status count_held(overlap_lane *lane, bm_error *err)
{
    const uint64_t touched = lane->touched.cap, before = lane->counted;
    lane->counted =
        (lane->held.cap + lane->better.cap + lane->ends.cap) * sizeof(uint64_t) +
        lane->cap_stretches * sizeof *lane->stretches + lane->rows.cap * sizeof *lane->rows.list +
        (touched > BM_OVERLAP_TOUCHED ? 2 * (touched - BM_OVERLAP_TOUCHED) * sizeof(uint64_t) : 0);
    return bm_overlap_hold(lane->found, lane->counted, before, err);
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
        n += bm_shingle_table_may_have(&lane->items->table, run->hashes[i]);
    }
    for (size_t i = 0; i < n; i++) /* prefetch slots, because the table is larger than a cache */
        bm_shingle_table_fetch(&lane->items->table, run->hashes[passed[i]]);
    for (size_t i = 0; i < n; i++) {
        const uint32_t shingle = bm_shingle_table_find(&lane->items->table, run->hashes[passed[i]]);
        if (shingle != BM_NO_SHINGLE)
            BM_TRY(push(&lane->places, (uint64_t)shingle << 32 | (run->first + passed[i]), err));
    }
    return BM_OK;
}

/* Where the n units of joined text that begin at `at` end. SIZE_MAX: there are fewer than n
 * units. */
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

/* An anchor was found at byte `at` of joined text. Add the short items that begin there. */
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
        const uint32_t shingle = bm_shingle_table_may_have(&items->table, hash)
                                     ? bm_shingle_table_find(&items->table, hash)
                                     : BM_NO_SHINGLE;
        if (shingle != BM_NO_SHINGLE &&
            items->of_shingle.begin[shingle] < items->of_shingle.begin[shingle + 1] &&
            items->classes[items->of_shingle.list[items->of_shingle.begin[shingle]]].units == units)
            BM_TRY(push(&lane->places, (uint64_t)shingle << 32 | unit, err));
    }
    return BM_OK;
}

static bm_status on_anchors(void *ctx, const bm_shingle_run *run, bm_error *err)
{
    overlap_lane *lane = ctx;
    for (size_t i = 0; i < run->n; i++) {
        if (!bm_shingle_table_may_have(&lane->items->table, run->hashes[i]))
            continue;
        const uint32_t shingle = bm_shingle_table_find(&lane->items->table, run->hashes[i]);
        if (shingle != BM_NO_SHINGLE && has_bit(lane->items->anchors, shingle))
            BM_TRY(look_at_anchor(lane, run->starts != NULL ? run->starts[i] : run->first_byte + i,
                                  run->first + i, err));
    }
    return BM_OK;
}

/* Find the places of the document. Documents that are short, empty or unreadable are counted as the
 * shingler would. */
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
    if (n_units > UINT32_MAX)
        return bm_fail(err, BM_ERR_UNSUPPORTED, "a text of %llu units; at most 2^32-1 are counted",
                       (unsigned long long)n_units);
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

/* --- classes --- */

static uint32_t shingle_of(uint64_t place)
{
    return (uint32_t)(place >> 32);
}

/* The index of the first place in the sorted list that is at or above `place`. */
static size_t first_place(const words *places, uint64_t place)
{
    bm_bisect b = {0, places->n};
    while (b.low < b.high)
        bm_bisect_go(&b, places->list[bm_middle(&b)] < place);
    return b.low;
}

/* Sort the touched classes and groups. Entries of the same class or group become one, with their
 * hits added. */
static bm_status add_up(overlap_lane *lane, bm_error *err)
{
    words *w = &lane->touched;
    size_t n = 0;
    BM_TRY(sort(lane, w, err));
    for (size_t i = 0; i < w->n; i++) {
        if (n > 0 && w->list[i] >> 32 == w->list[n - 1] >> 32)
            w->list[n - 1] += (uint32_t)w->list[i];
        else
            w->list[n++] = w->list[i];
    }
    w->n = n;
    return BM_OK;
}

static bm_status touch_classes(overlap_lane *lane, bm_error *err)
{
    const bm_items *items = lane->items;
    const uint64_t *places = lane->places.list;
    size_t most = TOUCHED;
    lane->touched.n = 0;
    for (size_t i = 0; i < lane->places.n; i++) {
        const uint32_t shingle = shingle_of(places[i]);
        if (i > 0 && shingle == shingle_of(places[i - 1]))
            continue;
        /* a stopped shingle adds no hit, but its class is touched, because runs include stopped
         * shingles */
        const uint64_t hits = bm_items_counts(items, shingle),
                       end = items->of_shingle.begin[shingle + 1];
        for (uint64_t k = items->of_shingle.begin[shingle]; k < end; k++)
            BM_TRY(push(&lane->touched, (uint64_t)items->of_shingle.list[k] << 32 | hits, err));
        if (lane->touched.n < most)
            continue;
        BM_TRY(add_up(lane, err));
        BM_TRY(count_held(lane, err));
        most = 2 * lane->touched.n > TOUCHED ? 2 * lane->touched.n : TOUCHED;
    }
    return add_up(lane, err);
}

/* --- runs --- */

static bm_status add_places(overlap_lane *lane, uint32_t shingle, size_t at, bm_error *err)
{
    for (; at < lane->places.n && shingle_of(lane->places.list[at]) == shingle; at++)
        BM_TRY(push(&lane->run, (uint32_t)lane->places.list[at], err));
    return BM_OK;
}

static bool has_shingle(const bm_items *items, const bm_item_class *class, uint32_t shingle)
{
    bm_bisect b = {(size_t) class->begin, (size_t) class->end};
    while (b.low < b.high)
        bm_bisect_go(&b, items->sets[bm_middle(&b)] < shingle);
    return b.low < class->end && items->sets[b.low] == shingle;
}

/* Append to lane->run the units at which the class's shingles begin, by merging two sorted
 * lists. */
static bm_status merge_units(overlap_lane *lane, const bm_item_class *class, bm_error *err)
{
    const words *places = &lane->places;
    const uint32_t *at = lane->items->sets + class->begin, *const end =
                                                               lane->items->sets + class->end;
    for (size_t i = 0; i < places->n && at < end;) {
        const uint32_t shingle = shingle_of(places->list[i]);
        if (shingle == *at)
            BM_TRY(push(&lane->run, (uint32_t)places->list[i], err));
        if (shingle > *at)
            at++;
        else
            i++;
    }
    return BM_OK;
}

/* if one list is longer by this factor, each element of the shorter list is looked up in it */
#define MANY_TIMES 8u

/* Set lane->run to the units at which the class's own shingles begin, sorted. Stopped shingles are
 * included. */
static bm_status find_units(overlap_lane *lane, uint32_t number, bm_error *err)
{
    const bm_items *items = lane->items;
    const bm_item_class *class = &items->classes[number];
    const words *places = &lane->places;
    const uint64_t n = class->end - class->begin;
    lane->run.n = 0;
    if (n < places->n / MANY_TIMES) {
        for (uint64_t i = class->begin; i < class->end; i++) {
            const uint32_t shingle = items->sets[i];
            BM_TRY(add_places(lane, shingle, first_place(places, (uint64_t)shingle << 32), err));
        }
    } else if (places->n < n / MANY_TIMES) {
        for (size_t i = 0; i < places->n; i++)
            if (has_shingle(items, class, shingle_of(places->list[i])))
                BM_TRY(push(&lane->run, (uint32_t)places->list[i], err));
    } else {
        BM_TRY(merge_units(lane, class, err));
    }
    return sort(lane, &lane->run, err);
}

/* Find the stretches of a group. If `group` is BM_NO_CLASS, there are none. */
static bm_status find_stretches(overlap_lane *lane, uint32_t group, bm_error *err)
{
    lane->n_stretches = 0;
    if (group != BM_NO_CLASS) {
        BM_TRY(find_units(lane, group, err));
        BM_TRY(bm_grow_array(&lane->stretches, &lane->cap_stretches, lane->run.n, err));
        lane->n_stretches = bm_stretches_make(lane->run.list, lane->run.n, lane->stretches);
    }
    lane->longest = bm_stretches_longest(lane->stretches, lane->n_stretches);
    return BM_OK;
}

static bm_status add_row(overlap_lane *lane, uint32_t class, uint32_t hits, bm_stretch run,
                         bm_error *err)
{
    const uint64_t longest = run.end - run.first + lane->items->classes[class].units - 1;
    const size_t n = lane->rows.n;
    if (run.end == run.first)
        return bm_fail(err, BM_ERR_INTERNAL, "an item of %u shingles has no place", hits);
    BM_TRY(bm_grow_array(&lane->rows.list, &lane->rows.cap, n + 1, err));
    lane->rows.list[lane->rows.n++] =
        (bm_overlap_row){.class = class, .hits = hits, .longest = (uint32_t)longest};
    BM_TRY(push(&lane->ends, run.first << 32 | 2 * n, err));
    return push(&lane->ends, (run.first + longest - 1) << 32 | (2 * n + 1), err);
}

/* --- the bytes of a run --- */

typedef struct finding {
    overlap_lane *lane;
    const bm_record *record;
    bm_utf8_places from, to; /* the last offsets that were converted: of run beginnings, and of run
                              * ends */
} finding;

/* If runs begin or end with this unit, set `from` or `to` of their rows. */
static bm_status at_unit(void *ctx, uint64_t number, bm_str bytes, size_t from, size_t to,
                         bm_error *err)
{
    finding *f = ctx;
    overlap_lane *lane = f->lane;
    (void)bytes;
    (void)err;
    for (; lane->at < lane->ends.n && lane->ends.list[lane->at] >> 32 == number; lane->at++) {
        const uint32_t end = (uint32_t)lane->ends.list[lane->at];
        bm_overlap_row *row = &lane->rows.list[end / 2];
        if (end % 2 == 0)
            row->from =
                bm_utf8_go_before_repair(f->record->text, f->record->as_read, from, &f->from);
        else
            row->to = bm_utf8_go_before_repair(f->record->text, f->record->as_read, to, &f->to);
    }
    return BM_OK;
}

static bm_status find_bytes(overlap_lane *lane, const bm_record *record, bm_error *err)
{
    finding f = {.lane = lane, .record = record};
    if (lane->rows.n == 0)
        return BM_OK;
    if (lane->rows.n > UINT32_MAX / 2)
        return bm_fail(err, BM_ERR_UNSUPPORTED, "a document that holds more than 2^31-1 items");
    lane->at = 0;
    BM_TRY(sort(lane, &lane->ends, err));
    BM_TRY(bm_text_units_walk(&lane->items->settings->text, record->text, at_unit, &f, err));
    return lane->at == lane->ends.n
               ? BM_OK
               : bm_fail(err, BM_ERR_INTERNAL, "a run of units that a text has not");
}

/* --- a document --- */

/* How many shingles of a group the document has. In `touched`, groups begin at index `first`. 0 if
 * `group` is BM_NO_CLASS. */
static uint32_t group_hits(const overlap_lane *lane, size_t first, uint32_t group)
{
    const uint64_t *list = lane->touched.list;
    bm_bisect b = {first, lane->touched.n};
    if (group == BM_NO_CLASS)
        return 0;
    while (b.low < b.high)
        bm_bisect_go(&b, list[bm_middle(&b)] >> 32 < group);
    return b.low < lane->touched.n && list[b.low] >> 32 == group ? (uint32_t)list[b.low] : 0;
}

static bm_status note_hits(overlap_lane *lane, uint32_t number, uint32_t hits, bm_error *err)
{
    return hits > __atomic_load_n(&lane->found->best[number], __ATOMIC_RELAXED)
               ? push(&lane->better, (uint64_t)hits << 32 | number, err)
               : BM_OK;
}

/* Add rows for the classes that the document contains, group by group. A class is omitted if the
 * document has shingles of its group, but none of its own. */
static bm_status hold_classes(overlap_lane *lane, size_t n_classes, bm_error *err)
{
    const bm_items *items = lane->items;
    const uint64_t *touched = lane->touched.list;
    lane->held.n = 0;
    for (size_t i = 0; i < n_classes; i++) {
        const uint32_t number = (uint32_t)(touched[i] >> 32);
        const bm_item_class *class = &items->classes[number];
        const uint32_t hits = (uint32_t)touched[i] + group_hits(lane, n_classes, class->group);
        BM_TRY(note_hits(lane, number, hits, err));
        if (bm_overlap_holds(items, hits, class->n))
            BM_TRY(push(&lane->held, (uint64_t) class->group << 32 | i, err));
    }
    if (items->n_groups > 0)
        BM_TRY(sort(lane, &lane->held, err));
    uint32_t at_hand = BM_NO_CLASS;
    BM_TRY(find_stretches(lane, at_hand, err));
    for (size_t i = 0; i < lane->held.n; i++) {
        const uint32_t group = (uint32_t)(lane->held.list[i] >> 32);
        const uint64_t of = touched[(uint32_t)lane->held.list[i]];
        const uint32_t number = (uint32_t)(of >> 32),
                       hits = (uint32_t)of + group_hits(lane, n_classes, group);
        if (group != at_hand)
            BM_TRY(find_stretches(lane, group, err));
        at_hand = group;
        BM_TRY(find_units(lane, number, err));
        BM_TRY(add_row(lane, number, hits,
                       bm_stretches_longest_with(lane->run.list, lane->run.n, lane->stretches,
                                                 lane->n_stretches, lane->longest),
                       err));
    }
    return BM_OK;
}

/* If the document has enough shingles of a group for at least one member to reach the threshold,
 * add a row for the group. */
static bm_status hold_groups(overlap_lane *lane, size_t first, bm_error *err)
{
    for (size_t i = first; i < lane->touched.n; i++) {
        const uint32_t group = (uint32_t)(lane->touched.list[i] >> 32),
                       hits = (uint32_t)lane->touched.list[i];
        BM_TRY(note_hits(lane, group, hits, err));
        if (bm_items_members(lane->items, group, hits) == 0)
            continue;
        BM_TRY(find_stretches(lane, group, err));
        BM_TRY(add_row(lane, group, hits, lane->longest, err));
    }
    return BM_OK;
}

/* --- cuts --- */

/* List the classes and groups whose stretches the rows cover, in lane->held: class or group << 32 |
 * class or group of the row. */
static bm_status list_held(overlap_lane *lane, bm_error *err)
{
    const bm_items *items = lane->items;
    lane->held.n = 0;
    for (size_t i = 0; i < lane->rows.n; i++) {
        const uint32_t number = lane->rows.list[i].class, group = items->classes[number].group;
        BM_TRY(push(&lane->held, (uint64_t)number << 32 | number, err));
        if (number < items->n_classes && group != BM_NO_CLASS)
            BM_TRY(push(&lane->held, (uint64_t)group << 32 | number, err));
    }
    return sort(lane, &lane->held, err);
}

/* Find a row whose class or group has the shingle, itself or through its group. Returns the
 * smallest such class or group. BM_NO_CLASS: no row has the shingle. */
static uint32_t holder_of(const overlap_lane *lane, uint32_t shingle)
{
    const bm_lists *of = &lane->items->of_shingle;
    const words *held = &lane->held;
    uint32_t least = BM_NO_CLASS;
    for (uint64_t i = of->begin[shingle]; i < of->begin[shingle + 1]; i++) {
        const size_t at = first_place(held, (uint64_t)of->list[i] << 32);
        if (at < held->n && held->list[at] >> 32 == of->list[i] && (uint32_t)held->list[at] < least)
            least = (uint32_t)held->list[at];
    }
    return least;
}

/* Add a row for a cut: units first … end-1. */
static bm_status add_cut(overlap_lane *lane, uint32_t class, uint64_t first, uint64_t end,
                         bm_error *err)
{
    const size_t n = lane->rows.n;
    BM_TRY(bm_grow_array(&lane->rows.list, &lane->rows.cap, n + 1, err));
    lane->rows.list[lane->rows.n++] = (bm_overlap_row){.class = class};
    BM_TRY(push(&lane->ends, first << 32 | 2 * n, err));
    return push(&lane->ends, (end - 1) << 32 | (2 * n + 1), err);
}

/* Add the cuts of the document: the stretches of all items that have a row. Overlapping stretches
 * are united. */
static bm_status add_cuts(overlap_lane *lane, bm_error *err)
{
    const uint64_t *places = lane->places.list;
    uint32_t holder = BM_NO_CLASS, class = 0;
    uint64_t first = 0, end = 0;
    if (lane->rows.n == 0)
        return BM_OK;
    BM_TRY(list_held(lane, err));
    lane->run.n = 0;
    for (size_t i = 0; i < lane->places.n; i++) {
        if (i == 0 || shingle_of(places[i]) != shingle_of(places[i - 1]))
            holder = holder_of(lane, shingle_of(places[i]));
        if (holder != BM_NO_CLASS)
            BM_TRY(push(&lane->run, places[i] << 32 | holder, err));
    }
    BM_TRY(sort(lane, &lane->run, err));
    for (size_t i = 0; i < lane->run.n; i++) {
        const uint32_t by = (uint32_t)lane->run.list[i], units = lane->items->classes[by].units;
        const uint64_t at = lane->run.list[i] >> 32;
        /* if shingles have one unit, they cannot overlap, so adjacent ones are united */
        if (i > 0 && at >= end + (units == 1))
            BM_TRY(add_cut(lane, class, first, end, err));
        if (i == 0 || at >= end + (units == 1)) {
            first = at;
            class = by;
            end = at;
        }
        end = end < at + units ? at + units : end;
    }
    return lane->run.n > 0 ? add_cut(lane, class, first, end, err) : BM_OK;
}

static bm_status find_rows(overlap_lane *lane, const bm_record *record, bm_error *err)
{
    lane->rows.n = lane->ends.n = lane->better.n = 0;
    BM_TRY(sort(lane, &lane->places, err));
    BM_TRY(touch_classes(lane, err));
    const words *touched = &lane->touched;
    const size_t n = first_place(touched, (uint64_t)lane->items->n_classes << 32);
    BM_TRY(hold_classes(lane, n, err));
    BM_TRY(hold_groups(lane, n, err));
    const size_t n_held = lane->rows.n;
    if (lane->found->cuts)
        BM_TRY(add_cuts(lane, err));
    BM_TRY(find_bytes(lane, record, err));
    return lane->found->cuts && n_held > 0
               ? bm_overlap_cuts_end(lane->found, record, &lane->rows, n_held, err)
               : BM_OK;
}

/* Pass on those counting shingles of the document that no earlier document has. */
static bm_status say_seen(overlap_lane *lane, bm_buf *out, uint32_t *n, bm_error *err)
{
    const uint64_t *places = lane->places.list;
    for (size_t i = 0; i < lane->places.n; i++) {
        const uint32_t shingle = shingle_of(places[i]);
        if ((i > 0 && shingle == shingle_of(places[i - 1])) ||
            has_bit(lane->found->seen, shingle) || !bm_items_counts(lane->items, shingle))
            continue;
        BM_TRY(bm_buf_add(out, &shingle, sizeof shingle, err));
        ++*n;
    }
    return BM_OK;
}

static void free_lists(overlap_lane *lane)
{
    bm_free_all(lane->places.list, lane->touched.list, lane->scratch.list, lane->run.list,
                lane->held.list, lane->better.list, lane->stretches, lane->rows.list,
                lane->ends.list);
}

/* Free the lists of the lane if a long document made them large. */
static void trim(overlap_lane *lane)
{
    if (lane->places.cap <= KEPT && lane->touched.cap <= KEPT && lane->rows.cap <= KEPT / 8)
        return;
    free_lists(lane);
    *lane = (overlap_lane){.found = lane->found, .items = lane->items, .counted = lane->counted};
    (void)count_held(lane, NULL);
}

/* Open the lane *out if it is not open yet. */
static bm_status open_lane(bm_overlap_found *found, void **out, bm_error *err)
{
    overlap_lane *lane = NULL;
    if (*out != NULL)
        return BM_OK;
    BM_TRY(bm_new_zero(&lane, 1, err));
    lane->found = found;
    lane->items = found->items;
    *out = lane;
    return BM_OK;
}

static bm_status look_at_document(void *ctx, void **opened, bm_shingler *shingler,
                                  const bm_record *record, bm_ingest_batch *batch, bm_error *err)
{
    BM_TRY(open_lane(ctx, opened, err));
    overlap_lane *lane = *opened;
    bm_buf *out = &batch->scanned;
    BM_TRY(find_places(lane, shingler, record->text, &batch->shingles, err));
    if (lane->places.n == 0)
        return BM_OK;
    BM_TRY(find_rows(lane, record, err));
    BM_TRY(count_held(lane, err));
    bm_overlap_said head = {.doc = (uint32_t)batch->n_docs,
                            .n_rows = (uint32_t)lane->rows.n,
                            .n_best = (uint32_t)lane->better.n};
    const size_t at = out->len;
    BM_TRY(bm_buf_add(out, &head, sizeof head, err));
    if (lane->rows.n > 0)
        BM_TRY(bm_buf_add(out, lane->rows.list, lane->rows.n * sizeof *lane->rows.list, err));
    for (size_t i = 0; i < lane->better.n; i++) {
        const uint64_t of = lane->better.list[i];
        const bm_overlap_better one = {(uint32_t)of, (uint32_t)(of >> 32)};
        BM_TRY(bm_buf_add(out, &one, sizeof one, err));
    }
    BM_TRY(say_seen(lane, out, &head.n_seen, err));
    memcpy(out->data + at, &head, sizeof head);
    trim(lane);
    return bm_overlap_hold(lane->found, out->len - at, 0, err); /* the bytes are held until the
                                                                 * batch is delivered */
}

static bm_status count_document(void *ctx, void **opened, bm_shingler *shingler,
                                const bm_record *record, bm_ingest_batch *batch, bm_error *err)
{
    BM_TRY(open_lane(ctx, opened, err));
    overlap_lane *lane = *opened;
    BM_TRY(find_places(lane, shingler, record->text, &batch->shingles, err));
    BM_TRY(sort(lane, &lane->places, err));
    for (size_t i = 0; i < lane->places.n; i++) {
        const uint32_t shingle = shingle_of(lane->places.list[i]);
        if (i == 0 || shingle != shingle_of(lane->places.list[i - 1]))
            __atomic_fetch_add(&lane->found->counts[shingle], 1, __ATOMIC_RELAXED);
    }
    trim(lane);
    return BM_OK;
}

static void close_lane(void *ctx)
{
    overlap_lane *lane = ctx;
    if (lane == NULL)
        return;
    free_lists(lane);
    bm_free(lane);
}

bm_ingest_scan bm_overlap_scan(bm_overlap_found *found)
{
    return (bm_ingest_scan){.document = look_at_document, .close = close_lane, .ctx = found};
}

bm_ingest_scan bm_overlap_counting(bm_overlap_found *found)
{
    return (bm_ingest_scan){.document = count_document, .close = close_lane, .ctx = found};
}
