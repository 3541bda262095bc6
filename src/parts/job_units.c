/* SPDX-License-Identifier: Apache-2.0 */
/* job_units.c -- cuts repeated lines, paragraphs and spans (stretches of K units) out of their
 * documents.
 *
 *     read      documents -> units -> (hash of its shingles, place, hash of its bytes, length)
 *     by hash   units with equal hashes are a group:  (first place, kept unit)  and its members
 *     by group  a row of groups.jsonl for each group, and the cuts
 *     by place  cuts.tsv, the ranges of each document, and the documents that are left empty
 *     copy      kept records without their ranges
 *
 * Spans are found in another way (spans.c) and have no groups, but their cuts are sorted by place
 * too.
 *
 * Near-duplicate units are found by a second job, whose documents are the units
 * (job/job_context.h). It signs, bands, compares and groups units as `dedup` does with documents.
 * If `keep` ranks units, the second job also finds equal units.
 *
 *     read      documents -> numbers of nonblank units            [this job]
 *     units     units -> corpus -> edges -> groups                [the job of units]
 *     by group  as above
 *
 * Each "by ..." line is a sort (spill/sorted_runs.h). So memory does not grow with the number of
 * units, and the work for a group is linear in its size. The place of a unit is a 64-bit number
 * that ascends in input order: the bytes of text before the unit in all documents, plus one for
 * each document. Like documents (model/stream_hash.h), units are equal if their 128-bit hashes are
 * equal. Equal units are identical if the XXH3 hashes of their bytes are equal too.
 *
 * Threads: all threads split texts into units, hash them and copy records. One thread sorts.
 *
 * Tests: tests/reference/test_units.py, tests/reference/test_near_units.py,
 *        tests/reference/test_spans.py, tests/cli/cases/units.sh */
#include "parts/units_state.h"

#include <inttypes.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/bisect.h"
#include "base/column.h"
#include "base/error.h"
#include "base/utf8.h"
#include "input/keep_key.h"
#include "input/parser.h"
#include "job/job_steps.h"
#include "job/kept_pass.h"
#include "job/histogram.h"
#include "job/report_file.h"
#include "job/rows.h"
#include "model/file_names.h"
#include "parts/cuts.h"
#include "results/result_tables.h"
#include "spill/sorted_runs.h"
#include "text/shingle_ops.h"
#include "text/shingler.h"
#include "text/unreadable.h"

/* 1 / SORTER_PART of the memory for each sorter; two sorters are open at a time */
#define SORTER_PART   8u
#define DOCS_AN_ENTRY 16 /* average number of documents for each entry of the index of places */

typedef bm_units units;

/* --- records of the sorters ---
 *
 * A record consists of big-endian numbers, so that the order of records is that of their
 * numbers. */

static void put(char *out, uint64_t value)
{
    for (size_t i = 0; i < 8; i++)
        out[i] = (char)(value >> (56 - 8 * i));
}

static uint64_t get(const char *in)
{
    uint64_t value = 0;
    for (size_t i = 0; i < 8; i++)
        value = value << 8 | (unsigned char)in[i];
    return value;
}

#define NUMBERS_MAX 6u

static bm_status add_numbers(bm_sorted_runs *runs, const uint64_t *numbers, size_t n, bm_error *err)
{
    char bytes[8 * NUMBERS_MAX];
    for (size_t i = 0; i < n; i++)
        put(bytes + 8 * i, numbers[i]);
    return bm_sorted_runs_add_bytes(runs, (bm_str){bytes, 8 * n}, 0, err);
}

/* Read the next record into `numbers`, which has n elements. If no record is left, *more becomes
 * false. */
static bm_status next_numbers(bm_sorted_runs *runs, uint64_t *numbers, size_t n, bool *more,
                              bm_error *err)
{
    bm_bytes_record record;
    const bm_status status = bm_sorted_runs_next_bytes(runs, &record, err);
    *more = status == BM_OK;
    for (size_t i = 0; *more && i < n; i++)
        numbers[i] = get(record.bytes.data + 8 * i);
    return status == BM_NOT_FOUND ? BM_OK : status;
}

static size_t sorter_memory(const units *u)
{
    const uint64_t memory = u->settings->memory;
    return memory == 0 ? SIZE_MAX / 2 : (size_t)(memory / SORTER_PART);
}

static bm_status open_sorter(const units *u, bm_sorted_runs **out, bm_error *err)
{
    return bm_sorted_runs_open_bytes(u->settings->temp_dir, sorter_memory(u), out, err);
}

/* --- reading the units of a document, on any thread --- */

typedef struct unit_lane {
    const units *u;
    bm_hash128 within; /* hash of the document's value of the `within` field; combined with all
                        * hashes of the document */
    bm_unit_reading reading;
    bm_span_lane *spans; /* NULL: the units are lines or paragraphs */
    /* counts words; NULL: the job's shingler counts them, because it makes shingles of words */
    bm_shingler *words;
    bm_shingle_batch made;
    bm_buf repaired;
} unit_lane;

/* The header that the scan of a document writes. The units of the document follow it. */
typedef struct said {
    uint64_t n, filled;
    uint64_t n_units; /* used only for spans */
} said;

typedef struct said_unit {
    bm_hash128 hash;
    uint64_t from, len, text_hash;
} said_unit;

static void close_lane(void *lane)
{
    unit_lane *l = lane;
    if (l == NULL)
        return;
    bm_span_lane_close(l->spans);
    bm_shingler_close(l->words);
    bm_shingle_batch_reset(&l->made);
    bm_buf_reset(&l->repaired);
    bm_free(l);
}

