/* SPDX-License-Identifier: Apache-2.0 */
/* test_signed.c -- signatures of a table in memory are byte for byte those that a job writes; and
 * options that need a job are refused before the table is touched. */
#include <criterion/criterion.h>
#include <fcntl.h>

#include <bandmill/signed.h>

#include "tests/world/scratch.h"
#include "tests/unit/sources/arrow_table.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_stop.h"

static const test_array with_ids[] = {
    {.n_rows = 4,
     .lead = 3,
     .table_lead = 1,
     .columns = {{"id", "u", {{.text = "a\tb"}, {.text = "b"}, {.text = "c"}, {.text = "d"}}},
                 {"text",
                  "u",
                  {{.text = "one two three"}, {.text = NULL}, {.text = "x"}, {.text = ""}}},
                 {"more", "u", {{.text = "m"}, {.text = "n o"}, {.text = NULL}, {.text = NULL}}}}},
    {.n_rows = 0, .columns = {{"id", "u", {{0}}}, {"text", "u", {{0}}}, {"more", "u", {{0}}}}},
    {.n_rows = 3,
     .columns = {{"id", "u", {{.text = "e"}, {.text = "f"}, {.text = "g"}}},
                 {"text",
                  "u",
                  {{.text = "x\xFFy z"}, {.text = "one two three"}, {.text = "\xC3\xA9t\xC3\xA9"}}},
                 {"more", "u", {{.text = "m"}, {.text = "m"}, {.text = "\xE2\x82"}}}}},
};
#define N_ARRAYS (sizeof with_ids / sizeof with_ids[0])
#define N_ROWS   7u

typedef struct kind {
    const char *name;
    const char *const *fields;
    size_t n_fields;
    bool ids, keys;
    uint32_t threads;
    bm_text_options text;
} kind;

static const char *const both[] = {"text", "more"};

static void fill(bm_sign_options *options, const kind *k, struct ArrowArrayStream *stream)
{
    bm_sign_options_init(options);
    options->input.stream = stream;
    options->input.text_fields = k->fields;
    options->input.n_text_fields = k->n_fields;
    options->input.id_field = k->ids ? "id" : "none";
    options->device.device = "cpu";
    options->resources.threads = k->threads;
    options->band_keys = k->keys;
    options->sketch.perms = 32;
    if (k->keys)
        options->bands.bands = options->bands.rows = 4;
    options->text.shingle_k = 2;
    if (k->text.shingle_k != 0) {
        options->text.shingle = k->text.shingle;
        options->text.shingle_k = k->text.shingle_k;
        options->text.short_rule = k->text.short_rule;
        options->text.bag = k->text.bag;
    }
}

static bm_signed *sign(const kind *k, atomic_int *alive)
{
    bm_sign_options options;
    struct ArrowArrayStream stream = test_stream(with_ids, N_ARRAYS, 3, alive);
    bm_signed *made = NULL;
    bm_error err = {0};
    fill(&options, k, &stream);
    cr_assert_eq(bm_sign_table(&options, &made, &err), BM_OK, "%s: %s", k->name, err.message);
    cr_assert_eq(atomic_load(alive), 0, "all of the table was released");
    return made;
}

static void job(const kind *k, const char *path, atomic_int *alive)
{
    bm_sign_options options;
    struct ArrowArrayStream stream = test_stream(with_ids, N_ARRAYS, 3, alive);
    bm_summary *summary = NULL;
    bm_error err = {0};
    fill(&options, k, &stream);
    options.output.path = path;
    cr_assert_eq(bm_job_sign(&options, &summary, &err), BM_OK, "%s: %s", k->name, err.message);
    bm_summary_free(summary);
}

static size_t content(const char *folder, const char *name, char *out, size_t cap)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return SIZE_MAX;
    const size_t n = fread(out, 1, cap, file);
    fclose(file);
    return n;
}

