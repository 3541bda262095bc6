/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_calls.c -- each allocation and each system call of export and import fails once in turn,
 * until a run has no failure.
 *
 * A run that fails reports why, and leaks neither memory nor open files. It leaves nothing at the
 * target, except the whole new output if only the sync of its directory failed, or work that the
 * next job there takes over. A run that goes on all the same gives the right bytes. A stand-in for
 * the module reads and writes tables here: its own calls belong to Arrow. */
#include <bandmill/exchange.h>
#include <bandmill/job.h>

#include "failed_run.h"
#include "input/table_module.h"
#include "input/table_library.h"
#include "tests/world/world_folder.h"
#include "tests/world/scratch.h"

enum { PERMS = 4, ROWS = 3 };

/* --- a table of three rows, and a writer that accepts any table --- */

static void release_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static void release_array(struct ArrowArray *array)
{
    array->release = NULL;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    static struct ArrowSchema word = {.format = "I", .name = "item", .release = release_schema};
    static struct ArrowSchema *words[] = {&word};
    static struct ArrowSchema list = {.format = "+w:4",
                                      .name = "signature",
                                      .n_children = 1,
                                      .children = words,
                                      .release = release_schema};
    static struct ArrowSchema id = {.format = "u", .name = "id", .release = release_schema};
    static struct ArrowSchema *columns[] = {&list, &id};
    (void)stream;
    *out = (struct ArrowSchema){.format = "+s",
                                .name = "",
                                .n_children = 2,
                                .children = columns,
                                .release = release_schema};
    return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    static const uint32_t numbers[ROWS * PERMS] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const int32_t ends[ROWS + 1] = {0, 1, 2, 3};
    static const void *none[] = {NULL}, *of_words[] = {NULL, numbers},
                      *of_ids[] = {NULL, ends, "abc"};
    static struct ArrowArray word = {.length = ROWS * PERMS, .n_buffers = 2, .buffers = of_words};
    static struct ArrowArray *words[] = {&word};
    static struct ArrowArray list = {
        .length = ROWS, .n_buffers = 1, .buffers = none, .n_children = 1, .children = words};
    static struct ArrowArray id = {.length = ROWS, .n_buffers = 3, .buffers = of_ids};
    static struct ArrowArray *columns[] = {&list, &id};
    out->release = NULL;
    if (stream->private_data == NULL)
        return 0;
    stream->private_data = NULL;
    *out = (struct ArrowArray){.length = ROWS,
                               .n_buffers = 1,
                               .buffers = none,
                               .n_children = 2,
                               .children = columns,
                               .release = release_array};
    return 0;
}

static const char *last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return NULL;
}

static void release_stream(struct ArrowArrayStream *stream)
{
    stream->release = NULL;
}

static bm_status open_table(const bm_table_wish *wish, struct ArrowArrayStream *out,
                            bm_table_words *words)
{
    static char some;
    (void)wish, (void)words;
    *out = (struct ArrowArrayStream){get_schema, get_next, last_error, release_stream, &some};
    return BM_OK;
}

/* Writes the words of all rows, one row after another. */
static bm_status write_table(const bm_table_made *made, bm_table_words *words)
{
    struct ArrowSchema schema = {0};
    struct ArrowArray array = {0};
    int code = made->stream->get_schema(made->stream, &schema);
    bm_status status = BM_OK;
    if (schema.release != NULL)
        schema.release(&schema);
    while (code == 0 && status == BM_OK) {
        code = made->stream->get_next(made->stream, &array);
        if (code != 0 || array.release == NULL)
            break;
        const int64_t n = array.length;
        if (made->write(made->write_ctx, (const char *)&n, sizeof n) != 0)
            status = BM_ERR_PIPE;
        array.release(&array);
    }
    made->stream->release(made->stream);
    if (code != 0 || status != BM_OK)
        snprintf(words->text, sizeof words->text, "the rows broke off");
    return code != 0 ? BM_ERR_IO : status;
}