static bm_status open_lane(units *u, void **lane, bm_error *err)
{
    bm_text_options words = u->settings->text;
    unit_lane *l = NULL;
    BM_TRY(bm_new_zero(&l, 1, err));
    l->u = u;
    l->reading = u->reading;
    bm_status status = BM_OK;
    if (u->spans)
        BM_TRY_OUT(bm_span_lane_open(u->settings, &u->filter, u->far.file != NULL ? &u->far : NULL,
                                     &l->spans, err));
    if (u->spans || bm_shingle_is_of_words(words.shingle))
        goto out;
    words.shingle = BM_SHINGLE_WORD;
    words.shingle_k = 1;
    BM_TRY_OUT(bm_shingler_open(&words, u->settings->device.cpu, &l->words, err));
out:
    if (status != BM_OK) {
        close_lane(l);
        return status;
    }
    *lane = l;
    return BM_OK;
}

/* Make the shingles of a unit. If it has no shingles, or fewer than min_words words, *is_unit
 * becomes false. */
static bm_status shingle(unit_lane *l, bm_shingler *shingler, bm_str text, bool *is_unit,
                         bm_error *err)
{
    const struct bm_joined *joined = NULL;
    const uint32_t least = l->u->settings->pairs.min_words;
    uint64_t n_replaced = 0;
    *is_unit = false;
    if (bm_utf8_valid_prefix(text.data, text.len) < text.len) {
        l->repaired.len = 0;
        BM_TRY(bm_utf8_repair(text.data, text.len, &l->repaired, &n_replaced, err));
        text = (bm_str){l->repaired.data, l->repaired.len};
    }
    BM_TRY(bm_shingler_join(l->words != NULL ? l->words : shingler, text, &joined, err));
    if (bm_joined_words(joined, least) < least)
        return BM_OK;
    bm_shingle_batch_clear(&l->made);
    BM_TRY(l->words != NULL ? bm_shingler_add(shingler, text, &l->made, err)
                            : bm_shingler_add_last_joined(shingler, &l->made, err));
    *is_unit = bm_shingle_batch_last(&l->made) > 0;
    return BM_OK;
}

/* Add a unit to the batch as a document. */
static bm_status add_part(unit_lane *l, const said_unit *unit, bm_ingest_batch *batch,
                          bm_error *err)
{
    const bm_ingest_part part = {unit->len, unit->text_hash};
    const size_t n = bm_shingle_batch_last(&l->made),
                 at = bm_shingle_batch_hashes(&batch->shingles);
    BM_TRY(bm_shingle_batch_reserve(&batch->shingles, 1, n, err));
    for (size_t i = 0; i < n; i++) /* make units with different values of `within` share no
                                    * shingle */
        batch->shingles.hashes[at + i] = l->made.hashes[i] ^ l->within.lo;
    bm_shingle_batch_commit(&batch->shingles, n, unit->hash);
    return bm_buf_add(&batch->parts, &part, sizeof part, err);
}

/* Add the units of a text field or element, which begins at byte `begin` of the document's text.
 * `fixed`: its units cannot be cut, and are only counted. */
static bm_status add_units(unit_lane *l, bm_shingler *shingler, bm_str text, uint64_t begin,
                           bool fixed, said *head, bm_ingest_batch *batch, bm_error *err)
{
    bm_buf *out = &batch->scanned;
    for (size_t at = 0; at < text.len;) {
        const bm_text_unit_end end = bm_unit_end(l->u->settings->pairs.unit, text, at);
        const bm_str bytes = {text.data + at, end.end - at};
        bool is_unit = false;
        head->filled += !end.blank;
        if (!end.blank && !fixed && l->reading != BM_READ_DOCUMENTS)
            BM_TRY(shingle(l, shingler, bytes, &is_unit, err));
        if (is_unit) {
            const bm_hash128 hash = l->made.content[0];
            const said_unit unit = {{.lo = hash.lo ^ l->within.lo, .hi = hash.hi ^ l->within.hi},
                                    begin + at,
                                    bytes.len,
                                    XXH3_64bits(bytes.data, bytes.len)};
            BM_TRY(l->reading == BM_READ_PARTS ? bm_buf_add(out, &unit.from, sizeof unit.from, err)
                                               : bm_buf_add(out, &unit, sizeof unit, err));
            if (l->reading == BM_READ_PARTS)
                BM_TRY(add_part(l, &unit, batch, err));
            head->n++;
        }
        at = end.end;
    }
    return BM_OK;
}

/* If documents are compared only within the same value of a field, find the document's value.
 * Returns false if the document has no value, and so is not compared. */
static bool find_value(unit_lane *l, const bm_record *record)
{
    const bm_keep_rules *rules = &l->u->settings->keep;
    bm_keep_key_parts parts;
    if (!bm_keep_rules_divide(rules))
        return true;
    if (!bm_keep_key_split(rules, record->keep_key, &parts) ||
        parts.seen[rules->n_by_field - 1] != BM_KEEP_SEEN)
        return false;
    const size_t at = bm_keep_key_part(rules, parts.compared, rules->n - 1);
    const XXH128_hash_t hash = XXH3_128bits(parts.compared.data + at, parts.compared.len - at);
    l->within = (bm_hash128){.lo = hash.low64, .hi = hash.high64};
    return true;
}