/* The files must be equal; of the manifest, the part before its last member, "run". */
static void same_files(const kind *k, const char *ours, const char *theirs)
{
    static const char *const names[] = {"signatures.npy", "content_hash.npy", "n_shingles.npy",
                                        "n_bytes.npy",    "text_hash.npy",    "band_keys.npy",
                                        "ids.txt",        "sources.tsv",      "manifest.json"};
    static char a[1 << 16], b[1 << 16];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t n = content(ours, names[i], a, sizeof a - 1);
        const size_t m = content(theirs, names[i], b, sizeof b - 1);
        cr_assert(n != SIZE_MAX || strcmp(names[i], "band_keys.npy") == 0, "%s", names[i]);
        if (strcmp(names[i], "manifest.json") == 0) {
            a[n] = b[m] = '\0';
            n = (size_t)(strstr(a, "\"run\"") - a);
            cr_assert_eq((size_t)(strstr(b, "\"run\"") - b), n, "%s: %s", k->name, names[i]);
        } else {
            cr_assert_eq(n, m, "%s: %s", k->name, names[i]);
        }
        if (n != SIZE_MAX)
            cr_assert_arr_eq(a, b, n, "%s: %s", k->name, names[i]);
    }
}

static const kind kinds[] = {
    {.name = "a text", .threads = 1},
    {.name = "a text, threads", .threads = 4},
    {.name = "ids", .ids = true, .threads = 1},
    {.name = "ids, keys", .ids = true, .keys = true, .threads = 3},
    {.name = "keys", .keys = true, .threads = 2},
    {.name = "texts joined", .fields = both, .n_fields = 2, .threads = 2},
    {.name = "characters", .threads = 1, .text = {.shingle = BM_SHINGLE_CHAR, .shingle_k = 3}},
    {.name = "bytes", .threads = 1, .text = {.shingle = BM_SHINGLE_BYTE, .shingle_k = 2}},
    {.name = "stop words", .threads = 1, .text = {.shingle = BM_SHINGLE_STOPWORD, .shingle_k = 1}},
    {.name = "bags, short ones skipped",
     .ids = true,
     .threads = 1,
     .text = {.shingle_k = 2, .bag = true, .short_rule = BM_SHORT_SKIP}},
};

Test(signed_table, a_saved_one_is_what_the_job_writes)
{
    SCRATCH place = scratch_open();
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        atomic_int alive = 0;
        char ours[600], theirs[640];
        bm_summary *summary = NULL;
        bm_error err = {0};
        snprintf(ours, sizeof ours, "%s", scratch_at(&place, kinds[i].name));
        snprintf(theirs, sizeof theirs, "%s-job", ours);
        bm_signed *made = sign(&kinds[i], &alive);
        job(&kinds[i], theirs, &alive);
        world_ok(bm_signed_save(made, &(bm_output_options){.path = ours}, &summary, &err), &err);
        same_files(&kinds[i], ours, theirs);
        cr_assert_eq(bm_summary_counts(summary)->documents, N_ROWS);
        bm_summary_free(summary);
        summary = NULL;
        cr_assert_eq(bm_signed_save(made, &(bm_output_options){.path = ours}, &summary, &err),
                     BM_ERR_USAGE, "it stands there already");
        snprintf(ours, sizeof ours, "%s again", scratch_at(&place, kinds[i].name));
        world_ok(bm_signed_save(made, &(bm_output_options){.path = ours}, &summary, &err), &err);
        same_files(&kinds[i], ours, theirs);
        bm_summary_free(summary);
        bm_signed_free(made);
    }
}

Test(signed_table, arrays_and_ids_are_those_of_the_documents)
{
    atomic_int alive = 0;
    bm_signed *made = sign(&kinds[2], &alive);
    const bm_signed_arrays *a = bm_signed_data(made);
    static const uint32_t n_shingles[N_ROWS] = {2, 0, 1, 0, 2, 2, 1};
    static const uint64_t n_bytes[N_ROWS] = {13, 0, 1, 0, 5, 13, 5};
    cr_assert_eq(a->n_docs, N_ROWS);
    cr_assert_eq(a->perms, 32);
    cr_assert_eq(a->bands, 0);
    for (size_t i = 0; i < N_ROWS; i++) {
        cr_assert_eq(a->n_shingles[i], n_shingles[i], "%zu", i);
        cr_assert_eq(a->n_bytes[i], n_bytes[i], "%zu", i);
    }
    for (uint32_t k = 0; k < a->perms; k++) {
        cr_assert_eq(a->signatures[1 * a->perms + k], BM_NO_SHINGLE32);
        cr_assert_eq(a->signatures[0 * a->perms + k], a->signatures[5 * a->perms + k],
                     "the same text");
    }
    char *ids = NULL;
    cr_assert_eq(bm_signed_ids(made, &ids, NULL), BM_OK);
    cr_assert_str_eq(ids, "a\\tb\nb\nc\nd\ne\nf\ng\n");
    bm_string_free(ids);
    cr_assert_not_null(strstr(bm_signed_json(made), "\"invalid_utf8\": 1"));
    bm_signed_free(made);
    made = sign(&kinds[0], &alive);
    cr_assert_eq(bm_signed_ids(made, &ids, NULL), BM_OK);
    cr_assert_str_eq(ids, "table:1\ntable:2\ntable:3\ntable:4\ntable:5\ntable:6\ntable:7\n");
    bm_string_free(ids);
    bm_signed_free(made);
    bm_signed_free(NULL);
}