const bm_table_module *__wrap_bm_table_module_find(const char **why);
const bm_table_module *__wrap_bm_table_module_find(const char **why)
{
    static const bm_table_module module = {BM_TABLE_MODULE_ABI, "none", open_table, NULL,
                                           write_table};
    (void)why;
    return &module;
}

/* --- jobs --- */

typedef struct task {
    bool import;
    bm_exchange form;
    const char *from, *ids;
    bm_export_what what;
} task;

static const task tasks[] = {
    {.form = BM_EXCHANGE_LEANMINHASH, .from = "signed"},
    {.form = BM_EXCHANGE_NPY, .from = "signed", .what = BM_EXPORT_BANDS},
    {.form = BM_EXCHANGE_TSV, .from = "signed"},
    {.form = BM_EXCHANGE_DATATROVE, .from = "signed"},
    {.form = BM_EXCHANGE_MILVUS, .from = "signed"},
    {.form = BM_EXCHANGE_ARROW, .from = "signed"},
    {.import = true, .form = BM_EXCHANGE_LEANMINHASH, .from = "lean"},
    {.import = true, .form = BM_EXCHANGE_NPY, .from = "npy/signatures.npy", .ids = "npy/ids.txt"},
    {.import = true, .form = BM_EXCHANGE_ARROW, .from = "any.arrow"},
};
enum { TASKS = sizeof tasks / sizeof tasks[0] };

static bm_status run_to(scratch *s, const task *t, const char *to, bm_error *err)
{
    bm_summary *summary = NULL;
    bm_status status;
    if (t->import) {
        const char *paths[] = {scratch_at(s, t->from)};
        bm_import_options o;
        bm_import_options_init(&o);
        o.paths = paths;
        o.n_paths = 1;
        o.from = t->form;
        o.ids = t->ids != NULL ? scratch_at(s, t->ids) : NULL;
        o.resources.threads = 1;
        o.resources.memory = 1 << 28;
        o.set_fields = t->form == BM_EXCHANGE_LEANMINHASH
                           ? 0
                           : BM_FIELD_SCHEME | BM_FIELD_SEED | BM_FIELD_HASH;
        o.output.path = scratch_at(s, to);
        status = bm_job_import(&o, &summary, err);
    } else {
        bm_export_options o;
        bm_export_options_init(&o);
        o.path = scratch_at(s, t->from);
        o.to = t->form;
        o.what = t->what;
        o.resources.threads = 1;
        o.resources.memory = 1 << 28;
        o.output.path = scratch_at(s, to);
        if (t->what == BM_EXPORT_BANDS || t->form == BM_EXCHANGE_DATATROVE)
            o.bands.bands = o.bands.rows = 2;
        status = bm_job_export(&o, &summary, err);
    }
    bm_summary_free(summary);
    return status;
}

static void sign(scratch *s)
{
    const char *paths[] = {scratch_at(s, "in.jsonl")};
    bm_sign_options o;
    bm_summary *summary = NULL;
    bm_error err = {0};
    scratch_put_text(s, "in.jsonl",
                     "{\"id\":\"a\",\"text\":\"one two three four five six\"}\n"
                     "{\"id\":\"b\",\"text\":\"\"}\n"
                     "{\"id\":\"c\",\"text\":\"seven eight nine ten eleven\"}\n");
    bm_sign_options_init(&o);
    o.input.paths = paths;
    o.input.n_paths = 1;
    o.sketch.perms = PERMS;
    o.device.device = "cpu";
    o.resources.threads = 1;
    o.output.path = scratch_at(s, "signed");
    cr_assert_eq(bm_job_sign(&o, &summary, &err), BM_OK, "%s", err.message);
    bm_summary_free(summary);
}

static void open_place(scratch *s)
{
    bm_error err = {0};
    *s = scratch_open();
    sign(s);
    const task lean = {.form = BM_EXCHANGE_LEANMINHASH, .from = "signed"};
    const task npy = {.form = BM_EXCHANGE_NPY, .from = "signed"};
    cr_assert_eq(run_to(s, &lean, "lean", &err), BM_OK, "%s", err.message);
    cr_assert_eq(run_to(s, &npy, "npy", &err), BM_OK, "%s", err.message);
    scratch_put_text(s, "any.arrow", "ARROW1");
    scratch_folder(s, "answers");
}