static bm_status look_at_document(void *ctx, void **lane, bm_shingler *shingler,
                                  const bm_record *record, bm_ingest_batch *batch, bm_error *err)
{
    if (*lane == NULL)
        BM_TRY(open_lane(ctx, lane, err));
    unit_lane *l = *lane;
    bm_buf *out = &batch->scanned;
    const bm_str text = record->as_read.data != NULL ? record->as_read : record->text;
    const bm_text_part whole = {.range = {0, text.len}}, *parts = &whole;
    const bool unreadable = bm_text_is_odd(record->text) && bm_text_is_unreadable(record->text);
    const bool alone = unreadable || !find_value(l, record);
    const size_t head_at = out->len;
    said head = {0};
    size_t n_parts = 1;
    if (l->reading != BM_READ_PARTS) {
        BM_TRY(bm_shingle_batch_reserve(&batch->shingles, 1, 0, err));
        bm_shingle_batch_commit(&batch->shingles, 0, (bm_hash128){0});
    }
    BM_TRY(bm_buf_add(out, &head, sizeof head, err));
    if (l->spans != NULL)
        BM_TRY(bm_span_lane_begin(l->spans, record->text, record->as_read, l->within, out, err));
    batch->shingles.n_empty += text.len == 0;
    batch->shingles.n_unreadable += unreadable;
    if (l->u->has_parts && !alone)
        BM_TRY(bm_record_text_parts(record, &parts, &n_parts, err));
    for (size_t i = 0; i < n_parts && !alone; i++) {
        const bm_text_range *r = &parts[i].range;
        const bm_str part = {text.data + r->from, (size_t)(r->to - r->from)};
        const bool fixed = parts[i].coding == BM_CODING_FIXED;
        if (l->spans == NULL)
            BM_TRY(add_units(l, shingler, part, r->from, fixed, &head, batch, err));
        else if (fixed)
            bm_span_lane_skip(l->spans, *r);
        else
            BM_TRY(bm_span_lane_add(l->spans, shingler, *r, err));
    }
    if (l->spans != NULL) {
        BM_TRY(bm_span_lane_end(l->spans, err));
        head.filled = bm_span_lane_filled(l->spans);
        head.n_units = bm_span_lane_units(l->spans);
    }
    memcpy(out->data + head_at, &head, sizeof head);
    return BM_OK;
}

/* Read the unit at *at, and add it to u->by_hash. It is in the document that begins at u->place. */
static bm_status add_unit(units *u, const char **at, bm_error *err)
{
    said_unit unit;
    memcpy(&unit, *at, sizeof unit);
    *at += sizeof unit;
    return add_numbers(
        u->by_hash,
        (uint64_t[]){unit.hash.hi, unit.hash.lo, u->place + unit.from, unit.text_hash, unit.len}, 5,
        err);
}

/* Add n K-grams. They are in the document that begins at u->place. */
static bm_status add_grams(void *ctx, const char *grams, size_t n, bm_error *err)
{
    units *u = ctx;
    for (size_t i = 0; i < n; i++) {
        bm_span_gram gram;
        memcpy(&gram, grams + i * sizeof gram, sizeof gram);
        gram.from += u->place;
        gram.unit += u->n_units;
        BM_TRY(bm_span_grams_add(&u->grams, &gram, err));
    }
    return BM_OK;
}

/* The `place` of a sink: assigns places to documents and their units, in input order. */
static bm_status on_batch(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    units *u = ctx;
    const char *at = batch->scanned.data;
    const size_t n = u->n_docs + batch->n_docs;
    (void)first_row;
    if (u->job.context.keep.rules != NULL)
        BM_TRY(bm_keep_keys_add_batch(&u->job.context.keep, batch, err));
    BM_TRY(bm_column_grow(&u->docs, (n + 1) * sizeof(bm_unit_doc), u->settings->temp_dir, err));
    bm_unit_doc *docs = u->docs.data;
    for (size_t i = 0; i < batch->n_docs; i++) {
        said head;
        memcpy(&head, at, sizeof head);
        at += sizeof head;
        docs[u->n_docs++] = (bm_unit_doc){u->place, head.filled};
        u->job.context.counts.unit.units += u->spans ? 0 : head.n;
        for (uint64_t k = 0; k < head.n; k++)
            BM_TRY(add_unit(u, &at, err));
        if (u->spans)
            BM_TRY(bm_span_each(&u->far, &at, sizeof(bm_span_gram), add_grams, u, err));
        u->place += batch->docs[i].row.text_bytes + 1;
        u->n_units += head.n_units;
    }
    docs[u->n_docs].begin = u->place;
    return BM_OK;
}

/* The state of the pass that makes the filter. */
typedef struct marking {
    bm_span_far *far;
    bm_sorted_runs *marks;
} marking;

static bm_status on_marks(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    marking *m = ctx;
    const char *at = batch->scanned.data;
    (void)first_row;
    for (size_t i = 0; i < batch->n_docs; i++) {
        at += sizeof(said);
        BM_TRY(bm_span_each(m->far, &at, sizeof(uint64_t), bm_span_mark, m->marks, err));
    }
    return BM_OK;
}

static bm_ingest_scan scan_of(units *u)
{
    return (bm_ingest_scan){.document = look_at_document, .close = close_lane, .ctx = u};
}

/* If units are spans and memory is limited, open the file for the findings of long documents. */
static bm_status open_far(units *u, bm_error *err)
{
    return u->spans && u->settings->memory != 0
               ? bm_span_far_open(u->settings->temp_dir, &u->far, err)
               : BM_OK;
}

static bm_status make_filter(units *u, bm_error *err)
{
    bm_job_context *context = &u->job.context;
    const size_t memory = sorter_memory(u);
    marking m = {.far = &u->far};
    BM_TRY(open_far(u, err));
    BM_TRY(bm_sorted_runs_open(u->settings->temp_dir, memory, &m.marks, err));
    const bm_ingest_request request = {.sink = {.place = on_marks, .ctx = &m}, .scan = scan_of(u)};
    bm_job_context_stage(context, BM_STAGE_COUNT, "bytes");
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_job_context_count(context, &request, err));
    status = bm_span_filter_make(m.marks, u->settings->pairs.keep_count,
                                 u->settings->memory == 0 ? 0 : memory, &u->filter, err);
out:
    bm_sorted_runs_close(m.marks);
    bm_span_far_close(&u->far);
    return status;
}

/* Fail if `keep` or `within` names a field that no document has. Log how many documents lack a
 * value. */
