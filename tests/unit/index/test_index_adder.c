/* SPDX-License-Identifier: Apache-2.0 */
/* test_index_adder.c -- static functions of src/index/index_adder.c. */
#include "index/index_adder.c"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utime.h>

#include "base/error.h"
#include "input/input_set.h"
#include "tests/world/scratch.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"
#include "tests/world/world_text.h"

/* === ids ===
 *
 * Ids of a batch and of an index: which document has an id, which is removed, and which numbered id
 * is free. */

#define BANDS 1u

typedef struct world {
    bm_store *store;
    bm_store_view *view;
    bm_store_facts facts;
} world;

/* An index of documents with these ids and no shingles. The second document is removed. */
static world make_world(const char *const *ids, size_t n)
{
    world w = {.facts = {.kind = BM_STORE_SETS, .bands = BANDS, .settings = {"{}", 2}}};
    const bm_store_cfg cfg = {.mode = BM_STORE_WRITE, .temp_dir = "/tmp"};
    bm_store_doc docs[16] = {0};
    const uint64_t *sets[16] = {0}, keys[16] = {0};
    uint32_t first, gone = 1;
    cr_assert_eq(bm_store_create_unnamed(&w.facts, &cfg, &w.store, NULL), BM_OK);
    for (size_t i = 0; i < n; i++)
        docs[i].id = world_str(ids[i]);
    const bm_store_batch batch = {.n = n, .docs = docs, .sets = sets, .keys = keys};
    cr_assert_eq(bm_store_add(w.store, &batch, &first, NULL), BM_OK);
    cr_assert_eq(bm_store_remove(w.store, &gone, 1, NULL), BM_OK);
    cr_assert_eq(bm_store_commit(w.store, NULL), BM_OK);
    cr_assert_eq(bm_store_view_open(w.store, &w.view, NULL), BM_OK);
    return w;
}

static void end_world(world *w)
{
    bm_store_view_close(w->view);
    bm_store_close(w->store);
}

static const char *const there[] = {"a", "removed", "b", "b#2", "a#2", "a#4"};

static void expect_taken(const bm_index_ids *ids, size_t i, bool in_batch, uint32_t who)
{
    bool is_in_batch;
    uint32_t number;
    cr_assert(index_ids_owner(ids, i, &is_in_batch, &number), "document %zu", i);
    cr_assert_eq(is_in_batch, in_batch, "document %zu", i);
    cr_assert_eq(number, who, "document %zu: %u", i, (unsigned)number);
}

static bool is_free(const bm_index_ids *ids, size_t i)
{
    bool in_batch;
    uint32_t number;
    return !index_ids_owner(ids, i, &in_batch, &number);
}

Test(index_ids, an_id_is_taken_by_the_index_or_by_one_before_in_the_batch)
{
    world w = make_world(there, 6);
    bm_store_doc docs[] = {{.id = world_str("new")},
                           {.id = world_str("b")},
                           {.id = world_str("removed")},
                           {.id = world_str("new")}};
    const bm_gathered batch = {.n = 4, .docs = docs};
    bm_index_ids ids = {0};
    for (int round = 0; round < 2; round++) { /* nothing is left over from the batch before */
        cr_assert_eq(index_ids_begin(&ids, w.view, BANDS, &batch, NULL), BM_OK);
        cr_assert(is_free(&ids, 0));
        cr_assert_eq(index_ids_add(&ids, 0, NULL), BM_OK);
        expect_taken(&ids, 1, false, 2);
        cr_assert(is_free(&ids, 2));
        expect_taken(&ids, 3, true, 0);
    }
    index_ids_reset(&ids);
    end_world(&w);
}

