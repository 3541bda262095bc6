/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_job.c -- whole jobs over modified directories of ours: signatures, a result of dedup, and
 * the work directory of an interrupted dedup. Each directory is made once, as is the output of each
 * job from it.
 *
 * An input is a list of changes of eight bytes: job (with the highest bit: together with the next
 * change), file, kind of change, place (2), value, length (2). After each change the job must end
 * with a documented status, leave nothing at its target if it fails, and succeed only with the
 * output that it gives for the unmodified directory. */
#include <bandmill/cluster.h>
#include <bandmill/explain.h>
#include <bandmill/job.h>

#include <stdatomic.h>

#include "fuzz_tree.h"

#define CHANGE 8u

/* The output of a job: the files of its directory, or the bytes it passed to `write`. */
typedef struct result {
    bm_status status;
    folder files;
    bm_buf text;
} result;

typedef enum base { SIGNATURES, DEDUPED, LEFT_BY_DEDUP, LEFT_BY_SIGN, N_BASES } base;

typedef struct world {
    char input[FUZZ_PATH], target[FUZZ_PATH];
    char resumed[N_BASES][FUZZ_PATH]; /* the targets of interrupted jobs */
    const char *paths[1];
    folder bases[N_BASES];
} world;

static world here;

/* A step of the setup, which must succeed. */
static void need(bm_status status, const bm_error *err)
{
    if (status != BM_OK)
        fprintf(stderr, "%s: %s\n", err->file, err->message);
    CHECK(status == BM_OK);
}

/* --- jobs --- */

static int keep_text(void *ctx, const char *data, size_t len)
{
    return bm_buf_add(ctx, data, len, NULL) != BM_OK;
}

static const bm_device_options cpu = {.device = "cpu"};
static const bm_resource_options little = {
    .threads = 1, .memory = 512 << 20, .checkpoint_seconds = -1};

/* With callbacks, the job is sealed whenever possible. */
static bm_status run_sign(const char *target, bool again, const bm_callbacks *callbacks,
                          bm_error *err)
{
    bm_sign_options o;
    bm_summary *summary = NULL;
    bm_sign_options_init(&o);
    o.input.paths = here.paths;
    o.input.n_paths = 1;
    o.input.on_error = BM_ON_ERROR_SKIP;
    o.sketch.perms = 16;
    o.bands.bands = o.bands.rows = 4;
    o.device = cpu;
    o.resources = little;
    o.output.path = target;
    o.band_keys = true;
    o.resume = again;
    if (callbacks != NULL) {
        o.callbacks = *callbacks;
        o.resources.checkpoint_seconds = 0;
        o.resources.batch_docs = 4;
    }
    const bm_status status = bm_job_sign(&o, &summary, err);
    bm_summary_free(summary);
    return status;
}

static void dedup_options(bm_dedup_options *o, const char *const *paths, const char *target)
{
    bm_dedup_options_init(o);
    o->input.paths = paths;
    o->input.n_paths = 1;
    o->bands.threshold = 0.5;
    o->device = cpu;
    o->resources = little;
    o->output.path = target;
    o->write_pairs = true;
}

static bm_status run_dedup(const char *target, bool again, const bm_callbacks *callbacks,
                           bm_error *err)
{
    bm_dedup_options o;
    dedup_options(&o, here.paths, target);
    o.input.on_error = BM_ON_ERROR_SKIP;
    o.resume = again;
    if (callbacks != NULL) {
        o.callbacks = *callbacks;
        o.resources.checkpoint_seconds = 0;
        o.resources.batch_docs = 4;
    }
    bm_summary *summary = NULL;
    const bm_status status = bm_job_dedup(&o, &summary, err);
    bm_summary_free(summary);
    return status;
}

static bm_status dedup_signed(bm_verify verify, bm_error *err)
{
    const char *const path[] = {here.bases[SIGNATURES].path};
    bm_dedup_options o;
    dedup_options(&o, path, here.target);
    o.bands.bands = o.bands.rows = 4;
    o.verify = verify;
    bm_summary *summary = NULL;
    const bm_status status = bm_job_dedup(&o, &summary, err);
    bm_summary_free(summary);
    return status;
}

static bm_status dedup_exact(result *r, bm_error *err)
{
    (void)r;
    return dedup_signed(BM_VERIFY_EXACT, err);
}

static bm_status dedup_estimated(result *r, bm_error *err)
{
    (void)r;
    return dedup_signed(BM_VERIFY_SIGNATURE, err);
}