static bm_status check_fields(units *u, bm_error *err)
{
    bm_job_context *context = &u->job.context;
    if (context->keep.rules == NULL)
        return BM_OK;
    BM_TRY(bm_keep_keys_check(&context->keep, err));
    bm_keep_keys_log(&context->keep, &context->meter);
    return BM_OK;
}

static bm_status read_units(units *u, bm_error *err)
{
    const bm_input_options *input = &u->settings->input;
    bm_job_context *context = &u->job.context;
    bm_checkpoint *checkpoint = &u->job.checkpoint;
    u->has_parts = bm_cuts_meet_parts(input);
    checkpoint->read_twice = u->spans || u->pairs;
    u->reading = u->pairs ? BM_READ_DOCUMENTS : BM_READ_UNITS;
    if (u->spans)
        BM_TRY(bm_span_grams_open(u->settings->temp_dir,
                                  u->settings->memory == 0 ? 0 : sorter_memory(u), &u->grams, err));
    else if (!u->pairs)
        BM_TRY(open_sorter(u, &u->by_hash, err));
    if (u->by_hash != NULL && checkpoint->can_save)
        bm_sorted_runs_in_one_file(u->by_hash);
    if (u->settings->keep.n_by_field > 0)
        BM_TRY(bm_keep_keys_open_counts(&u->settings->keep, &context->keep, err));
    BM_TRY(bm_column_grow(&u->docs, sizeof(bm_unit_doc), u->settings->temp_dir, err));
    context->docs.temp_dir = u->settings->temp_dir;
    const bm_ingest_request request = {.sink = {.place = on_batch, .ctx = u}, .scan = scan_of(u)};
    bm_job_context_plan(context, bm_checkpoint_start(checkpoint));
    if (u->pairs) { /* the checkpoint is used by the job of units, which runs next */
        const bool can_save = checkpoint->can_save;
        checkpoint->can_save = context->wants_places = false;
        bm_job_context_stage(context, BM_STAGE_READ, "bytes");
        BM_TRY(bm_job_context_ingest(context, &request, err));
        checkpoint->can_save = can_save;
        return check_fields(u, err);
    }
    checkpoint->more = bm_units_more(u, context);
    BM_TRY(bm_checkpoint_load(checkpoint, NULL, err));
    BM_TRY(bm_units_check_loaded(u, context, err));
    if (u->spans && u->filter.words == NULL)
        BM_TRY(make_filter(u, err));
    BM_TRY(open_far(u, err));
    bm_job_context_stage(context, BM_STAGE_READ, "bytes");
    BM_TRY(bm_checkpoint_ingest(checkpoint, &request, err));
    bm_span_far_close(&u->far);
    return check_fields(u, err);
}

/* --- groups --- */

/* The keys of a group's records. The key of the head is twice the first place of the group; the key
 * of the members is 1 more. So the head is sorted before the members, although it is added last. */
#define HEAD_KEY(first)   (2 * (first))
#define MEMBER_KEY(first) (2 * (first) + 1)
#define IS_HEAD(key)      ((key) % 2 == 0)

typedef struct group {
    uint64_t hash[2], first, first_text, first_len;
    uint64_t kept, kept_text, size;
} group;

static bm_status end_group(units *u, const group *g, bm_error *err)
{
    if (g->size < 2)
        return BM_OK;
    u->job.context.counts.groups++;
    if (g->size > u->job.context.counts.largest_group)
        u->job.context.counts.largest_group = g->size;
    return add_numbers(u->by_group,
                       (uint64_t[]){HEAD_KEY(g->first), g->size, g->kept, g->kept_text}, 4, err);
}

/* Number of values in the record of a member, and in the record of a cut. For near-duplicate units,
 * the last value is the similarity. */
static size_t n_of_member(const units *u)
{
    return u->pairs ? 5 : 4;
}

static size_t n_of_cut(const units *u)
{
    return u->pairs ? 6 : 5;
}

/* Make groups of equal units, which are read sorted by hash, then by place. */
static bm_status find_equal(units *u, bm_error *err)
{
    const bool last = u->settings->keep.last;
    group g = {0};
    uint64_t n[5];
    bool more = false;
    BM_TRY(open_sorter(u, &u->by_group, err));
    BM_TRY(bm_sorted_runs_begin(u->by_hash, err));
    BM_TRY(next_numbers(u->by_hash, n, 5, &more, err));
    while (more) {
        if (g.size == 0 || n[0] != g.hash[0] || n[1] != g.hash[1]) {
            BM_TRY(end_group(u, &g, err));
            g = (group){{n[0], n[1]}, n[2], n[3], n[4], n[2], n[3], 1};
        } else {
            const uint64_t first[] = {MEMBER_KEY(g.first), g.first, g.first_text, g.first_len},
                           member[] = {MEMBER_KEY(g.first), n[2], n[3], n[4]};
            if (g.size++ == 1)
                BM_TRY(add_numbers(u->by_group, first, 4, err));
            BM_TRY(add_numbers(u->by_group, member, 4, err));
            if (last) {
                g.kept = n[2];
                g.kept_text = n[3];
            }
        }
        BM_TRY(next_numbers(u->by_hash, n, 5, &more, err));
    }
    bm_sorted_runs_close(u->by_hash);
    u->by_hash = NULL;
    return end_group(u, &g, err);
}

/* Index the documents by place. A binary search over all documents would miss the cache at each
 * step. */
static bm_status index_docs(units *u, bm_error *err)
{
    if (u->n_docs == 0)
        return BM_OK;
    const bm_unit_doc *docs = u->docs.data;
    while (u->place >> u->doc_at_shift > u->n_docs / DOCS_AN_ENTRY)
        u->doc_at_shift++;
    const size_t n = (size_t)(u->place >> u->doc_at_shift) + 2;
    BM_TRY(bm_new_zero(&u->doc_at, n, err));
    size_t doc = 0;
    for (size_t i = 0; i < n; i++) {
        while (doc + 1 < u->n_docs && docs[doc + 1].begin <= (uint64_t)i << u->doc_at_shift)
            doc++;
        u->doc_at[i] = doc;
    }
    return BM_OK;
}