Test(index_ids, who_is_dropped_has_its_id_no_more)
{
    world w = make_world(there, 6);
    bm_store_doc docs[] = {{.id = world_str("b")},
                           {.id = world_str("b")},
                           {.id = world_str("b")},
                           {.id = world_str("x")}};
    const bm_gathered batch = {.n = 4, .docs = docs};
    bm_index_ids ids = {0};
    uint32_t dropped;
    cr_assert_eq(index_ids_begin(&ids, w.view, BANDS, &batch, NULL), BM_OK);
    cr_assert_not(index_ids_is_gone(&ids, 2));
    cr_assert_eq(index_ids_drop(&ids, 0, &dropped, NULL), BM_OK); /* the document of the index */
    cr_assert_eq(dropped, BM_ID_NONE);
    cr_assert(index_ids_is_gone(&ids, 2));
    cr_assert_not(index_ids_is_gone(&ids, 0));
    cr_assert_eq(ids.n_gone, 1);
    cr_assert_eq(ids.gone[0], 2);
    cr_assert(is_free(&ids, 0));
    for (size_t i = 0; i < 2; i++) { /* then two documents of the batch */
        cr_assert_eq(index_ids_add(&ids, i, NULL), BM_OK);
        expect_taken(&ids, i + 1, true, (uint32_t)i);
        cr_assert_eq(index_ids_drop(&ids, i + 1, &dropped, NULL), BM_OK);
        cr_assert_eq(dropped, i);
        cr_assert(is_free(&ids, i + 1));
    }
    cr_assert_eq(index_ids_drop(&ids, 3, &dropped, NULL), BM_OK); /* no document has the id */
    cr_assert_eq(dropped, BM_ID_NONE);
    cr_assert_eq(ids.n_gone, 1);
    index_ids_reset(&ids);
    end_world(&w);
}

Test(index_ids, the_next_number_is_free_in_index_and_batch)
{
    world w = make_world(there, 6);
    bm_store_doc docs[] = {{.id = world_str("a")},
                           {.id = world_str("a")},
                           {.id = world_str("a#3")},
                           {.id = world_str("a")}};
    const bm_gathered batch = {.n = 4, .docs = docs};
    static const char *const wanted[] = {"a#3", "a#5", "a#3#2", "a#6"};
    bm_index_ids ids = {0};
    cr_assert_eq(index_ids_begin(&ids, w.view, BANDS, &batch, NULL), BM_OK);
    for (size_t i = 0; i < 4; i++) { /* a#2 and a#4 are in the index */
        cr_assert_not(is_free(&ids, i));
        cr_assert_eq(index_ids_number(&ids, docs[i].id, &docs[i].id, NULL), BM_OK);
        cr_assert_eq(docs[i].id.len, strlen(wanted[i]));
        cr_assert_arr_eq(docs[i].id.data, wanted[i], strlen(wanted[i]));
        cr_assert_eq(index_ids_add(&ids, i, NULL), BM_OK);
    }
    index_ids_reset(&ids);
    end_world(&w);
}

Test(index_ids, a_batch_that_grows_looks_up_one_by_one)
{
    world w = make_world(there, 6);
    bm_store_doc docs[5] = {0};
    bm_gathered batch = {.n = 0, .docs = docs};
    static const char *const names[] = {"b#2", "none", "a", "removed", "b#2"};
    static const uint32_t numbers[] = {3, BM_ID_NONE, 0, BM_ID_NONE, 3};
    bm_index_ids ids = {0};
    uint32_t dropped;
    cr_assert_eq(index_ids_begin(&ids, w.view, BANDS, &batch, NULL), BM_OK);
    for (size_t i = 0; i < 5; i++) {
        docs[i].id = world_str(names[i]);
        batch.n = i + 1;
        cr_assert_eq(index_ids_find(&ids, i, NULL), BM_OK);
        cr_assert_eq(ids.known[i], numbers[i], "document %zu", i);
        if (numbers[i] == BM_ID_NONE || i == 4)
            cr_assert(is_free(&ids, i), "document %zu", i);
        else
            expect_taken(&ids, i, false, numbers[i]);
        if (i == 0) {
            cr_assert_eq(index_ids_drop(&ids, 0, &dropped, NULL), BM_OK);
            cr_assert(index_ids_is_gone(&ids, 3));
        }
    }
    cr_assert(index_ids_is_gone(&ids, 3)); /* also after its id was looked up again */
    cr_assert_not(index_ids_is_gone(&ids, 0));
    index_ids_reset(&ids);
    end_world(&w);
}

/* === near ===
 *
 * The best match of a document among those before it in a batch, against a naive model. The model
 * takes every document that was added, was not removed and shares a key in some band, and
 * counts its similarity value by value. */

#define NEAR_BANDS 4u
#define WORDS      8u
#define N          300u
#define MOST       12u

typedef struct near_world {
    bm_gathered g;
    bm_store_doc docs[N];
    const uint64_t *sets[N];
    uint64_t hashes[N][MOST], keys[N * NEAR_BANDS];
    uint32_t words[N * WORDS];
} near_world;