static bm_status pairs_signed(result *r, bm_error *err)
{
    const char *const path[] = {here.bases[SIGNATURES].path};
    bm_pairs_options o;
    bm_pairs_options_init(&o);
    o.input.paths = path;
    o.input.n_paths = 1;
    o.bands.bands = o.bands.rows = 4;
    o.bands.threshold = 0.5;
    o.verify = BM_VERIFY_SIGNATURE;
    o.device = cpu;
    o.resources = little;
    o.write = keep_text;
    o.write_ctx = &r->text;
    bm_summary *summary = NULL;
    const bm_status status = bm_job_pairs(&o, &summary, err);
    bm_summary_free(summary);
    return status;
}

static bm_status filter_result(bool annotate, bm_error *err)
{
    bm_filter_options o;
    bm_filter_options_init(&o);
    o.path = here.bases[DEDUPED].path;
    o.annotate = annotate;
    o.resources = little;
    o.output.path = here.target;
    bm_summary *summary = NULL;
    const bm_status status = bm_job_filter(&o, &summary, err);
    bm_summary_free(summary);
    return status;
}

static bm_status filter_kept(result *r, bm_error *err)
{
    (void)r;
    return filter_result(false, err);
}

static bm_status filter_annotated(result *r, bm_error *err)
{
    (void)r;
    return filter_result(true, err);
}

static bm_status explain_result(result *r, const char *a, const char *b, bm_error *err)
{
    bm_explain_options o;
    bm_explain_options_init(&o);
    o.path = here.bases[DEDUPED].path;
    o.id_a = a;
    o.id_b = b;
    o.group = a == NULL ? 1 : 0;
    o.form = a == NULL ? BM_EXPLAIN_JSON : BM_EXPLAIN_TEXT;
    o.write = keep_text;
    o.write_ctx = &r->text;
    o.device = cpu;
    o.resources = little;
    return bm_explain(&o, NULL, err);
}

static bm_status explain_chain(result *r, bm_error *err)
{
    return explain_result(r, "d0", "d8", err);
}

static bm_status explain_group(result *r, bm_error *err)
{
    return explain_result(r, NULL, NULL, err);
}

static bm_status cluster_result(result *r, bm_error *err)
{
    char path[FUZZ_PATH];
    bm_cluster_options o;
    bm_cluster_options_init(&o);
    o.path = path_in(&here.bases[DEDUPED], "pairs.tsv", path);
    o.write = keep_text;
    o.write_ctx = &r->text;
    return bm_cluster_pairs(&o, NULL, err);
}

static bm_status inspect(base which, result *r, bm_error *err)
{
    char *json = NULL;
    const bm_status status = bm_inspect(here.bases[which].path, &json, err);
    if (status == BM_OK)
        CHECK(bm_buf_add(&r->text, json, strlen(json), NULL) == BM_OK);
    bm_string_free(json);
    return status;
}

static bm_status inspect_signed(result *r, bm_error *err)
{
    return inspect(SIGNATURES, r, err);
}

static bm_status inspect_result(result *r, bm_error *err)
{
    return inspect(DEDUPED, r, err);
}

static bm_status resume_dedup(result *r, bm_error *err)
{
    (void)r;
    return run_dedup(here.resumed[LEFT_BY_DEDUP], true, NULL, err);
}

static bm_status resume_sign(result *r, bm_error *err)
{
    (void)r;
    return run_sign(here.resumed[LEFT_BY_SIGN], true, NULL, err);
}

typedef struct job {
    base base;
    bm_status (*run)(result *r, bm_error *err);
    bool unchecked; /* reads a file that may be anybody's: other bytes are other pairs */
    result wanted;
} job;

static job jobs[] = {{.base = SIGNATURES, .run = dedup_exact},
                     {.base = SIGNATURES, .run = dedup_estimated},
                     {.base = SIGNATURES, .run = pairs_signed},
                     {.base = SIGNATURES, .run = inspect_signed},
                     {.base = DEDUPED, .run = filter_kept},
                     {.base = DEDUPED, .run = filter_annotated},
                     {.base = DEDUPED, .run = explain_chain},
                     {.base = DEDUPED, .run = explain_group},
                     {.base = DEDUPED, .run = cluster_result, .unchecked = true},
                     {.base = DEDUPED, .run = inspect_result},
                     {.base = LEFT_BY_DEDUP, .run = resume_dedup},
                     {.base = LEFT_BY_SIGN, .run = resume_sign}};
#define N_JOBS (sizeof jobs / sizeof jobs[0])

static void run(const job *j, result *r, bm_error *err)
{
    const bool left = j->base >= LEFT_BY_DEDUP;
    const char *target = left ? here.resumed[j->base] : here.target;
    world_folder_remove(target);
    *err = (bm_error){0};
    memcpy(r->files.path, target, FUZZ_PATH);
    r->text.len = 0;
    r->status = j->run(r, err);
    read_folder(&r->files);
    if (left)
        here.bases[j->base].touched = true;
}

