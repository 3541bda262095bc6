/* SPDX-License-Identifier: Apache-2.0 */
/* What an index notes of inputs and adds, through a store: names and their numbers; how far an add
 * came, and that another is not taken for it. */
#include <criterion/criterion.h>

#include <string.h>
#include <utime.h>

#include "base/error.h"
#include "input/input_set.h"
#include "index/index_adder.h"
#include "tests/unit/base/scratch.h"

#define N_INPUTS 3u

typedef struct world {
    scratch s;
    bm_settings settings;
    bm_job_context job;
    const char *paths[N_INPUTS];
    bm_store *store;
} world;

static void open_inputs(world *w, const char *const *names, size_t n)
{
    bm_error err = {0};
    bm_job_context *job = &w->job;
    for (size_t i = 0; i < n; i++)
        w->paths[i] = names[i];
    bm_input_set_close(job->inputs.set);
    job->inputs.set = NULL;
    w->settings.input.paths = w->paths;
    w->settings.input.n_paths = n;
    cr_assert_eq(bm_input_set_open(&w->settings.input, NULL, &job->inputs.set, &err), BM_OK, "%s",
                 err.message);
    job->inputs.names = (bm_file_names){.names = w->paths, .n = n};
}

static void open_world(world *w)
{
    static const char *const inputs[] = {"one.jsonl", "two\twith a tab.jsonl", "three.jsonl"};
    const bm_store_facts facts = {.kind = BM_STORE_SETS, .bands = 1, .settings = {"{}", 2}};
    bm_index_add_options options;
    bm_error err = {0};
    const char *paths[N_INPUTS];
    memset(w, 0, sizeof *w);
    scratch_open(&w->s);
    for (size_t i = 0; i < N_INPUTS; i++) {
        scratch_put_text(&w->s, inputs[i], "{\"text\":\"some\"}\n");
        paths[i] = scratch_at(&w->s, inputs[i]);
        w->paths[i] = paths[i];
    }
    bm_index_add_options_init(&options);
    options.input.paths = paths;
    options.input.n_paths = N_INPUTS;
    options.path = scratch_at(&w->s, "index");
    cr_assert_eq(bm_settings_of_index_add(&options, &w->settings, &err), BM_OK, "%s", err.message);
    w->job.settings = &w->settings;
    open_inputs(w, paths, N_INPUTS);
    const bm_store_cfg cfg = {.mode = BM_STORE_WRITE, .temp_dir = w->s.root};
    cr_assert_eq(bm_store_create_unnamed(&facts, &cfg, &w->store, &err), BM_OK, "%s", err.message);
}

static void close_world(world *w)
{
    bm_input_set_close(w->job.inputs.set);
    bm_store_close(w->store);
    scratch_close(&w->s);
}

static bm_store_view *view_of(world *w)
{
    bm_store_view *view = NULL;
    cr_assert_eq(bm_store_view_open(w->store, &view, NULL), BM_OK);
    return view;
}

/* --- inputs --- */

/* List the inputs and note them: the number of the first. */
static uint32_t list(world *w, bm_buf *names)
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
    cr_assert_eq(bm_index_input_name((bm_str){names->data, names->len}, input, &name, NULL), BM_OK);
    cr_assert_str_eq(name.data, wanted);
    bm_buf_reset(&name);
}

Test(index_notes, inputs_are_listed_once_and_found_by_their_numbers)
{
    world w;
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
    open_inputs(&w, all + 1, 2);       /* some of them, side by side */
    cr_assert_eq(list(&w, &names), 1);
    open_inputs(&w, (const char *[]){all[2], all[0]}, 2); /* in another order: two names more */
    cr_assert_eq(list(&w, &names), N_INPUTS);
    expect_name(&names, N_INPUTS, all[2]);
    expect_name(&names, N_INPUTS + 1, all[0]);
    expect_name(&names, N_INPUTS + 2, "");
    bm_buf_reset(&names);
    close_world(&w);
}

Test(index_notes, files_that_are_documents_are_not_listed)
{
    world w;
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

static void save(world *w, bm_index_add_place place)
{
    bm_index_add_note note = {0};
    bm_index_add_place none;
    bm_store_view *view = view_of(w);
    cr_assert_eq(bm_index_add_note_open(&w->job, view, &note, &none, NULL), BM_OK);
    cr_assert(note.noted);
    cr_assert_eq(none.records, 0); /* not asked to go on */
    cr_assert_eq(bm_index_add_note_save(&note, &w->job, &place, w->store, NULL), BM_OK);
    bm_index_add_note_reset(&note);
    bm_store_view_close(view);
}

static bm_status resume(world *w, bm_index_add_place *place, bm_error *err)
{
    bm_index_add_note note = {0};
    bm_store_view *view = view_of(w);
    w->settings.results.resume = true;
    const bm_status status = bm_index_add_note_open(&w->job, view, &note, place, err);
    w->settings.results.resume = false;
    bm_index_add_note_reset(&note);
    bm_store_view_close(view);
    return status;
}

static void expect_place(world *w, uint64_t records)
{
    bm_index_add_place place;
    bm_error err = {0};
    cr_assert_eq(resume(w, &place, &err), BM_OK, "%s", err.message);
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
    world w;
    open_world(&w);
    expect_place(&w, 0);
    save(&w, half);
    expect_place(&w, 12);
    save(&w, (bm_index_add_place){.records = 30}); /* the end: in place of the other */
    expect_place(&w, 30);
    close_world(&w);
}

Test(index_notes, other_inputs_are_another_add_and_the_last_64_are_known)
{
    world w;
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
    world w;
    bm_index_add_place place;
    bm_error err = {0};
    open_world(&w);
    save(&w, half); /* in the midst of the second input */
    w.settings.index.unique = !w.settings.index.unique;
    cr_assert_eq(resume(&w, &place, &err), BM_ERR_FORMAT);
    cr_assert_not_null(strstr(err.message, "other options"));
    w.settings.index.unique = !w.settings.index.unique;
    cr_assert_eq(utime(w.paths[2], &(struct utimbuf){1000, 1000}),
                 0); /* not read yet: may change */
    expect_place(&w, 12);
    cr_assert_eq(utime(w.paths[0], &(struct utimbuf){1000, 1000}), 0);
    cr_assert_eq(resume(&w, &place, &err), BM_ERR_FORMAT);
    cr_assert_not_null(strstr(err.message, "changed"));
    close_world(&w);
}