/* The document that contains a place. Call index_docs first. */
static size_t doc_of(const units *u, uint64_t place)
{
    const bm_unit_doc *docs = u->docs.data;
    const size_t *at = u->doc_at + (place >> u->doc_at_shift);
    bm_bisect b = {at[0], at[1]};
    while (b.low < b.high)
        bm_bisect_go(&b, docs[bm_middle(&b) + 1].begin <= place);
    return b.low;
}

/* Set *id to the id of the document that contains `place`. Set *from to the offset of `place` in
 * that document. */
static bm_status name_place(const units *u, uint64_t place, bm_buf *id, uint64_t *from,
                            bm_error *err)
{
    const size_t doc = doc_of(u, place);
    const bm_str name = bm_doc_table_id(&u->job.context.docs, doc);
    *from = place - ((const bm_unit_doc *)u->docs.data)[doc].begin;
    id->len = 0;
    return bm_buf_add(id, name.data, name.len, err);
}

/* --- units as documents of the job of units --- */

/* Assigns places to the next units that the job of units reads as documents. Called in input
 * order. */
static bm_status place_parts(void *ctx, const bm_ingest_batch *batch, bm_error *err)
{
    if (batch->scanned.len == 0)
        return BM_OK;
    units *u = ctx;
    const bm_unit_doc *docs = u->docs.data;
    const char *at = batch->scanned.data, *const end = at + batch->scanned.len;
    const size_t n = u->n_places + batch->n_docs;
    BM_TRY(bm_column_grow(&u->places, (n + 1) * sizeof(uint64_t), u->settings->temp_dir, err));
    uint64_t *places = u->places.data;
    while (at < end) {
        said head;
        memcpy(&head, at, sizeof head);
        at += sizeof head;
        if (u->n_placed == u->n_docs || head.n > n - u->n_places)
            return bm_fail(err, BM_ERR_INPUT, "the inputs have changed while they were read");
        for (uint64_t i = 0; i < head.n; i++) {
            memcpy(&places[u->n_places], at, sizeof *places);
            places[u->n_places++] += docs[u->n_placed].begin;
            at += sizeof *places;
        }
        u->n_placed++;
    }
    return BM_OK;
}

static uint64_t place_of(const units *u, size_t unit)
{
    return ((const uint64_t *)u->places.data)[unit];
}

static bm_status name_part(void *ctx, size_t part, bm_buf *id, uint64_t *from, bm_error *err)
{
    const units *u = ctx;
    return name_place(u, place_of(u, part), id, from, err);
}

static bm_status add_group(units *u, const bm_doc_table *parts, const bm_grouping *grouping,
                           size_t number, bm_error *err)
{
    const uint64_t begin = grouping->begin[number], end = grouping->begin[number + 1];
    const uint32_t first = grouping->members[begin], kept = grouping->kept[first];
    const uint64_t key = place_of(u, first);
    BM_TRY(add_numbers(u->by_group,
                       (uint64_t[]){HEAD_KEY(key), end - begin, place_of(u, kept), 0, 0}, 5, err));
    for (uint64_t i = begin; i < end; i++) {
        const uint32_t unit = grouping->members[i];
        uint64_t similarity;
        memcpy(&similarity, &grouping->similarity[unit], sizeof similarity);
        const uint64_t member[] = {MEMBER_KEY(key), place_of(u, unit), grouping->reason[unit],
                                   bm_doc_table_row(parts, unit)->text_bytes, similarity};
        BM_TRY(add_numbers(u->by_group, member, 5, err));
    }
    return BM_OK;
}

static bm_status write_near_pairs(units *u, const bm_job_context *of_units, const bm_match *match,
                                  bm_error *err)
{
    bm_rows rows = {0};
    bm_pair_rows pairs = {.match = match,
                          .docs = &of_units->docs,
                          .chain = true,
                          .parts = &u->source,
                          .all_digits = u->settings->results.all_digits,
                          .histogram = u->similarities};
    u->job.context.stats.similarities = u->similarities;
    BM_TRY(bm_out_dir_file(u->job.checkpoint.dir, BM_FILE_PAIRS, &rows.file, err));
    const bm_status status = bm_rows_pairs(&rows, &pairs, err);
    u->job.context.counts.results.pairs = pairs.n_written;
    u->job.context.counts.results.identical_pairs = pairs.n_identical;
    return bm_rows_close(&rows, status, err);
}

bm_status bm_units_found(const bm_job_context *of_units, const bm_match *match,
                         const bm_grouping *grouping, bm_error *err)
{
    units *u = of_units->settings->parts->ctx;
    bm_counts *counts = &u->job.context.counts;
    counts->unit.units = of_units->docs.n;
    counts->groups = grouping->n_groups;
    counts->largest_group = grouping->largest;
    counts->results.divided = grouping->n_divided;
    counts->identical = of_units->counts.identical;
    counts->equal = of_units->counts.equal;
    counts->candidates = of_units->counts.candidates;
    counts->verified = of_units->counts.verified;
    counts->edges = of_units->counts.edges;
    counts->not_compared = of_units->counts.not_compared;
    u->job.context.stats.verify_seconds = of_units->stats.verify_seconds;
    BM_TRY(open_sorter(u, &u->by_group, err));
    for (size_t i = 0; i < grouping->n_groups; i++)
        BM_TRY(add_group(u, &of_units->docs, grouping, i, err));
    return u->settings->results.write_pairs ? write_near_pairs(u, of_units, match, err) : BM_OK;
}