/* --- the directories before any change --- */

/* Chains of documents that share one word less with each step, copies, an empty document, a bad
 * one. */
static void write_input(void)
{
    bm_buf out = {0};
    for (unsigned i = 0; i < 14; i++) {
        CHECK(bm_buf_add_format(&out, NULL, "{\"id\":\"d%u\",\"text\":%s", i,
                                i == 11 ? "5" : "\"") == BM_OK);
        for (unsigned w = 0; w < 24 && i < 11; w++)
            CHECK(bm_buf_add_format(&out, NULL, "%c%u ", w < i / 4 * 3 ? 'x' : 'a' + (int)(i % 4),
                                    w + (w < i / 4 * 3 ? i * 100 : 0)) == BM_OK);
        for (unsigned w = 0; w < 24 && i == 13; w++) /* a copy of d1 */
            CHECK(bm_buf_add_format(&out, NULL, "b%u ", w) == BM_OK);
        CHECK(bm_buf_add_text(&out, i == 11 ? "}\n" : "\"}\n", NULL) == BM_OK);
    }
    fuzz_write(here.input, out.data, out.len);
    bm_buf_reset(&out);
}

typedef struct stop {
    atomic_int asked;
    int at;
} stop;

static bool cancelled(void *ctx)
{
    stop *s = ctx;
    return atomic_fetch_add(&s->asked, 1) >= s->at;
}

typedef bm_status run_fn(const char *target, bool again, const bm_callbacks *callbacks,
                         bm_error *err);

/* Makes the work directory of a job that was interrupted as late as possible. */
static void interrupt(base which, const char *name, run_fn *run_job)
{
    folder *f = &here.bases[which];
    const char *target = fuzz_path(name, here.resumed[which]);
    char partial[64];
    snprintf(partial, sizeof partial, "%.32s.partial", name);
    fuzz_path(partial, f->path);
    for (int at = 0; at < 1000; at++) {
        stop s = {.at = at};
        const bm_callbacks callbacks = {.ctx = &s, .cancelled = cancelled};
        bm_error err = {0};
        world_folder_remove(f->path);
        const bm_status status = run_job(target, false, &callbacks, &err);
        if (status == BM_OK)
            break;
        if (status != BM_ERR_CANCELLED)
            need(status, &err);
        folder seen = {.n = 0};
        memcpy(seen.path, f->path, sizeof seen.path);
        read_folder(&seen);
        if (seen.n > 2) { /* the job has been sealed */
            reset_folder(f);
            *f = seen;
        } else {
            reset_folder(&seen);
        }
    }
    CHECK(f->n > 2);
    f->touched = true;
    restore(f);
}

static void begin(void)
{
    bm_error err;
    if (here.paths[0] != NULL)
        return;
    here.paths[0] = fuzz_path("in.jsonl", here.input);
    fuzz_path("target", here.target);
    write_input();
    folder *f = here.bases;
    need(run_sign(fuzz_path("signed", f[SIGNATURES].path), false, NULL, &err), &err);
    need(run_dedup(fuzz_path("result", f[DEDUPED].path), false, NULL, &err), &err);
    read_folder(&f[SIGNATURES]);
    read_folder(&f[DEDUPED]);
    interrupt(LEFT_BY_DEDUP, "deduped", run_dedup);
    interrupt(LEFT_BY_SIGN, "signatures", run_sign);
    for (size_t i = 0; i < N_JOBS; i++) {
        restore(&f[jobs[i].base]);
        run(&jobs[i], &jobs[i].wanted, &err);
        need(jobs[i].wanted.status, &err);
    }
}

/* --- changes --- */

/* Replaces `n` bytes from `at` on. */
static void put_for(bm_buf *b, size_t at, size_t n, const char *with, size_t n_with)
{
    bm_buf out = {0};
    CHECK(bm_buf_reserve(&out, b->len + n_with + 1, NULL) == BM_OK);
    memcpy(out.data, b->data, at);
    if (n_with > 0)
        memcpy(out.data + at, with, n_with);
    memcpy(out.data + at + n_with, b->data + at + n, b->len - at - n);
    out.len = b->len - n + n_with;
    bm_buf_reset(b);
    *b = out;
}