/* --- the files of the output --- */

static bool is_report(const char *name)
{
    return strcmp(name, "report.json") == 0 || strcmp(name, "manifest.json") == 0;
}

static bool same_file(scratch *s, const char *dir, const char *other, const char *name)
{
    char path[2][300];
    size_t len[2];
    snprintf(path[0], sizeof path[0], "%s/%s", dir, name);
    snprintf(path[1], sizeof path[1], "%s/%s", other, name);
    if (!scratch_has(s, path[0]))
        return false;
    if (is_report(name)) /* the report contains how long the run took */
        return true;
    char *data[2] = {scratch_get(s, path[0], &len[0]), scratch_get(s, path[1], &len[1])};
    const bool same = len[0] == len[1] && memcmp(data[0], data[1], len[0]) == 0;
    free(data[0]);
    free(data[1]);
    return same;
}

/* Does the folder have the same files as the other, and no more? Includes subfolders. */
static bool is_like(scratch *s, const char *dir, const char *other)
{
    bool same = scratch_has(s, dir) && scratch_count(s, dir) == scratch_count(s, other);
    DIR *folder = opendir(scratch_at(s, other));
    cr_assert_not_null(folder);
    for (const struct dirent *entry; same && (entry = readdir(folder)) != NULL;) {
        char path[2][300];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path[0], sizeof path[0], "%s/%s", dir, entry->d_name);
        snprintf(path[1], sizeof path[1], "%s/%s", other, entry->d_name);
        same = entry->d_type == DT_DIR ? is_like(s, path[0], path[1])
                                       : same_file(s, dir, other, entry->d_name);
    }
    closedir(folder);
    return same;
}

/* Judges a run. What a job could not claim or remove is left to the next job there. */
static void judge(scratch *s, const task *t, bm_status status, const char *why)
{
    if (status != BM_OK && scratch_has(s, "answers/out.partial")) {
        cr_assert(!scratch_has(s, "answers/out"), "%s fails: half an output (%s)", plan.which, why);
        status = run_to(s, t, "answers/out", NULL);
        cr_assert_eq(status, BM_OK, "%s fails: the next job does too (%s)", plan.which, why);
    }
    if (status == BM_OK || scratch_count(s, "answers") > 0)
        cr_assert(is_like(s, "answers/out", "right") && scratch_count(s, "answers") == 1,
                  "%s fails: something else is there (%s)", plan.which, why);
    if (scratch_has(s, "answers/out"))
        cr_assert_eq(world_folder_remove(scratch_at(s, "answers/out")), 0);
}

/* Fails call 0, 1, 2 and so on until a run has no failure; returns the number of failures. */
static long fail_each(scratch *s, const task *t, bool memory)
{
    bm_error err = {0};
    cr_assert_eq(run_to(s, t, "right", &err), BM_OK, "%s", err.message);
    long n = 0;
    for (plan.failed = true; plan.failed; n++) {
        err = (bm_error){0};
        const size_t n_files = open_files();
        plan_call(n, EIO, memory);
        const bm_status status = run_to(s, t, "answers/out", &err);
        plan.armed = false;
        const char *why = err.message;
        expect_failed_run(n, n_files, status, BM_OK, why);
        judge(s, t, status, why);
    }
    cr_assert_eq(world_folder_remove(scratch_at(s, "right")), 0);
    return n;
}

Test(exchange_calls, every_failing_allocation_is_out_of_memory)
{
    SCRATCH s;
    open_place(&s);
    for (size_t i = 0; i < TASKS; i++)
        cr_assert_gt(fail_each(&s, &tasks[i], true), 10, "task %zu", i);
}

Test(exchange_calls, every_failing_call_is_an_error_or_makes_no_difference)
{
    SCRATCH s;
    open_place(&s);
    for (size_t i = 0; i < TASKS; i++)
        cr_assert_gt(fail_each(&s, &tasks[i], false), 10, "task %zu", i);
}