/* Each array of the table is one batch, and the arrays of the result grow while other batches are
 * signed. */
Test(signed_table, rows_stay_in_their_places_while_arrays_grow)
{
    enum { N_TIMES = 2000, N_A_TIME = 4 };
    static test_array many[N_TIMES];
    atomic_int alive = 0;
    for (size_t i = 0; i < N_TIMES; i++)
        many[i] = with_ids[0];
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        struct ArrowArrayStream stream = test_stream(many, N_TIMES, 3, &alive);
        bm_sign_options options;
        bm_signed *made = NULL;
        bm_error err = {0};
        fill(&options, &kinds[4], &stream);
        options.resources.threads = threads;
        world_ok(bm_sign_table(&options, &made, &err), &err);
        const bm_signed_arrays *a = bm_signed_data(made);
        cr_assert_eq(a->n_docs, N_TIMES * N_A_TIME);
        for (size_t i = N_A_TIME; i < a->n_docs; i++) {
            const size_t like = i % N_A_TIME;
            cr_assert_arr_eq(a->signatures + i * a->perms, a->signatures + like * a->perms,
                             a->perms * sizeof *a->signatures, "%zu", i);
            cr_assert_arr_eq(a->keys + i * a->bands, a->keys + like * a->bands,
                             a->bands * sizeof *a->keys, "%zu", i);
            cr_assert_eq(a->n_shingles[i], a->n_shingles[like], "%zu", i);
            cr_assert_eq(a->n_bytes[i], a->n_bytes[like], "%zu", i);
            cr_assert_eq(a->content[2 * i], a->content[2 * like], "%zu", i);
        }
        bm_signed_free(made);
    }
    cr_assert_eq(atomic_load(&alive), 0);
}

static bm_status refused(const bm_sign_options *options, bm_error *err)
{
    bm_signed *made = NULL;
    bm_status status = bm_sign_table(options, &made, err);
    cr_assert_null(made);
    return status;
}

Test(signed_table, what_takes_a_job_leaves_the_table_as_it_was)
{
    atomic_int alive = 0;
    struct ArrowArrayStream stream = test_stream(with_ids, N_ARRAYS, 3, &alive);
    const char *paths[] = {"somewhere"};
    bm_sign_options options;
    bm_error err = {0};
    fill(&options, &kinds[0], &stream);
    options.input.on_error = BM_ON_ERROR_SKIP;
    cr_assert_eq(refused(&options, &err), BM_ERR_UNSUPPORTED);
    cr_assert_not_null(stream.release);
    fill(&options, &kinds[0], &stream);
    options.text.weights = BM_WEIGHTS_TFIDF;
    cr_assert_eq(refused(&options, &err), BM_ERR_UNSUPPORTED);
    cr_assert_not_null(stream.release);
    fill(&options, &kinds[0], &stream);
    options.output.path = "somewhere";
    cr_assert_eq(refused(&options, &err), BM_ERR_USAGE);
    cr_assert_str_eq(err.field, "output");
    fill(&options, &kinds[0], NULL);
    options.input.paths = paths;
    options.input.n_paths = 1;
    cr_assert_eq(refused(&options, &err), BM_ERR_UNSUPPORTED);
    fill(&options, &kinds[0], &stream);
    options.text.shingle_k = 0;
    cr_assert_eq(refused(&options, &err), BM_ERR_USAGE);
    cr_assert_not_null(stream.release);
    stream.release(&stream);
    cr_assert_eq(atomic_load(&alive), 0);
    cr_assert_eq(bm_sign_table(&options, NULL, &err), BM_ERR_USAGE);
}