static void more_of_parts(void *ctx, const bm_job_context *of_units, bm_checkpoint_more *out)
{
    *out = bm_units_more(ctx, of_units);
}

/* Run the job of units. It reads the same inputs, and writes no files itself. */
static bm_status find_near(units *u, bm_error *err)
{
    bm_settings *s = &u->of_units;
    *s = *u->settings;
    s->output = (bm_output_options){0};
    s->results = (bm_result_settings){.kept = BM_RECORDS_NOT_WRITTEN,
                                      .removed = BM_RECORDS_NOT_WRITTEN,
                                      .write_pairs = u->settings->results.write_pairs};
    if (!bm_keep_rules_rank(&s->keep))
        s->keep = (bm_keep_rules){.last = s->keep.last};
    u->source = (bm_part_source){.of = &u->job.context,
                                 .scan = scan_of(u),
                                 .place = place_parts,
                                 .name = name_part,
                                 .only_equal = !(s->bands.threshold < 1),
                                 .ctx = u};
    u->source.scan.parts = true;
    u->source.scan.keep = bm_keep_rules_rank(&s->keep) && s->keep.n_by_field > 0 ? &s->keep : NULL;
    u->source.checkpoint = &u->job.checkpoint;
    u->source.more = more_of_parts;
    s->parts = &u->source;
    u->reading = BM_READ_PARTS;
    return u->pair(s, err);
}

/* --- spans --- */

typedef struct span_walk {
    units *u;
    size_t doc;      /* the document of the last span */
    uint32_t filled; /* filled bytes of that document up to the end of the last span */
} span_walk;

static bm_status add_span(void *ctx, const bm_span *span, bm_error *err)
{
    span_walk *walk = ctx;
    units *u = walk->u;
    if (span->words < u->settings->pairs.min_words)
        return BM_OK;
    const size_t doc = doc_of(u, span->from);
    if (doc != walk->doc)
        walk->filled = 0;
    walk->doc = doc;
    const uint32_t from = walk->filled > span->filled[0] ? walk->filled : span->filled[0];
    const uint64_t taken = span->filled[1] > from ? span->filled[1] - from : 0;
    walk->filled = from + (uint32_t)taken;
    return add_numbers(
        u->by_place,
        (uint64_t[]){span->from, span->to - span->from, span->kept, BM_REASON_EQUAL, taken}, 5,
        err);
}

static bm_status find_spans(units *u, bm_error *err)
{
    span_walk walk = {.u = u};
    BM_TRY(open_sorter(u, &u->by_place, err));
    BM_TRY(bm_span_grams_find(&u->grams, u->settings->pairs.keep_count, add_span, &walk, err));
    bm_span_grams_reset(&u->grams);
    return BM_OK;
}

static bm_status find_groups(units *u, bm_error *err)
{
    return u->spans ? find_spans(u, err) : u->pairs ? find_near(u, err) : find_equal(u, err);
}

/* --- writing groups --- */

/* Write a unit as [ID, FROM]: the id of its document, and its offset in the text. */
static void write_unit(const units *u, bm_json *json, uint64_t place)
{
    const size_t doc = doc_of(u, place);
    bm_json_begin_array(json);
    bm_json_string(json, bm_doc_table_id(&u->job.context.docs, doc));
    bm_json_uint(json, place - ((const bm_unit_doc *)u->docs.data)[doc].begin);
    bm_json_end_array(json);
}

static void begin_group(const units *u, bm_json *json, uint64_t number, uint64_t size,
                        uint64_t kept)
{
    json->buf.len = 0;
    json->comma = false;
    bm_json_begin_object(json);
    bm_json_key_uint(json, BM_GROUP_NUMBER, number);
    bm_json_key(json, BM_GROUP_KEPT);
    write_unit(u, json, kept);
    bm_json_key_uint(json, BM_GROUP_SIZE, size);
    bm_json_key(json, BM_GROUP_MEMBERS);
    bm_json_begin_array(json);
}

/* Move the text written so far to the buffer of rows, because a group may have any number of
 * members. */
static bm_status pass_on(bm_json *json, bm_rows *rows, bm_error *err)
{
    BM_TRY(bm_buf_add(&rows->buf, json->buf.data, json->buf.len, err));
    json->buf.len = 0;
    return bm_rows_flush(rows, false, err);
}

/* The group that is being written. `left`: members that follow; `stay`: how many of them are not
 * cut, because `keep_count` is not reached yet. */
typedef struct group_walk {
    uint64_t number, first, left, kept, kept_text, stay;
} group_walk;

static bool member_stays(group_walk *g, const units *u, const uint64_t n[5])
{
    const bool counted = g->stay > 0;
    g->stay -= counted;
    return counted || n[1] == g->kept || (u->pairs && n[2] == BM_REASON_KEPT);
}

/* Cut the member, unless it is kept. */
static bm_status add_member(units *u, group_walk *g, const uint64_t n[5], bm_error *err)
{
    if (member_stays(g, u, n))
        return BM_OK;
    const uint64_t reason = u->pairs               ? n[2]
                            : n[2] == g->kept_text ? BM_REASON_IDENTICAL
                                                   : BM_REASON_EQUAL;
    return add_numbers(u->by_place, (uint64_t[]){n[1], n[3], g->kept, reason, 1, n[4]}, n_of_cut(u),
                       err);
}

/* Write a row of pairs.tsv: a unit, and the first of the units that are equal to it. */
static bm_status add_pair(units *u, uint64_t first, uint64_t place, bm_rows *pairs, bm_error *err)
{
    bm_pair_line line = {
        .of_parts = true, .similarity = 1, .all_digits = u->settings->results.all_digits};
    BM_TRY(name_place(u, first, &u->pair_ids[0], &line.from_a, err));
    BM_TRY(name_place(u, place, &u->pair_ids[1], &line.from_b, err));
    line.id_a = (bm_str){u->pair_ids[0].data, u->pair_ids[0].len};
    line.id_b = (bm_str){u->pair_ids[1].data, u->pair_ids[1].len};
    BM_TRY(bm_pair_line_add(&pairs->buf, &line, err));
    u->similarities[bm_histogram_bin(1)]++;
    u->job.context.counts.results.pairs++;
    u->job.context.counts.results.identical_pairs++;
    return bm_rows_flush(pairs, false, err);
}

