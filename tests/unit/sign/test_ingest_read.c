/* SPDX-License-Identifier: Apache-2.0 */
/* test_ingest_read.c -- documents that an earlier run delivered are skipped: a run with
 * skip_records = k delivers what a full run delivers after the k-th record, whatever the batch
 * limits.
 *
 * The runs are full ingests, so this also tests every file of the ingest except budget.c and the
 * paths of devices. Next to each input, a list by hand says which records it has, in which file and
 * line, and which are bad. Ids and shingles are compared with those of a full run. */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/world/scratch.h"
#include "results/npy.h"
#include "sources/batch_sources.h"
#include "input/input_set.h"
#include "sign/ingest.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_npy.h"
#include "tests/world/world_random.h"

#define LONG_BYTES 200000u /* more than a batch, and many times max_doc_bytes */

typedef struct sample {
    const char *name;
    bm_format format;
    const char *files[5]; /* '@': LONG_BYTES letters */
    const char *ending;
    const char *text_field; /* NULL: the default */
    const char *records;    /* "FILE:LINE" of each record in order, with a ! if it is bad */
} sample;

static const sample samples[] = {
    {"jsonl",
     BM_FORMAT_JSONL,
     {"\xEF\xBB\xBF{\"id\":\"a\",\"text\":\"one two three four five six\"}\n"
      "\n"
      "{\"id\":\"b\",\"text\":\"\"}\r\n"
      "{\"id\":\"broken\",\"text\":\n"
      " \t \r\n"
      "{\"id\":\"@\",\"text\":\"too long\"}\n"
      "{\"text\":\"without an id, and \xFF invalid\"}\n",
      "", "\n\n",
      "\n{\"id\":\"c\",\"text\":17}\n{\"id\":\"d\",\"text\":\"the last one has no newline\"}"},
     "jsonl",
     NULL,
     "0:1 0:3 0:4! 0:6! 0:7 3:2! 3:3"},
    {"csv",
     BM_FORMAT_CSV,
     {"id,text\n"
      "a,\"one, two\nthree \"\"four\"\"\n\n\"\n"
      "\"b\",plain\r\n"
      "c,\"behind the quote\"x\n"
      "\n"
      "d,\"@\"\n"
      "e,f\n",
      "id,text\n", "\xEF\xBB\xBFid,text\ng,\"an open quote\nh,i\n", "text,id\nword,\"j\nk\""},
     "csv",
     NULL,
     "0:2 0:6 0:7! 0:8! 0:9! 0:10 2:2! 3:2"},
    {"tsv with a header",
     BM_FORMAT_TSV,
     {"id\ttext\na\tone two three\nb\n\nc\t\nd\t\"quote\n", "id\ttext\tmore\ne\tx\ty"},
     "tsv",
     NULL,
     "0:2 0:3! 0:4! 0:5 0:6 1:2"},
    {"tsv without one",
     BM_FORMAT_TSV,
     {"a\tone two three\nb\n@\n\nc\t\n", "d\tx"},
     "tsv",
     "2",
     "0:1 0:2! 0:3! 0:4! 0:5 1:1"},
    {"lines",
     BM_FORMAT_LINES,
     {"\xEF\xBB\xBFone two three\n\n\r\n@\nfour", "", "\n", "five\xC3\n"},
     "txt",
     NULL,
     "0:1 0:2 0:3 0:4! 0:5 2:1 3:1"},
    {"files",
     BM_FORMAT_FILES,
     {"a file\nof two lines\n", "", "@", "\n", "the last"},
     "md",
     NULL,
     "0:1 1:1 2:1! 3:1 4:1"},
};
#define N_SAMPLES (sizeof samples / sizeof samples[0])

typedef struct place {
    uint64_t line;
    uint32_t file;
    bool bad;
} place;

/* What a run delivered. */
typedef struct result {
    bm_status status;
    bm_error err;
    bm_doc_table docs;
    bm_counts counts;
    bm_shingle_batch sets; /* of all documents, in order */
    bm_hash128 digests[8];
    uint64_t bytes_read[8];
} result;