/* Fails with the same message, place and status as a job. */
static void fails_alike(const bm_sign_options *base, const test_array *arrays)
{
    atomic_int alive = 0;
    bm_sign_options options = *base;
    bm_error ours = {0}, theirs = {0};
    bm_summary *summary = NULL;
    SCRATCH place = scratch_open();
    struct ArrowArrayStream stream = test_stream(arrays, 1, 2, &alive);
    options.input.stream = &stream;
    cr_assert_eq(refused(&options, &ours), BM_ERR_INPUT, "%s", ours.message);
    stream = test_stream(arrays, 1, 2, &alive);
    options.output.path = scratch_at(&place, "job");
    cr_assert_eq(bm_job_sign(&options, &summary, &theirs), BM_ERR_INPUT);
    cr_assert_str_eq(ours.message, theirs.message);
    cr_assert_str_eq(ours.file, theirs.file);
    cr_assert_eq(ours.line, theirs.line);
    cr_assert_eq(atomic_load(&alive), 0);
}

Test(signed_table, bad_rows_are_told_as_by_a_job)
{
    static const test_array null_id = {
        .n_rows = 3,
        .columns = {{"id", "u", {{.text = "a"}, {.text = NULL}, {.text = "b"}}},
                    {"text", "u", {{.text = "x"}, {.text = "y"}, {.text = "z"}}}}};
    static const test_array same_id = {
        .n_rows = 3,
        .columns = {{"id", "u", {{.text = "a"}, {.text = "b"}, {.text = "a"}}},
                    {"text", "u", {{.text = "x"}, {.text = "yy"}, {.text = "z"}}}}};
    static const test_array invalid = {
        .n_rows = 2,
        .columns = {{"id", "u", {{.text = "a"}, {.text = "b"}}},
                    {"text", "u", {{.text = "x"}, {.text = "\xFF"}}}}};
    bm_sign_options options;
    fill(&options, &kinds[2], NULL);
    fails_alike(&options, &null_id);
    fails_alike(&options, &same_id);
    fill(&options, &kinds[0], NULL);
    options.input.max_doc_bytes = 1;
    fails_alike(&options, &same_id);
    fill(&options, &kinds[0], NULL);
    options.input.invalid_utf8 = BM_INVALID_UTF8_ERROR;
    fails_alike(&options, &invalid);
    options.input.text_fields = both;
    options.input.n_text_fields = 2;
    fails_alike(&options, &invalid); /* there is no such column */
}

Test(signed_table, a_cancelled_call_leaves_nothing)
{
    atomic_int alive = 0;
    struct ArrowArrayStream stream = test_stream(with_ids, N_ARRAYS, 3, &alive);
    bm_sign_options options;
    bm_error err = {0};
    fill(&options, &kinds[1], &stream);
    options.callbacks.cancelled = world_stop;
    cr_assert_eq(refused(&options, &err), BM_ERR_CANCELLED);
    cr_assert_eq(atomic_load(&alive), 0);
}

Test(signed_table, a_text_too_long_for_the_memory_is_refused_as_by_a_job)
{
    enum { LONG = 40 << 20 };
    char *text = malloc(LONG + 1);
    cr_assert_not_null(text);
    memset(text, 'x', LONG);
    text[LONG] = '\0';
    const test_array array = {.n_rows = 2,
                              .columns = {{"text", "u", {{.text = "a"}, {.text = text}}}}};
    SCRATCH place = scratch_open();
    atomic_int alive = 0;
    bm_error errors[2] = {{0}};
    for (size_t i = 0; i < 2; i++) {
        struct ArrowArrayStream stream = test_stream(&array, 1, 1, &alive);
        bm_sign_options options;
        bm_signed *made = NULL;
        bm_summary *summary = NULL;
        fill(&options, &(kind){.fields = both, .n_fields = 1, .threads = 2}, &stream);
        options.resources.memory = 64 << 20;
        options.output.path = i == 0 ? NULL : scratch_at(&place, "job");
        cr_assert_eq(i == 0 ? bm_sign_table(&options, &made, &errors[i])
                            : bm_job_sign(&options, &summary, &errors[i]),
                     BM_ERR_NOMEM, "%zu: %s", i, errors[i].message);
    }
    cr_assert_str_eq(errors[0].message, errors[1].message);
    cr_assert_eq(atomic_load(&alive), 0);
    free(text);
}