/* Write groups in the order of their first members. In by_group, a group's head precedes its
 * members. If `pairs` is NULL, pairs are not written. */
static bm_status write_groups(units *u, bm_rows *rows, bm_rows *pairs, bm_json *json, bm_error *err)
{
    const bool by_rank = u->settings->keep.last || bm_keep_rules_rank(&u->settings->keep);
    uint64_t n[5] = {0};
    group_walk g = {0};
    bool more = false;
    BM_TRY(open_sorter(u, &u->by_place, err));
    BM_TRY(bm_sorted_runs_begin(u->by_group, err));
    BM_TRY(next_numbers(u->by_group, n, n_of_member(u), &more, err));
    while (more) {
        if (IS_HEAD(n[0])) {
            g = (group_walk){g.number + 1, n[0] / 2, n[1],
                             n[2],         n[3],     by_rank ? 0 : u->settings->pairs.keep_count};
            begin_group(u, json, g.number, g.left, g.kept);
        } else {
            write_unit(u, json, n[1]);
            BM_TRY(pass_on(json, rows, err));
            if (pairs != NULL && n[1] != g.first)
                BM_TRY(add_pair(u, g.first, n[1], pairs, err));
            BM_TRY(add_member(u, &g, n, err));
            if (--g.left == 0)
                BM_TRY(bm_group_line_end(json, &rows->buf, err));
        }
        BM_TRY(next_numbers(u->by_group, n, n_of_member(u), &more, err));
    }
    bm_sorted_runs_close(u->by_group);
    u->by_group = NULL;
    return bm_rows_flush(rows, true, err);
}

/* --- cuts --- */

/* Add a range to cut. If it overlaps the last range, both become one range. */
static bm_status cut(units *u, uint64_t from, uint64_t to, bm_error *err)
{
    BM_TRY(bm_column_grow(&u->cuts, (u->n_cuts + 1) * sizeof(bm_text_range), u->settings->temp_dir,
                          err));
    bm_text_range *cuts = u->cuts.data;
    uint64_t before = from;
    if (u->n_cuts > 0 && cuts[u->n_cuts - 1].to > from) {
        before = cuts[u->n_cuts - 1].to;
        cuts[u->n_cuts - 1].to = to > before ? to : before;
    } else {
        cuts[u->n_cuts++] = (bm_text_range){from, to};
    }
    u->job.context.counts.unit.cut_bytes += to > before ? to - before : 0;
    return BM_OK;
}

/* Cache the id of the document that has the kept unit, because many units may be equal to that
 * unit. */
static bm_status find_kept_id(units *u, size_t doc, bm_error *err)
{
    if (u->kept_next == doc + 1)
        return BM_OK;
    const bm_str id = bm_doc_table_id(&u->job.context.docs, doc);
    u->kept_next = doc + 1;
    u->kept_id.len = 0;
    return bm_buf_add(&u->kept_id, id.data, id.len, err);
}

static bm_status add_cut(units *u, const uint64_t n[6], bm_rows *rows, bm_error *err)
{
    double similarity = 1;
    if (u->pairs)
        memcpy(&similarity, &n[5], sizeof similarity);
    bm_job_context *context = &u->job.context;
    bm_unit_doc *docs = u->docs.data;
    const size_t doc = doc_of(u, n[0]), kept = doc_of(u, n[2]);
    BM_TRY(find_kept_id(u, kept, err));
    const bm_doc_row *row = bm_doc_table_row(&context->docs, doc);
    const bm_cut_line line = {.id = bm_doc_table_id(&context->docs, doc),
                              .from = n[0] - docs[doc].begin,
                              .to = n[0] - docs[doc].begin + n[1],
                              .kept = {u->kept_id.data, u->kept_id.len},
                              .kept_from = n[2] - docs[kept].begin,
                              .jaccard = similarity,
                              .reason = bm_reason_name((bm_reason)n[3]),
                              .file = context->inputs.names.names[row->file],
                              .line = row->line,
                              .all_digits = u->settings->results.all_digits};
    BM_TRY(cut(u, n[0], n[0] + n[1], err));
    context->counts.unit.cuts++;
    docs[doc].filled -= n[4];
    if (docs[doc].filled == 0 && n[4] > 0) {
        u->dropped[doc] = BM_REASON_EQUAL;
        context->counts.removed++;
    }
    BM_TRY(bm_cut_line_add(&rows->buf, &line, err));
    return bm_rows_flush(rows, false, err);
}

static bm_status write_cuts(units *u, bm_rows *rows, bm_error *err)
{
    uint64_t n[6];
    bool more = false;
    BM_TRY(bm_table_begin(&rows->buf, BM_TABLE_CUTS, err));
    BM_TRY(bm_sorted_runs_begin(u->by_place, err));
    BM_TRY(next_numbers(u->by_place, n, n_of_cut(u), &more, err));
    while (more) {
        BM_TRY(add_cut(u, n, rows, err));
        BM_TRY(next_numbers(u->by_place, n, n_of_cut(u), &more, err));
    }
    bm_sorted_runs_close(u->by_place);
    u->by_place = NULL;
    return bm_rows_flush(rows, true, err);
}