static near_world *near_make_world(void)
{
    near_world *w = calloc(1, sizeof *w);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t n = 0;
        for (uint64_t value = 0; n < MOST && value < 20; value++)
            if (world_pick(3) != 0)
                w->hashes[i][n++] = value * UINT64_C(0x0101010101010101);
        w->docs[i].n_shingles = world_pick(15) == 0 ? 0 : n;
        w->sets[i] = w->hashes[i];
        for (uint32_t b = 0; b < NEAR_BANDS; b++) /* few keys, some in several bands */
            w->keys[i * NEAR_BANDS + b] = world_pick(12) + UINT64_C(1024) * world_pick(2);
        for (uint32_t k = 0; k < WORDS; k++)
            w->words[i * WORDS + k] = world_pick(2);
    }
    w->g =
        (bm_gathered){.n = N, .docs = w->docs, .sets = w->sets, .words = w->words, .keys = w->keys};
    return w;
}

static double similarity_of(const near_world *w, const bm_gather_shape *shape, size_t i, size_t k)
{
    uint32_t common = 0;
    const uint32_t n_i = w->docs[i].n_shingles, n_k = w->docs[k].n_shingles;
    if (!shape->sets) {
        for (uint32_t j = 0; j < WORDS; j++)
            common += w->words[i * WORDS + j] == w->words[k * WORDS + j];
        return (double)common / WORDS;
    }
    for (uint32_t a = 0; a < n_i; a++)
        for (uint32_t b = 0; b < n_k; b++)
            common += w->hashes[i][a] == w->hashes[k][b];
    return (double)common / (double)(n_i + n_k - common);
}

static bool are_near(const near_world *w, size_t i, size_t k)
{
    for (uint32_t b = 0; b < NEAR_BANDS; b++)
        if (w->keys[i * NEAR_BANDS + b] == w->keys[k * NEAR_BANDS + b])
            return w->docs[i].n_shingles > 0 && w->docs[k].n_shingles > 0;
    return false;
}

/* Asks for the best match of each document in turn, then adds the document. Now and then a document
 * is removed, or left out of a query. */
static void expect_as_model(const bm_gather_shape *shape, double threshold)
{
    near_world *w = near_make_world();
    bool in[N] = {false};
    bm_index_near near = {.threshold = threshold};
    uint64_t candidates = 0, n_found = 0;
    cr_assert_eq(index_near_begin(&near, &w->g, N, shape, NULL), BM_OK);
    for (size_t i = 0; i < N; i++) {
        const size_t but = world_pick(3) == 0 ? world_pick(N) : SIZE_MAX;
        size_t best = SIZE_MAX, wanted = SIZE_MAX;
        double most = 0, similarity = 0;
        for (size_t k = 0; k < i; k++) {
            if (!in[k] || k == but || !are_near(w, i, k))
                continue;
            candidates++;
            const double s = similarity_of(w, shape, i, k);
            if (s >= threshold && (wanted == SIZE_MAX || s > most)) {
                wanted = k;
                most = s;
            }
        }
        cr_assert_eq(index_near_best(&near, i, but, &best, &similarity), wanted != SIZE_MAX,
                     "document %zu", i);
        cr_assert(wanted == SIZE_MAX || (best == wanted && similarity == most),
                  "document %zu: %zu, wanted %zu", i, best, wanted);
        n_found += wanted != SIZE_MAX;
        if (world_pick(4) != 0) {
            index_near_add(&near, i);
            in[i] = true;
        }
        const uint32_t out = world_pick(N);
        if (in[out] && world_pick(5) == 0) {
            index_near_remove(&near, out);
            in[out] = false;
        }
    }
    cr_expect_eq(near.candidates, candidates);
    cr_expect_eq(near.verified, candidates);
    cr_expect(n_found > N / 10 && n_found < N, "%d", (int)n_found);
    index_near_reset(&near);
    free(w);
}

Test(index_near, sets_as_the_model)
{
    const bm_gather_shape shape = {.sets = true, .bands = NEAR_BANDS};
    expect_as_model(&shape, 0.6);
    expect_as_model(&shape, 0.5);
}

Test(index_near, words_as_the_model)
{
    const bm_gather_shape shape = {
        .bands = NEAR_BANDS, .words = WORDS, .word_bytes = sizeof(uint32_t)};
    expect_as_model(&shape, 0.75);
}

Test(index_near, a_batch_begins_without_what_was_in_the_last)
{
    const bm_gather_shape shape = {.sets = true, .bands = NEAR_BANDS};
    near_world *w = near_make_world();
    bm_index_near near = {.threshold = 0.01};
    size_t best;
    double similarity;
    for (int round = 0; round < 2; round++) {
        cr_assert_eq(index_near_begin(&near, &w->g, N, &shape, NULL), BM_OK);
        for (size_t i = 0; i < N; i++)
            cr_assert_not(index_near_best(&near, i, SIZE_MAX, &best, &similarity));
        for (size_t i = 0; i < N; i++)
            index_near_add(&near, i);
    }
    index_near_reset(&near);
    free(w);
}

