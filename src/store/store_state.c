/* store_state.c -- see store_state.h.
 *
 * Tests: tests/unit/store/test_store_state.c */
#include "store/store_state.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "store/bytes/le_bytes.h"
#include "store/bytes/piece.h"

#define FIXED_WORDS 13u
#define FIXED_BYTES (BM_PIECE_HEAD_BYTES + 16u + FIXED_WORDS * 8u)
#define RUN_BYTES   32u
#define RANGE_BYTES 24u

void bm_state_reset(bm_state *state)
{
    bm_free((void *)(uintptr_t)state->facts.settings.data);
    bm_free(state->runs);
    bm_free(state->ranges);
    *state = (bm_state){0};
}

bm_status bm_state_copy(const bm_state *state, bm_state *out, bm_error *err)
{
    bm_state copy = *state;
    copy.cap_runs = copy.cap_ranges = 0;
    copy.runs = NULL;
    copy.ranges = NULL;
    const char *settings = state->facts.settings.data;
    copy.facts.settings.data =
        bm_strndup(settings != NULL ? settings : "", state->facts.settings.len);
    bm_status status = BM_OK;
    BM_TRY_OUT(copy.facts.settings.data != NULL ? BM_OK
                                                : bm_fail_nomem(err, state->facts.settings.len));
    BM_TRY_OUT(bm_grow_array(&copy.runs, &copy.cap_runs, state->n_runs, err));
    status = bm_grow_array(&copy.ranges, &copy.cap_ranges, state->n_ranges, err);
out:
    if (status != BM_OK) {
        bm_state_reset(&copy);
        return status;
    }
    if (state->n_runs > 0)
        memcpy(copy.runs, state->runs, state->n_runs * sizeof *copy.runs);
    if (state->n_ranges > 0)
        memcpy(copy.ranges, state->ranges, state->n_ranges * sizeof *copy.ranges);
    bm_state_reset(out);
    *out = copy;
    return BM_OK;
}

bm_status bm_state_add_run(bm_state *state, const bm_store_run *run, bm_error *err)
{
    BM_TRY(bm_grow_array(&state->runs, &state->cap_runs, state->n_runs + 1, err));
    state->runs[state->n_runs++] = *run;
    return BM_OK;
}

/* --- as bytes --- */

size_t bm_state_size(const bm_state *state)
{
    return FIXED_BYTES + state->n_runs * RUN_BYTES + state->n_ranges * RANGE_BYTES +
           state->facts.settings.len;
}

static uint8_t *put64(uint8_t *at, uint64_t value)
{
    bm_le64_put(at, value);
    return at + 8;
}

static uint8_t *put32(uint8_t *at, uint32_t value)
{
    bm_le32_put(at, value);
    return at + 4;
}

void bm_state_write(const bm_state *state, void *out)
{
    const bm_store_counts *c = &state->counts;
    const bm_piece_head head = {.kind = BM_PIECE_STATE, .n = (uint32_t)state->n_runs};
    bm_piece_begin(out, &head);
    uint8_t *at = (uint8_t *)out + BM_PIECE_HEAD_BYTES;
    at = put32(at, BM_STORE_VERSION);
    at = put32(at, (uint32_t)state->facts.kind);
    at = put32(at, state->facts.bands);
    at = put32(at, state->facts.words);
    const uint64_t words[FIXED_WORDS] = {state->index,
                                         state->commit,
                                         c->documents,
                                         c->removed,
                                         c->empty,
                                         c->shingles,
                                         c->text_bytes,
                                         c->next_number,
                                         state->next_version,
                                         state->tail_first,
                                         state->n_runs,
                                         state->n_ranges,
                                         state->facts.settings.len};
    for (size_t i = 0; i < FIXED_WORDS; i++)
        at = put64(at, words[i]);
    for (size_t i = 0; i < state->n_runs; i++) {
        const bm_store_run *run = &state->runs[i];
        at = put64(at, run->id);
        at = put64(at, run->first_table);
        at = put64(at, run->n_tables);
        at = put64(at, run->entries);
    }
    for (size_t i = 0; i < state->n_ranges; i++) {
        at = put64(at, state->ranges[i].range);
        at = put64(at, state->ranges[i].removed);
        at = put64(at, state->ranges[i].version);
    }
    if (state->facts.settings.len > 0)
        memcpy(at, state->facts.settings.data, state->facts.settings.len);
    bm_piece_seal(out, bm_state_size(state));
}

static bm_status damaged(bm_error *err, const char *what)
{
    return bm_fail(err, BM_ERR_FORMAT, "its state is damaged: %s", what);
}

static bool run_is_possible(const bm_state *state, size_t i)
{
    const bm_store_run *run = &state->runs[i];
    const uint64_t bands = state->facts.bands;
    const bool of_bands = run->first_table == 0 && run->n_tables == bands;
    const bool of_ids = run->first_table == bands && run->n_tables == 1;
    return (i == 0 || run->id > run[-1].id) && run->id < state->next_version && run->entries > 0 &&
           run->entries <= state->counts.next_number && (of_bands || of_ids);
}