typedef struct world {
    scratch dir;
    const char *paths[8], *text_fields[1];
    size_t n_paths;
    bm_input_options input;
    bm_text_options text;
    bm_callbacks callbacks;
    place *places;
    size_t n;
} world;

static void add_file(world *w, const char *name, const void *data, size_t len)
{
    scratch_put(&w->dir, name, data, len);
    w->paths[w->n_paths++] = strdup(scratch_at(&w->dir, name));
}

static void add_text(world *w, const sample *from, const char *text)
{
    char name[32], *data = malloc(strlen(text) + LONG_BYTES);
    size_t len = 0;
    for (const char *c = text; *c != '\0'; c++) {
        size_t n = *c == '@' ? LONG_BYTES : 1;
        memset(data + len, *c == '@' ? 'x' : *c, n);
        len += n;
    }
    snprintf(name, sizeof name, "%zu.%s", w->n_paths, from->ending);
    add_file(w, name, data, len);
    free(data);
}

static void begin(world *w, bm_format format)
{
    memset(w, 0, sizeof *w);
    w->dir = scratch_open();
    w->input = (bm_input_options){.paths = w->paths,
                                  .format = format,
                                  .header = BM_HEADER_BY_FIELDS,
                                  .on_error = BM_ON_ERROR_SKIP,
                                  .max_errors = UINT64_MAX,
                                  .max_doc_bytes = 1000};
    w->text = (bm_text_options){.normalize = BM_NORM_LOWER, .shingle_k = 2};
}

static void open_sample(world *w, const sample *from)
{
    begin(w, from->format);
    for (size_t i = 0; i < 5 && from->files[i] != NULL; i++)
        add_text(w, from, from->files[i]);
    if (from->text_field != NULL) {
        w->text_fields[0] = from->text_field;
        w->input.text_fields = w->text_fields;
        w->input.n_text_fields = 1;
        w->input.id_field = "1";
    }
    w->places = calloc(strlen(from->records), sizeof *w->places);
    for (const char *at = from->records; *at != '\0';) {
        char *end;
        place *p = &w->places[w->n++];
        p->file = (uint32_t)strtoul(at, &end, 10);
        cr_assert_eq(*end, ':');
        p->line = strtoul(end + 1, &end, 10);
        p->bad = *end == '!';
        at = end + p->bad;
        at += *at == ' ';
    }
}

static void end(world *w)
{
    for (size_t i = 0; i < w->n_paths; i++)
        free((char *)w->paths[i]);
    free(w->places);
    scratch_close(&w->dir);
}

static bm_status keep_sets(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    result *out = ctx;
    const bm_shingle_batch *from = &batch->shingles;
    bm_shingle_batch *to = &out->sets;
    cr_assert_eq(first_row, to->n_docs);
    cr_assert_eq(from->n_docs, batch->n_docs);
    for (size_t i = 0; i < from->n_docs; i++) {
        size_t n = (size_t)(from->offsets[i + 1] - from->offsets[i]);
        bm_status status = bm_shingle_batch_reserve(to, 1, n, err);
        if (status != BM_OK)
            return status;
        if (n > 0)
            memcpy(to->hashes + to->offsets[to->n_docs], from->hashes + from->offsets[i],
                   n * sizeof *to->hashes);
        to->offsets[to->n_docs + 1] = to->offsets[to->n_docs] + n;
        to->n_docs++;
    }
    return BM_OK;
}