/* === notes ===
 *
 * What an index records of inputs and of adds, through a store: the names of inputs and their
 * numbers; how far an add has come; and that no other add resumes from that place. */

#define N_INPUTS 3u

typedef struct notes_world {
    scratch s;
    bm_settings settings;
    bm_job_context job;
    const char *paths[N_INPUTS];
    bm_store *store;
} notes_world;

static void open_inputs(notes_world *w, const char *const *names, size_t n)
{
    bm_error err = {0};
    bm_job_context *job = &w->job;
    for (size_t i = 0; i < n; i++)
        w->paths[i] = names[i];
    bm_input_set_close(job->inputs.set);
    job->inputs.set = NULL;
    w->settings.input.paths = w->paths;
    w->settings.input.n_paths = n;
    world_ok(bm_input_set_open(&w->settings.input, NULL, 0, NULL, &job->inputs.set, &err), &err);
    job->inputs.names = (bm_file_names){.names = w->paths, .n = n};
}

static void open_world(notes_world *w)
{
    static const char *const inputs[] = {"one.jsonl", "two\twith a tab.jsonl", "three.jsonl"};
    const bm_store_facts facts = {.kind = BM_STORE_SETS, .bands = 1, .settings = {"{}", 2}};
    bm_index_add_options options;
    bm_error err = {0};
    const char *paths[N_INPUTS];
    memset(w, 0, sizeof *w);
    w->s = scratch_open();
    for (size_t i = 0; i < N_INPUTS; i++) {
        scratch_put_text(&w->s, inputs[i], "{\"text\":\"some\"}\n");
        paths[i] = scratch_at(&w->s, inputs[i]);
        w->paths[i] = paths[i];
    }
    bm_index_add_options_init(&options);
    options.input.paths = paths;
    options.input.n_paths = N_INPUTS;
    options.path = scratch_at(&w->s, "index");
    world_ok(bm_settings_of_index_add(&options, &w->settings, &err), &err);
    w->job.settings = &w->settings;
    open_inputs(w, paths, N_INPUTS);
    const bm_store_cfg cfg = {.mode = BM_STORE_WRITE, .temp_dir = w->s.root};
    world_ok(bm_store_create_unnamed(&facts, &cfg, &w->store, &err), &err);
}

static void close_world(notes_world *w)
{
    bm_input_set_close(w->job.inputs.set);
    bm_store_close(w->store);
    scratch_close(&w->s);
}

static bm_store_view *view_of(notes_world *w)
{
    return world_open(bm_store_view, w->store);
}

/* --- inputs --- */

/* Lists and records the inputs. Returns the number of the first. */
static uint32_t list(notes_world *w, bm_buf *names)
{
    uint32_t first;
    bm_store_view *view = view_of(w);
    names->len = 0;
    cr_assert_eq(bm_index_inputs_list(&w->job, view, names, &first, NULL), BM_OK);
    bm_store_view_close(view);
    cr_assert_eq(bm_store_note(w->store, BM_NOTE_INPUTS, (bm_str){names->data, names->len}, NULL),
                 BM_OK);
    return first;
}

static void expect_name(const bm_buf *names, uint32_t input, const char *wanted)
{
    bm_buf name = {0};
    cr_assert_eq(index_input_name((bm_str){names->data, names->len}, input, &name, NULL), BM_OK);
    cr_assert_str_eq(name.data, wanted);
    bm_buf_reset(&name);
}

Test(index_notes, inputs_are_listed_once_and_found_by_their_numbers)
{
    notes_world w;
    bm_buf names = {0};
    open_world(&w);
    const char *all[N_INPUTS];
    memcpy(all, w.paths, sizeof all);
    cr_assert_eq(list(&w, &names), 0);
    for (uint32_t i = 0; i < N_INPUTS; i++)
        expect_name(&names, i, all[i]);
    expect_name(&names, N_INPUTS, "");
    expect_name(&names, BM_INDEX_NO_INPUT, "");
    cr_assert_eq(list(&w, &names), 0); /* the same again */
    open_inputs(&w, all + 1, 2);       /* some of them, in the same order */
    cr_assert_eq(list(&w, &names), 1);
    open_inputs(&w, (const char *[]){all[2], all[0]}, 2); /* in another order: two more names */
    cr_assert_eq(list(&w, &names), N_INPUTS);
    expect_name(&names, N_INPUTS, all[2]);
    expect_name(&names, N_INPUTS + 1, all[0]);
    expect_name(&names, N_INPUTS + 2, "");
    bm_buf_reset(&names);
    close_world(&w);
}