static bm_status write_removed(units *u, bm_rows *rows, bm_error *err)
{
    BM_TRY(bm_table_begin(&rows->buf, BM_TABLE_REMOVED, err));
    for (size_t i = 0; i < u->n_docs; i++)
        if (u->dropped[i] != 0)
            BM_TRY(bm_cuts_write_emptied(rows, &u->job.context, i, err));
    return bm_rows_flush(rows, true, err);
}

/* Append the ranges that are cut out of a document, as offsets in its text. Any thread. */
static bm_status ranges_of(void *ctx, size_t doc, bm_buf *out, bm_error *err)
{
    const units *u = ctx;
    const bm_unit_doc *docs = u->docs.data;
    const bm_text_range *cuts = u->cuts.data;
    bm_bisect b = {0, u->n_cuts};
    while (b.low < b.high)
        bm_bisect_go(&b, cuts[bm_middle(&b)].from < docs[doc].begin);
    for (size_t i = b.low; i < u->n_cuts && cuts[i].from < docs[doc + 1].begin; i++) {
        const bm_text_range r = {cuts[i].from - docs[doc].begin, cuts[i].to - docs[doc].begin};
        BM_TRY(bm_buf_add(out, &r, sizeof r, err));
    }
    return BM_OK;
}

/* --- the job --- */

typedef bm_status (*fill_fn)(units *u, bm_rows *rows, bm_error *err);

static bm_status write_file(units *u, const char *name, fill_fn fill, bm_error *err)
{
    bm_rows rows = {0};
    BM_TRY(bm_out_dir_file(u->job.checkpoint.dir, name, &rows.file, err));
    return bm_rows_close(&rows, fill(u, &rows, err), err);
}

static bm_status fill_groups(units *u, bm_rows *rows, bm_error *err)
{
    bm_json json = {0};
    bm_rows pairs = {0};
    bm_status status = BM_OK;
    if (!u->settings->results.write_pairs || u->pairs) { /* no pairs are wanted, or they were
                                                          * written before */
        status = write_groups(u, rows, NULL, &json, err);
        bm_buf_reset(&json.buf);
        return status;
    }
    u->job.context.stats.similarities = u->similarities;
    BM_TRY(bm_out_dir_file(u->job.checkpoint.dir, BM_FILE_PAIRS, &pairs.file, err));
    BM_TRY_OUT(bm_table_begin(&pairs.buf, BM_TABLE_PAIRS_PARTS, err));
    BM_TRY_OUT(write_groups(u, rows, &pairs, &json, err));
    status = bm_rows_flush(&pairs, true, err);
out:
    bm_buf_reset(&json.buf);
    return bm_rows_close(&pairs, status, err);
}

static bm_status write_all(units *u, bm_error *err)
{
    bm_job_context *context = &u->job.context;
    bm_out_dir *dir = u->job.checkpoint.dir;
    BM_TRY(bm_new_zero(&u->dropped, u->n_docs, err));
    bm_job_context_stage(context, BM_STAGE_WRITE, "bytes");
    if (!u->spans)
        BM_TRY(write_file(u, BM_FILE_GROUPS, fill_groups, err));
    BM_TRY(write_file(u, BM_FILE_CUTS, write_cuts, err));
    BM_TRY(write_file(u, BM_FILE_REMOVED, write_removed, err));
    const bm_grouping left = {.n = u->n_docs, .reason = u->dropped};
    BM_TRY(bm_rows_sources(dir, &context->docs, &left, &context->inputs.names, err));
    BM_TRY(bm_rows_skipped(dir, context, err));
    context->counts.kept = context->counts.documents - context->counts.removed;
    const bm_kept_cuts cuts = {ranges_of, u};
    BM_TRY(bm_kept_pass(context, u->dropped, &cuts, true, dir, err));
    return bm_job_finish(
        &u->job,
        &(bm_job_ending){.dir = dir, .report_name = BM_FILE_REPORT, .commit_checkpoint = true},
        err);
}

static bm_status run(units *u, bm_error *err)
{
    bm_job_context *context = &u->job.context;
    BM_TRY(bm_job_begin(&u->job, BM_STEP_INPUTS, err));
    BM_TRY(bm_cuts_check_format(context, "unit", err));
    BM_TRY(bm_job_begin(&u->job, BM_STEP_DIRECTORY | BM_STEP_CHECKPOINTS, err));
    if (u->job.summary != NULL)
        return BM_OK;
    BM_TRY(read_units(u, err));
    bm_doc_table_end_adding(&context->docs);
    bm_job_context_stage(context, BM_STAGE_GROUP, "documents");
    BM_TRY(index_docs(u, err));
    BM_TRY(find_groups(u, err));
    return write_all(u, err);
}

bm_status bm_units_job(const bm_settings *settings, bm_units_pair_fn *pair, bm_summary **out,
                       bm_error *err)
{
    units u = {.settings = settings,
               .spans = settings->pairs.unit == BM_UNIT_SPAN,
               .pairs = bm_settings_pair_units(settings),
               .pair = pair};
    BM_TRY(bm_job_context_check_outputs(settings, settings->input.paths, settings->input.n_paths,
                                        err));
    BM_TRY(bm_job_open(settings, &u.job, err));
    const bm_status status = run(&u, err);
    bm_checkpoint_close(&u.job.checkpoint, status, err);
    bm_sorted_runs_close(u.by_hash);
    bm_sorted_runs_close(u.by_group);
    bm_sorted_runs_close(u.by_place);
    bm_column_reset(&u.docs);
    bm_column_reset(&u.cuts);
    bm_column_reset(&u.places);
    bm_buf_reset(&u.pair_ids[0]);
    bm_buf_reset(&u.pair_ids[1]);
    bm_buf_reset(&u.kept_id);
    bm_buf_reset(&u.saved.runs);
    bm_span_grams_reset(&u.grams);
    bm_span_far_close(&u.far);
    bm_free_all(u.dropped, u.doc_at, u.filter.words);
    return bm_job_close(&u.job, status, out);
}