static void run(const world *w, uint64_t skip, uint32_t threads, uint32_t batch_docs, result *out)
{
    bm_input_set *inputs = NULL;
    bm_batch_source *source = NULL;
    bm_meter meter;
    bm_budget budget = {.total = 1}; /* the smallest batches there are */
    memset(out, 0, sizeof *out);
    bm_meter_init(&meter, &w->callbacks);
    bm_input_options input = w->input;
    input.n_paths = input.offsets_path != NULL ? 1 : w->n_paths;
    world_ok(bm_input_set_open(&input, NULL, 0, NULL, &inputs, &out->err), &out->err);
    world_ok(bm_batch_source_open(inputs, &source, &out->err), &out->err);
    bm_ingest_cfg cfg = {.input = &input,
                         .text = &w->text,
                         .threads = threads,
                         .batch_docs = batch_docs,
                         .budget = &budget,
                         .source = source,
                         .skip_records = skip,
                         .meter = &meter,
                         .docs = &out->docs,
                         .counts = &out->counts,
                         .sink = {.place = keep_sets, .ctx = out}};
    out->status = bm_ingest_run(&cfg, &out->err);
    for (size_t i = 0; i < bm_input_set_count(inputs); i++) {
        out->digests[i] = bm_input_set_source(inputs, i)->digest;
        out->bytes_read[i] = bm_input_set_source(inputs, i)->bytes_read;
    }
    bm_batch_source_close(source);
    bm_input_set_close(inputs);
    bm_meter_reset(&meter);
}

static void reset(result *r)
{
    bm_doc_table_reset(&r->docs);
    bm_shingle_batch_reset(&r->sets);
}

static void check_doc(const result *part, size_t i, const result *whole, size_t j)
{
    const bm_doc_row *a = &part->docs.rows[i], *b = &whole->docs.rows[j];
    bm_str id_a = bm_doc_table_id(&part->docs, i), id_b = bm_doc_table_id(&whole->docs, j);
    cr_assert(id_a.len == id_b.len && memcmp(id_a.data, id_b.data, id_a.len) == 0);
    cr_assert(a->text_bytes == b->text_bytes && a->n_shingles == b->n_shingles);
    const uint64_t *at_a = part->sets.offsets + i, *at_b = whole->sets.offsets + j;
    cr_assert_eq(at_a[1] - at_a[0], at_b[1] - at_b[0]);
    if (at_a[1] > at_a[0])
        cr_assert_arr_eq(part->sets.hashes + at_a[0], whole->sets.hashes + at_b[0],
                         (at_a[1] - at_a[0]) * sizeof(uint64_t));
}

/* Expects `part` to have the places k to n-1, and its documents to be the last of `whole`. */
static void check(const world *w, size_t k, const result *part, const result *whole)
{
    size_t docs = 0, skipped = 0, left_out = 0;
    world_ok(part->status, &part->err);
    for (size_t i = 0; i < k; i++)
        left_out += !w->places[i].bad;
    for (size_t i = k; i < w->n; i++) {
        const place *p = &w->places[i];
        if (p->bad) {
            cr_assert_lt(skipped, part->docs.n_skipped);
            cr_assert_eq(part->docs.skipped[skipped].line, p->line);
            cr_assert_eq(part->docs.skipped[skipped++].file, p->file);
        } else {
            cr_assert_lt(docs, part->docs.n);
            cr_assert_eq(part->docs.rows[docs].line, p->line);
            cr_assert_eq(part->docs.rows[docs].file, p->file);
            check_doc(part, docs, whole, left_out + docs);
            docs++;
        }
    }
    cr_assert_eq(part->docs.n, docs);
    cr_assert_eq(part->docs.n_skipped, skipped);
    cr_assert_eq(part->counts.records, w->n - k);
    cr_assert_eq(part->counts.documents, docs);
    cr_assert_eq(part->counts.skipped, skipped);
    cr_assert_eq(part->counts.shingles, part->sets.offsets != NULL ? part->sets.offsets[docs] : 0);
    cr_assert_arr_eq(part->digests, whole->digests, sizeof part->digests);
    cr_assert_arr_eq(part->bytes_read, whole->bytes_read, sizeof part->bytes_read);
}

/* Compares for every k, batch size and number of threads. */
static void check_all(const world *w, const size_t *ks, size_t n_ks)
{
    static const uint32_t threads[] = {1, 2, 8}, batches[] = {1, 3, 1000};
    for (size_t c = 0; c < 9; c++) {
        result whole, part;
        run(w, 0, threads[c / 3], batches[c % 3], &whole);
        check(w, 0, &whole, &whole);
        /* starting threads is slow, even more with a sanitizer: with eight threads, only every
         * third k */
        for (size_t i = 0; i < n_ks; i += c / 3 == 2 ? 3 : 1) {
            run(w, ks[i], threads[c / 3], batches[c % 3], &part);
            check(w, ks[i], &part, &whole);
            reset(&part);
        }
        reset(&whole);
    }
}