/* Changes the bytes `b` of a file; `other`: the bytes of another file. */
static void change_bytes(bm_buf *b, const uint8_t *c, const bm_buf *other)
{
    static const char zeros[256];
    if (b->len == 0)
        return;
    const size_t at = (c[3] | (size_t)c[4] << 8) % b->len;
    size_t n = 1 + (c[6] | (size_t)c[7] << 8) % 256;
    n = n < b->len - at ? n : b->len - at;
    bm_buf block = {0};
    CHECK(bm_buf_add(&block, b->data + at, n, NULL) == BM_OK);
    switch (c[2] % 7) {
    case 0:
        b->data[at] = (char)(b->data[at] ^ (c[5] == 0 ? 1 : c[5]));
        break;
    case 1:
        b->len = at;
        break;
    case 2:
        put_for(b, at, n, NULL, 0);
        break;
    case 3:
        put_for(b, at, n, zeros, n);
        break;
    case 4:
        put_for(b, at, 0, block.data, n);
        break;
    case 5:
        put_for(b, at, 1, (const char *)&c[5], 1);
        break;
    default:
        put_for(b, 0, b->len, other->data, other->len);
    }
    bm_buf_reset(&block);
}

typedef struct changes {
    bool any;      /* the directory has changed */
    bool unsealed; /* a report may have any contents: nothing remains to check it against */
} changes;

static bool is_report(const char *name)
{
    return strcmp(name, "report.json") == 0 || strcmp(name, "manifest.json") == 0;
}

/* Applies a change to the directory. */
static void change(folder *f, const uint8_t *c, changes *made)
{
    static const char seal[] = "\"report_xxh3_128\"";
    char path[FUZZ_PATH];
    const file *from = &f->files[c[1] % f->n], *other = &f->files[(c[1] + 1u + c[5]) % f->n];
    struct stat info;
    bm_buf b = {0};
    path_in(f, from->name, path);
    const bool gone = c[2] >= 250 || stat(path, &info) != 0;
    if (gone) {
        unlink(path);
    } else {
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        CHECK(fd >= 0 && bm_buf_reserve(&b, (size_t)info.st_size + 1, NULL) == BM_OK);
        b.len = (size_t)read(fd, b.data, (size_t)info.st_size);
        close(fd);
        change_bytes(&b, c, &other->bytes);
        fuzz_write(path, b.data, b.len);
    }
    if (gone || !fuzz_same(b.data, b.len, from->bytes.data, from->bytes.len))
        made->any = f->touched = true;
    if (is_report(from->name) &&
        (b.len == 0 || memmem(b.data, b.len, seal, sizeof seal - 1) == NULL))
        made->unsealed = true;
    bm_buf_reset(&b);
}

/* --- comparing --- */

/* The length of a report without the part that differs between runs. */
static size_t compared(const file *f)
{
    const char *at = is_report(f->name) ? memmem(f->bytes.data, f->bytes.len, "\"run\"", 5) : NULL;
    return at != NULL ? (size_t)(at - f->bytes.data) : f->bytes.len;
}

static void check_same(const result *got, const result *wanted)
{
    CHECK(got->files.n == wanted->files.n);
    CHECK(fuzz_same(got->text.data, got->text.len, wanted->text.data, wanted->text.len));
    for (size_t i = 0; i < got->files.n; i++) {
        const file *a = &got->files.files[i], *b = &wanted->files.files[i];
        CHECK(strcmp(a->name, b->name) == 0);
        CHECK(fuzz_same(a->bytes.data, compared(a), b->bytes.data, compared(b)));
    }
}

/* Checks a status that modified files may give. */
static void check_refused(const result *r, const bm_error *err)
{
    CHECK(r->status == BM_ERR_FORMAT || r->status == BM_ERR_INPUT || r->status == BM_ERR_IO ||
          r->status == BM_ERR_USAGE || r->status == BM_ERR_NOMEM || r->status == BM_NOT_FOUND);
    CHECK(err->message[0] != '\0' || r->status == BM_NOT_FOUND);
    CHECK(r->files.n == 0 && access(r->files.path, F_OK) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    result got = {.status = BM_OK};
    bm_error err;
    begin();
    changes made = {.any = false};
    for (size_t at = 0; at + CHANGE <= size; at += CHANGE) {
        const uint8_t *c = data + at;
        const job *j = &jobs[(c[0] & 127u) % N_JOBS];
        change(&here.bases[j->base], c, &made);
        if (c[0] & 128u)
            continue;
        run(j, &got, &err);
        if (got.status != BM_OK)
            check_refused(&got, &err);
        else if (!made.unsealed && !j->unchecked)
            check_same(&got, &j->wanted);
        CHECK(made.any || got.status == BM_OK);
        for (size_t i = 0; i < N_BASES; i++)
            restore(&here.bases[i]);
        made = (changes){.any = false};
    }
    for (size_t i = 0; i < N_BASES; i++)
        restore(&here.bases[i]);
    reset_folder(&got.files);
    bm_buf_reset(&got.text);
    return 0;
}