static bool range_is_possible(const bm_state *state, size_t i)
{
    const bm_store_range *range = &state->ranges[i];
    return (i == 0 || range->range > range[-1].range) && range->removed > 0 &&
           range->removed <= BM_STORE_RANGE &&
           range->range <= state->counts.next_number / BM_STORE_RANGE &&
           range->version < state->next_version;
}

static bm_status read_lists(const uint8_t *at, bm_state *out, bm_error *err)
{
    uint64_t removed = 0;
    bool possible = true;
    BM_TRY(bm_grow_array(&out->runs, &out->cap_runs, out->n_runs, err));
    BM_TRY(bm_grow_array(&out->ranges, &out->cap_ranges, out->n_ranges, err));
    for (size_t i = 0; i < out->n_runs; i++, at += RUN_BYTES) {
        out->runs[i] = (bm_store_run){.id = bm_le64_get(at),
                                      .first_table = (uint32_t)bm_le64_get(at + 8),
                                      .n_tables = (uint32_t)bm_le64_get(at + 16),
                                      .entries = bm_le64_get(at + 24)};
        possible &= run_is_possible(out, i);
    }
    for (size_t i = 0; i < out->n_ranges; i++, at += RANGE_BYTES) {
        out->ranges[i] =
            (bm_store_range){bm_le64_get(at), bm_le64_get(at + 8), bm_le64_get(at + 16)};
        possible &= range_is_possible(out, i);
        removed += out->ranges[i].removed;
    }
    if (!possible || removed != out->counts.removed)
        return damaged(err, "its lists cannot be");
    out->facts.settings.data = bm_strndup((const char *)at, out->facts.settings.len);
    return out->facts.settings.data != NULL ? BM_OK : bm_fail_nomem(err, out->facts.settings.len);
}

static bool counts_are_possible(const bm_state *state)
{
    const bm_store_counts *c = &state->counts;
    const bool none = c->next_number == 0;
    return c->next_number <= BM_DOCS_MAX && c->documents <= c->next_number &&
           c->removed == c->next_number - c->documents && c->empty <= c->documents &&
           (none ? state->tail_first == 0 : state->tail_first < c->next_number) &&
           state->facts.kind <= BM_STORE_SIGNATURES;
}

bm_status bm_state_read(const void *bytes, size_t size, bm_state *out, bm_error *err)
{
    const uint8_t *at = bytes;
    bm_piece_head head;
    if (!bm_piece_head_of(bytes, size, BM_PIECE_STATE, &head) || size < FIXED_BYTES)
        return damaged(err, "it is none");
    if (bm_le32_get(at + BM_PIECE_HEAD_BYTES) != BM_STORE_VERSION)
        return bm_fail(err, BM_ERR_FORMAT,
                       "an index of version %" PRIu32
                       " (this is for %u): `index build` makes a new one",
                       bm_le32_get(at + BM_PIECE_HEAD_BYTES), BM_STORE_VERSION);
    if (!bm_piece_check(bytes, size, BM_PIECE_STATE))
        return damaged(err, "its sum is another");
    uint64_t w[FIXED_WORDS];
    at += BM_PIECE_HEAD_BYTES;
    for (size_t i = 0; i < FIXED_WORDS; i++)
        w[i] = bm_le64_get(at + 16 + 8 * i);
    bm_state state = {.facts = {.kind = (bm_store_kind)bm_le32_get(at + 4),
                                .bands = bm_le32_get(at + 8),
                                .words = bm_le32_get(at + 12)},
                      .index = w[0],
                      .commit = w[1],
                      .counts = {.documents = w[2],
                                 .removed = w[3],
                                 .empty = w[4],
                                 .shingles = w[5],
                                 .text_bytes = w[6],
                                 .next_number = w[7]},
                      .next_version = w[8],
                      .tail_first = w[9]};
    if (w[10] > size / RUN_BYTES || w[11] > size / RANGE_BYTES || w[12] > size ||
        FIXED_BYTES + w[10] * RUN_BYTES + w[11] * RANGE_BYTES + w[12] != size ||
        !counts_are_possible(&state))
        return damaged(err, "its counts cannot be");
    state.n_runs = (size_t)w[10];
    state.n_ranges = (size_t)w[11];
    state.facts.settings.len = (size_t)w[12];
    const bm_status status = read_lists((const uint8_t *)bytes + FIXED_BYTES, &state, err);
    if (status == BM_OK)
        *out = state;
    else
        bm_state_reset(&state);
    return status;
}

/* --- names --- */

size_t bm_state_range(const bm_state *state, uint64_t range)
{
    size_t i = 0;
    while (i < state->n_ranges && state->ranges[i].range < range)
        i++;
    return i;
}

bool bm_state_names(const bm_state *state, const bm_piece_key *key)
{
    size_t i = 0;
    switch (key->table) {
    case BM_KEY_DOCUMENTS:
        return state->counts.next_number > 0 && key->number <= state->tail_first &&
               key->run < state->next_version;
    case BM_KEY_POSTINGS:
        while (i < state->n_runs && state->runs[i].id != key->run)
            i++;
        return i < state->n_runs;
    case BM_KEY_REMOVED:
        i = bm_state_range(state, key->number);
        return i < state->n_ranges && state->ranges[i].range == key->number &&
               state->ranges[i].version == key->run;
    default:
        return true;
    }
}