static void check_every_k(const world *w)
{
    size_t *ks = calloc(w->n + 1, sizeof *ks);
    for (size_t k = 0; k <= w->n; k++)
        ks[k] = k;
    check_all(w, ks, w->n + 1);
    free(ks);
}

Test(ingest_read, the_tail_of_every_format_is_delivered_from_every_record_on)
{
    for (size_t i = 0; i < N_SAMPLES; i++) {
        world w;
        open_sample(&w, &samples[i]);
        check_every_k(&w);
        end(&w);
    }
}

Test(ingest_read, more_records_than_the_inputs_hold_are_refused)
{
    for (size_t i = 0; i < N_SAMPLES; i++) {
        world w;
        open_sample(&w, &samples[i]);
        const uint64_t more[] = {w.n + 1, w.n + 1000, UINT64_MAX};
        for (size_t m = 0; m < 3; m++) {
            result r;
            char text[64];
            run(&w, more[m], 1 + (uint32_t)m, m == 0 ? 1 : 1000, &r);
            snprintf(text, sizeof text, "(%zu of %llu)", w.n, (unsigned long long)more[m]);
            cr_assert_eq(r.status, BM_ERR_FORMAT, "%s", samples[i].name);
            cr_assert_not_null(strstr(r.err.message, "fewer records than were read before"));
            cr_assert_not_null(strstr(r.err.message, text), "%s: %s", samples[i].name,
                               r.err.message);
            cr_assert(r.docs.n == 0 && r.docs.n_skipped == 0);
            reset(&r);
        }
        end(&w);
    }
}

Test(ingest_read, a_bad_record_ends_the_run_only_where_it_is_not_passed_over)
{
    world w;
    open_sample(&w, &samples[0]); /* bad records: 2, 3, 5 */
    w.input.on_error = BM_ON_ERROR_FAIL;
    for (size_t k = 0; k <= w.n; k++) {
        result r;
        run(&w, k, 2, 1 + (uint32_t)(k % 3), &r);
        cr_assert_eq(r.status, k <= 5 ? BM_ERR_INPUT : BM_OK, "%zu", k);
        if (k <= 5)
            cr_assert_eq(r.err.line, k <= 2 ? 4u : k == 3 ? 6u : 2u);
        reset(&r);
    }
    end(&w);
}

/* --- hashes --- */

static void open_hashes(world *w, size_t n, const char *type)
{
    begin(w, BM_FORMAT_HASHES);
    const size_t cell = type[2] == '8' ? 8 : 4;
    int64_t *offsets = calloc(n + 1, sizeof *offsets);
    uint8_t *cells = calloc(n * 6 + 1, cell);
    char header[BM_NPY_HEADER_BYTES], *file;
    for (size_t i = 0; i < n; i++) {
        offsets[i + 1] = offsets[i] + (int64_t)(i % 5); /* the first document is empty */
        for (int64_t j = offsets[i]; j < offsets[i + 1]; j++)
            memcpy(cells + (size_t)j * cell, &(uint64_t){1000 * i + (uint64_t)j}, cell);
    }
    const struct {
        const char *name, *type;
        const void *data;
        size_t rows, cell;
    } arrays[] = {{"h.npy", type, cells, (size_t)offsets[n], cell},
                  {"o.npy", "<i8", offsets, n + 1, 8}};
    for (size_t i = 0; i < 2; i++) {
        world_npy_header(arrays[i].type, arrays[i].rows, 0, header);
        size_t len = arrays[i].rows * arrays[i].cell;
        file = malloc(sizeof header + len);
        memcpy(file, header, sizeof header);
        memcpy(file + sizeof header, arrays[i].data, len);
        add_file(w, arrays[i].name, file, sizeof header + len);
        free(file);
    }
    w->input.offsets_path = w->paths[1];
    w->places = calloc(n + 1, sizeof *w->places);
    w->n = n;
    for (size_t i = 0; i < n; i++)
        w->places[i].line = i + 1;
    free(offsets);
    free(cells);
}

