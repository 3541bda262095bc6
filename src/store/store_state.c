/* store_state.c -- see store_state.h.
 *
 * Tests: tests/unit/store/test_store_state.c */
#include "store/store_state.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "store/le_bytes.h"

#define TEXTS     (1u + BM_STORE_NOTES)
#define NUMBERS   (11u + TEXTS) /* of 64 bits */
#define FIXED     (BM_PIECE_HEAD_BYTES + 16u + 8u * NUMBERS)
#define RUN_WORDS 4u

_Static_assert(sizeof(bm_store_run) == 8 * RUN_WORDS, "a run is its words");

bm_status bm_state_add_run(bm_state *state, const bm_store_run *run, bm_error *err)
{
    if (state->n_runs == BM_STORE_RUNS)
        return bm_fail(err, BM_ERR_INTERNAL, "more runs than merging leaves");
    state->runs[state->n_runs++] = *run;
    return BM_OK;
}

/* --- as bytes --- */

static bm_str text_of(const bm_state *state, size_t i)
{
    return i == 0 ? state->facts.settings : state->notes[i - 1];
}

size_t bm_state_size(const bm_state *state)
{
    size_t size = FIXED + state->n_runs * sizeof state->runs[0];
    for (size_t i = 0; i < TEXTS; i++)
        size += text_of(state, i).len;
    return size;
}

static uint8_t *put_all(uint8_t *at, const uint64_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++, at += 8)
        bm_le64_put(at, numbers[i]);
    return at;
}

static const uint8_t *get_all(const uint8_t *at, uint64_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++, at += 8)
        numbers[i] = bm_le64_get(at);
    return at;
}

void bm_state_write(const bm_state *state, void *out)
{
    const bm_store_counts *c = &state->counts;
    const bm_piece_head head = {.kind = BM_PIECE_STATE, .n = (uint32_t)state->n_runs};
    const uint64_t numbers[NUMBERS] = {
        state->index,        state->commit,      c->documents,
        c->removed,          c->empty,           c->shingles,
        c->text_bytes,       c->next_number,     state->next_run,
        state->tail_first,   state->n_runs,      state->facts.settings.len,
        state->notes[0].len, state->notes[1].len};
    bm_piece_begin(out, &head);
    uint8_t *at = (uint8_t *)out + BM_PIECE_HEAD_BYTES;
    bm_le32_put(at, BM_STORE_VERSION);
    bm_le32_put(at + 4, (uint32_t)state->facts.kind);
    bm_le32_put(at + 8, state->facts.bands);
    bm_le32_put(at + 12, state->facts.words);
    at = put_all(at + 16, numbers, NUMBERS);
    for (size_t i = 0; i < state->n_runs; i++)
        at = put_all(at, &state->runs[i].id, RUN_WORDS);
    for (size_t i = 0; i < TEXTS; at += text_of(state, i++).len)
        if (text_of(state, i).len > 0)
            memcpy(at, text_of(state, i).data, text_of(state, i).len);
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
    return (i == 0 || run->id > run[-1].id) && run->id < state->next_run && run->entries > 0 &&
           run->entries <= state->counts.next_number && (of_bands || of_ids);
}

static bool counts_are_possible(const bm_state *state)
{
    const bm_store_counts *c = &state->counts;
    const bool none = c->next_number == 0;
    return c->next_number <= BM_DOCS_MAX && c->documents <= c->next_number &&
           c->removed == c->next_number - c->documents && c->empty <= c->documents &&
           (none ? state->tail_first == 0 : state->tail_first < c->next_number) &&
           state->facts.kind <= BM_STORE_SIGNATURES && state->n_runs <= BM_STORE_RUNS;
}

bm_status bm_state_read(const void *bytes, size_t size, bm_state *out, bm_error *err)
{
    const uint8_t *at = bytes;
    bm_piece_head head;
    if (!bm_piece_head_of(bytes, size, BM_PIECE_STATE, &head) || size < FIXED)
        return damaged(err, "it is none");
    at += BM_PIECE_HEAD_BYTES;
    if (bm_le32_get(at) != BM_STORE_VERSION)
        return bm_fail(err, BM_ERR_FORMAT,
                       "an index of version %" PRIu32
                       " (this is for %u): `index build` makes a new one",
                       bm_le32_get(at), BM_STORE_VERSION);
    if (!bm_piece_check(bytes, size, BM_PIECE_STATE))
        return damaged(err, "its sum is another");
    uint64_t w[NUMBERS];
    *out = (bm_state){.facts = {.kind = (bm_store_kind)bm_le32_get(at + 4),
                                .bands = bm_le32_get(at + 8),
                                .words = bm_le32_get(at + 12)}};
    at = get_all(at + 16, w, NUMBERS);
    out->index = w[0];
    out->commit = w[1];
    out->counts = (bm_store_counts){.documents = w[2],
                                    .removed = w[3],
                                    .empty = w[4],
                                    .shingles = w[5],
                                    .text_bytes = w[6],
                                    .next_number = w[7]};
    out->next_run = w[8];
    out->tail_first = w[9];
    out->n_runs = w[10];
    uint64_t left = size - FIXED;
    if (!counts_are_possible(out) || out->n_runs * sizeof out->runs[0] > left)
        return damaged(err, "its counts cannot be");
    left -= out->n_runs * sizeof out->runs[0];
    for (size_t i = 0; i < out->n_runs; i++) {
        at = get_all(at, &out->runs[i].id, RUN_WORDS);
        if (!run_is_possible(out, i))
            return damaged(err, "its lists cannot be");
    }
    for (size_t i = 0; i < TEXTS; i++) {
        const uint64_t len = w[11 + i];
        if (len > left || (i + 1 == TEXTS && len != left))
            return damaged(err, "its counts cannot be");
        *(i == 0 ? &out->facts.settings : &out->notes[i - 1]) = (bm_str){(const char *)at, len};
        at += len;
        left -= len;
    }
    return BM_OK;
}

bool bm_state_names(const bm_state *state, const bm_piece_key *key)
{
    size_t i = 0;
    if (key->kind == BM_PIECE_DOCUMENTS)
        return state->counts.next_number > 0 && key->number <= state->tail_first;
    if (key->kind == BM_PIECE_FILTER)
        return key->run < state->next_run;
    while (i < state->n_runs && state->runs[i].id != key->run)
        i++;
    return key->kind != BM_PIECE_POSTINGS || i < state->n_runs;
}