Test(index_notes, files_that_are_documents_are_not_listed)
{
    notes_world w;
    bm_buf names = {0};
    open_world(&w);
    w.settings.input.format = BM_FORMAT_FILES;
    const char *all[N_INPUTS];
    memcpy(all, w.paths, sizeof all);
    open_inputs(&w, all, N_INPUTS);
    cr_assert_eq(list(&w, &names), BM_INDEX_NO_INPUT);
    cr_assert_eq(names.len, 0);
    bm_buf_reset(&names);
    close_world(&w);
}

/* --- adds --- */

static const bm_index_add_place half = {
    .records = 12, .place = {.file = 1, .bytes = 99, .digest = {.lo = 5, .hi = 6}, .known = true}};

static void save(notes_world *w, bm_index_add_place place)
{
    bm_index_add_note note = {0};
    bm_index_add_place none;
    bm_store_view *view = view_of(w);
    cr_assert_eq(bm_index_add_note_open(&w->job, view, &note, &none, NULL), BM_OK);
    cr_assert(note.noted);
    cr_assert_eq(none.records, 0); /* not asked to resume */
    cr_assert_eq(index_add_note_save(&note, &w->job, &place, w->store, NULL), BM_OK);
    index_add_note_reset(&note);
    bm_store_view_close(view);
}

static bm_status resume(notes_world *w, bm_index_add_place *place, bm_error *err)
{
    bm_index_add_note note = {0};
    bm_store_view *view = view_of(w);
    w->settings.results.resume = true;
    const bm_status status = bm_index_add_note_open(&w->job, view, &note, place, err);
    w->settings.results.resume = false;
    index_add_note_reset(&note);
    bm_store_view_close(view);
    return status;
}

static void expect_place(notes_world *w, uint64_t records)
{
    bm_index_add_place place;
    bm_error err = {0};
    world_ok(resume(w, &place, &err), &err);
    cr_assert_eq(place.records, records);
    if (records == half.records) {
        cr_assert_eq(place.place.file, half.place.file);
        cr_assert_eq(place.place.bytes, half.place.bytes);
        cr_assert_eq(place.place.digest.lo, half.place.digest.lo);
        cr_assert_eq(place.place.digest.hi, half.place.digest.hi);
        cr_assert(place.place.known);
    }
}

Test(index_notes, an_add_goes_on_where_it_came_to)
{
    notes_world w;
    open_world(&w);
    expect_place(&w, 0);
    save(&w, half);
    expect_place(&w, 12);
    save(&w, (bm_index_add_place){.records = 30}); /* the end replaces `half` */
    expect_place(&w, 30);
    close_world(&w);
}

Test(index_notes, other_inputs_are_another_add_and_the_last_64_are_known)
{
    notes_world w;
    char name[32];
    open_world(&w);
    const char *path;
    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof name, "in%d.jsonl", i);
        scratch_put_text(&w.s, name, "{\"text\":\"a\"}\n");
        path = scratch_at(&w.s, name);
        open_inputs(&w, &path, 1);
        expect_place(&w, 0);
        save(&w, (bm_index_add_place){.records = (uint64_t)i + 100});
        expect_place(&w, (uint64_t)i + 100);
    }
    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof name, "in%d.jsonl", i);
        path = scratch_at(&w.s, name);
        open_inputs(&w, &path, 1);
        expect_place(&w, i < 6 ? 0 : (uint64_t)i + 100);
    }
    close_world(&w);
}

Test(index_notes, other_options_and_changed_inputs_are_refused)
{
    notes_world w;
    bm_index_add_place place;
    bm_error err = {0};
    open_world(&w);
    save(&w, half); /* in the middle of the second input */
    w.settings.index.unique = !w.settings.index.unique;
    world_refused(resume(&w, &place, &err), BM_ERR_FORMAT, &err, "other options");
    w.settings.index.unique = !w.settings.index.unique;
    cr_assert_eq(utime(w.paths[2], &(struct utimbuf){1000, 1000}),
                 0); /* not read yet: may change */
    expect_place(&w, 12);
    cr_assert_eq(utime(w.paths[0], &(struct utimbuf){1000, 1000}), 0);
    world_refused(resume(&w, &place, &err), BM_ERR_FORMAT, &err, "changed");
    close_world(&w);
}