Test(ingest_read, hashes_keep_their_row_numbers)
{
    for (int wide = 0; wide < 2; wide++) {
        world w;
        open_hashes(&w, 11, wide ? "<u8" : "<u4");
        check_every_k(&w);
        for (uint64_t k = 0; k < w.n; k += 3) {
            result r;
            char id[24];
            run(&w, k, 2, 3, &r);
            snprintf(id, sizeof id, "%llu", (unsigned long long)k);
            bm_str first = bm_doc_table_id(&r.docs, 0);
            cr_assert(first.len == strlen(id) && memcmp(first.data, id, first.len) == 0);
            reset(&r);
        }
        result r;
        run(&w, 12, 2, 3, &r);
        world_refused(r.status, BM_ERR_FORMAT, &r.err, "(11 of 12)");
        reset(&r);
        end(&w);
    }
}

/* --- more than a few batches hold --- */

#define MANY 6000u

/* Writes a JSONL file of random lines: documents, bad records, blank lines. */
static void open_many(world *w, uint64_t seed)
{
    static const char *const lines[] = {"{\"text\":\"a b c %0200u d e\"}\n",
                                        "{\"text\":\"%u\"}\r\n", "{\"text\":%u}\n", "{%u\n"};
    char *data = malloc(MANY * 256), *at = data;
    begin(w, BM_FORMAT_JSONL);
    w->places = calloc(MANY, sizeof *w->places);
    for (uint32_t i = 0; i < MANY; i++) {
        unsigned kind = world_below(&seed, 8);
        if (kind == 7) {
            *at++ = ' ';
            *at++ = '\n';
            continue;
        }
        kind = kind >= 4 ? 0 : kind;
        at += sprintf(at, lines[kind], (unsigned)(seed >> 50));
        w->places[w->n++] = (place){.line = i + 1, .bad = kind >= 2};
    }
    add_file(w, "many.jsonl", data, (size_t)(at - data));
    free(data);
}

Test(ingest_read, batches_by_bytes_end_anywhere)
{
    world w;
    result whole, part;
    uint64_t seed = 20240607;
    open_many(&w, seed);
    run(&w, 0, 2, 0, &whole);
    check(&w, 0, &whole, &whole);
    for (int i = 0; i < 40; i++) {
        size_t k = i == 0 ? w.n : world_random(&seed) % w.n;
        const uint32_t batches[] = {0, 0, 100, 999};
        run(&w, k, 1 + (uint32_t)i % 3, batches[i % 4], &part);
        check(&w, k, &part, &whole);
        reset(&part);
    }
    reset(&whole);
    end(&w);
}

typedef struct caller {
    unsigned asked, stop_at;
    unsigned n_progress;
    uint64_t done, total;
} caller;

static bool stop_after(void *ctx)
{
    caller *c = ctx;
    return ++c->asked == c->stop_at;
}

static void note_progress(void *ctx, const bm_progress *progress)
{
    caller *c = ctx;
    c->n_progress++;
    c->done = progress->done;
    c->total = progress->total;
}

Test(ingest_read, a_run_that_passes_over_stops_when_asked_and_says_how_far_it_is)
{
    for (uint32_t threads = 1; threads <= 4; threads *= 2) {
        world w;
        result r;
        open_many(&w, 1);
        caller c = {.stop_at = 20};
        w.callbacks = (bm_callbacks){.ctx = &c, .cancelled = stop_after, .progress = note_progress};
        run(&w, w.n, threads, 2, &r);
        cr_assert_eq(r.status, BM_ERR_CANCELLED);
        cr_assert_eq(c.asked, 20, "once a batch");
        cr_assert_eq(r.bytes_read[0], 0, "not to the end");
        cr_assert_eq(r.docs.n, 0);
        cr_assert_geq(c.n_progress, 1, "though nothing was delivered");
        reset(&r);
        w.callbacks = (bm_callbacks){0};
        run(&w, w.n, threads, 2, &r);
        cr_assert(c.done > 0 && c.done <= c.total && c.total == r.bytes_read[0]);
        reset(&r);
        end(&w);
    }
}
