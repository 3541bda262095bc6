/* SPDX-License-Identifier: Apache-2.0 */
/* export.c -- writes signatures in the forms of other tools.
 *
 * Tests: tests/cli/cases/export.sh, tests/reference/test_datatrove.py,
 *        tests/reference/test_exchange.py, tests/unit/exchange/test_lean_record.c,
 *        tests/unit/jobs/test_public_api_exchange.c */
#include <bandmill/sketch.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sized_struct.h"
#include "exchange/exporter.h"
#include "input/array_make.h"
#include "input/table_module.h"
#include "input/tables.h"
#include "job/report_file.h"
#include "json/json_scan.h"
#include "json/json_write.h"
#include "model/file_names.h"
#include "model/option_words.h"
#include "results/listed_order.h"
#include "results/npy.h"
#include "results/result_tables.h"

#define PLAIN_HEAD 12u

/* codes[i] is the scheme whose code in records is i. Code 0 means that records have no code. */
static const struct {
    const char *scheme;
    uint32_t word_bytes;
} codes[] = {{"legacy", 4}, {"affine32", 4}, {"affine64", 8}};
#define N_CODES (sizeof codes / sizeof codes[0])

/* Set *word_bytes to the size of a word of this scheme. Returns false if records have no code for
 * the scheme. */
static bool lean_word_bytes(const char *scheme, uint32_t *word_bytes)
{
    for (size_t code = 0; code < N_CODES; code++) {
        if (strcmp(codes[code].scheme, scheme) != 0)
            continue;
        *word_bytes = codes[code].word_bytes;
        return true;
    }
    return false;
}

/* Write a head to `out`, and return its size. head->scheme must be in `codes`. */
static size_t lean_head_write(const bm_lean_head *head, char out[BM_LEAN_HEAD_MOST])
{
    uint8_t code = 0;
    while (strcmp(codes[code].scheme, head->scheme) != 0)
        code++;
    const int32_t k = code == 0 ? (int32_t)head->perms : -(int32_t)head->perms;
    memcpy(out, &head->seed, 8);
    memcpy(out + 8, &k, 4);
    if (code == 0)
        return PLAIN_HEAD;
    memcpy(out + PLAIN_HEAD, &code, 1);
    return BM_LEAN_HEAD_MOST;
}

size_t bm_lean_head_read(const char *data, size_t len, bm_lean_head *out)
{
    int32_t k;
    if (len < PLAIN_HEAD)
        return 0;
    memcpy(&out->seed, data, 8);
    memcpy(&k, data + 8, 4);
    const bool coded = k < 0;
    if (coded && len < BM_LEAN_HEAD_MOST)
        return 0;
    const uint8_t code = coded ? (uint8_t)data[PLAIN_HEAD] : 0;
    const bool known = code < N_CODES && (code > 0) == coded;
    out->perms = coded ? -(int64_t)k : k;
    out->scheme = known ? codes[code].scheme : NULL;
    out->word_bytes = known ? codes[code].word_bytes : 0;
    return coded ? BM_LEAN_HEAD_MOST : PLAIN_HEAD;
}

BM_OPTIONS_INIT(export, .bands = BM_BAND_DEFAULTS, .resources = BM_RESOURCE_DEFAULTS)

static bm_status check_export(const bm_export_options *o, bm_error *err)
{
    if (o->path == NULL)
        return bm_fail_field(err, "path", "no input given (a directory that sign wrote)");
    if (o->output.path == NULL)
        return bm_fail_field(err, "output", "no output given (`output`)");
    BM_TRY(bm_option_check(BM_OPTION_EXCHANGE, o->to, err));
    return bm_option_check(BM_OPTION_EXPORT_WHAT, o->what, err);
}

bm_status bm_settings_of_export(const bm_export_options *options, bm_settings *out,
                                bm_export_options *taken, bm_error *err)
{
    bm_export_options o = export_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_export_options, callbacks), &o, err));
    *taken = o;
    *out = (bm_settings){.kind = BM_JOB_EXPORT,
                         .input = BM_INPUT_DEFAULTS,
                         .text = BM_TEXT_DEFAULTS,
                         .sketch = BM_SKETCH_DEFAULTS,
                         .bands = o.bands,
                         .results = {.exchange = {.to = o.to, .what = o.what}},
                         .resources = o.resources,
                         .output = o.output,
                         .callbacks = o.callbacks};
    const bm_option_parts parts = {.bands = &o.bands,
                                   .resources = &o.resources,
                                   .output = &o.output,
                                   .callbacks = &o.callbacks};
    BM_TRY(check_export(&o, err));
    return bm_settings_resolve(out, &parts, err);
}

/* --- bands --- */

/* The plan in the manifest of the signatures. */
typedef struct planned {
    uint64_t bands, rows; /* both 0: the manifest has no plan */
} planned;

static planned read_planned(const bm_manifest *manifest)
{
    static const bm_json_row rows[] = {
        {"plan.bands", BM_MEMBER_UINT, .offset = offsetof(planned, bands), .most = BM_PERMS_MAX},
        {"plan.rows", BM_MEMBER_UINT, .offset = offsetof(planned, rows), .most = BM_PERMS_MAX}};
    planned plan = {0};
    return bm_json_read(&(bm_json_reader){.doc = bm_manifest_doc(manifest)}, rows, 2, &plan,
                        NULL) == BM_OK
               ? plan
               : (planned){0};
}

bm_status bm_export_resolve_plan(const bm_export_form *form, const bm_manifest *manifest,
                                 bm_settings *s, bm_error *err)
{
    const char *to = bm_option_name(BM_OPTION_EXCHANGE, form->to);
    const bool keys = s->results.exchange.what == BM_EXPORT_BANDS;
    const bool given = s->bands.bands != 0 || s->bands.rows != 0;
    const char *asked = s->bands.threshold != export_defaults.bands.threshold ? "threshold"
                        : s->bands.recall != export_defaults.bands.recall     ? "recall"
                                                                              : NULL;
    const planned plan = read_planned(manifest);
    if (keys && (form->has & BM_FORM_HAS_KEYS) == 0)
        return bm_fail_field(err, "what", "`what` bands is for npy, tsv, arrow and parquet (%s %s)",
                             to,
                             (form->has & BM_FORM_OF_BANDS) != 0 ? "is made of bands in any case"
                                                                 : "takes signatures");
    if (!keys && (form->has & BM_FORM_OF_BANDS) == 0)
        return given           ? bm_fail_field(err, "bands",
                                               "`bands` and `rows` mean nothing for "
                                                         "signatures in the form of %s",
                                               to)
               : asked != NULL ? bm_fail_field(err, asked,
                                               "`%s` means nothing for signatures in the form of "
                                               "%s",
                                               asked, to)
                               : BM_OK;
    if (given || asked != NULL)
        return bm_settings_plan(s, err);
    if (plan.bands > 0 && plan.rows > 0) {
        s->bands.bands = (uint32_t)plan.bands;
        s->bands.rows = (uint32_t)plan.rows;
    } else if (form->bands * form->rows > 0 && form->bands * form->rows <= s->sketch.perms) {
        s->bands.bands = form->bands;
        s->bands.rows = form->rows;
    }
    return bm_settings_plan(s, err);
}

/* === export reader ===
 *
 * Reads blocks of at most BLOCK_BYTES from the arrays of the directory. */

#define BLOCK_BYTES ((size_t)4 << 20)
#define BLOCK_MOST  4096u

static bool wants_keys(const bm_settings *s)
{
    return s->results.exchange.what == BM_EXPORT_BANDS;
}

/* Open a reader. Close it even after a failure. */
static bm_status export_reader_open(bm_exporter *exporter, bool ids, bm_export_reader *out,
                                    bm_error *err)
{
    const bm_settings *s = exporter->context->settings;
    const size_t row = (size_t)s->sketch.perms * exporter->word_bytes;
    const size_t fit = BLOCK_BYTES / row;
    const size_t most = fit < 1 ? 1 : fit > BLOCK_MOST ? BLOCK_MOST : fit;
    *out = (bm_export_reader){.exporter = exporter, .ids = ids, .most = most};
    out->words = bm_alloc_aligned(most, row);
    out->n_shingles = bm_alloc(most, sizeof *out->n_shingles);
    out->ends = bm_alloc(most, sizeof *out->ends);
    if (wants_keys(s))
        out->keys = bm_alloc(most * s->plan.bands, sizeof *out->keys);
    return out->words == NULL || out->n_shingles == NULL || out->ends == NULL ||
                   (wants_keys(s) && out->keys == NULL)
               ? bm_fail_nomem(err, most * row)
               : BM_OK;
}

static void export_reader_close(bm_export_reader *reader)
{
    bm_free_all(reader->words, reader->n_shingles, reader->keys, reader->ends);
    bm_buf_reset(&reader->text);
}

static bm_status make_keys(const bm_export_reader *r, size_t n, bm_error *err)
{
    const bm_settings *s = r->exporter->context->settings;
    const bm_band_plan *plan = &s->plan;
    BM_TRY(
        bm_signed_rows_keys(&(bm_signed_rows){s->sketch.scheme, r->words, n}, plan, r->keys, err));
    for (size_t i = 0; i < n; i++) {
        for (uint32_t band = 0; r->n_shingles[i] == 0 && band < plan->bands; band++)
            r->keys[i * plan->bands + band] = BM_NO_BAND_KEY;
    }
    return BM_OK;
}

/* Read the next block, which is valid until the next call. If no documents are left, out->n becomes
 * 0. BM_ERR_FORMAT: the files are not those that the manifest lists, which shows at the last
 * block. */
static bm_status export_reader_next(bm_export_reader *r, bm_export_block *out, bm_error *err)
{
    bm_sign_dir *dir = r->exporter->dir;
    bm_meter *meter = &r->exporter->context->meter;
    const uint64_t n_docs = bm_sign_dir_docs(dir), left = n_docs - r->next;
    const size_t n = left < r->most ? (size_t)left : r->most;
    r->text.len = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_meter_check(meter, err));
    if (n > 0)
        BM_TRY_OUT(bm_sign_dir_rows(dir, r->next, n, r->words, err));
    if (n > 0)
        BM_TRY_OUT(bm_sign_dir_n_shingles(dir, r->next, n, r->n_shingles, err));
    if (r->keys != NULL)
        BM_TRY_OUT(make_keys(r, n, err));
    if (r->ids)
        BM_TRY_OUT(bm_sign_dir_ids(dir, r->next, n, &(bm_sign_ids){&r->text, r->ends}, err));
out:
    *out = (bm_export_block){.first = r->next,
                             .n = n,
                             .words = r->words,
                             .n_shingles = r->n_shingles,
                             .keys = r->keys,
                             .ids = r->ids ? r->text.data : NULL,
                             .ends = r->ends};
    r->next += n;
    bm_meter_progress(meter, r->next, n_docs, r->next);
    return status;
}

static bm_status export_walk(bm_exporter *exporter, bool ids, bm_export_take add_block, void *ctx,
                             bm_error *err)
{
    bm_export_reader reader;
    bm_export_block block = {.n = 1};
    bm_status status = BM_OK;
    BM_TRY_OUT(export_reader_open(exporter, ids, &reader, err));
    while (block.n > 0) {
        BM_TRY_OUT(export_reader_next(&reader, &block, err));
        if (block.n > 0)
            BM_TRY_OUT(add_block(ctx, &block, err));
    }
out:
    export_reader_close(&reader);
    return status;
}

/* Read how many documents each rank has. The caller frees out->documents and out->bytes, even after
 * a failure. BM_ERR_FORMAT: sources.tsv does not match the manifest. */
static bm_status trove_numbers_open(bm_sign_dir *dir, bm_trove_numbers *out, bm_error *err)
{
    const bm_manifest *manifest = bm_sign_dir_manifest(dir);
    const size_t n = bm_manifest_n_inputs(manifest);
    *out = (bm_trove_numbers){.dir = dir, .n_ranks = n};
    BM_TRY(bm_new_zero(&out->documents, n, err));
    bm_source_column column = {.field = BM_SOURCES_DOCUMENTS, .rows = out->documents};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_source_table_read(manifest, &column, 1, err));
    status = bm_manifest_compare_count(manifest, "documents", column.sum, BM_FILE_SOURCES, err);
out:
    for (size_t i = 0; i < n; i++)
        out->most = out->documents[i] > out->most ? out->documents[i] : out->most;
    return status;
}

/* Begin a walk over all documents. */
static void trove_numbers_begin(bm_trove_numbers *numbers)
{
    numbers->rank = 0;
    numbers->next = 0;
    numbers->left = numbers->n_ranks > 0 ? numbers->documents[0] : 0;
}

/* Load the sizes of the texts of a block, if the directory has them. Texts of size 0 get no
 * number. */
static bm_status trove_numbers_load(bm_trove_numbers *numbers, const bm_export_block *block,
                                    bm_error *err)
{
    if (!bm_sign_dir_has_bytes(numbers->dir))
        return BM_OK;
    BM_TRY(bm_grow_array(&numbers->bytes, &numbers->cap_bytes, block->n, err));
    return bm_sign_dir_n_bytes(numbers->dir, block->first, block->n, numbers->bytes, err);
}

/* If all documents of the rank were numbered, go to the next rank, and return true. Returns false
 * if documents of the rank are left, or if the last rank has ended. */
static bool trove_numbers_rank_ends(bm_trove_numbers *numbers)
{
    if (numbers->left > 0 || numbers->rank == numbers->n_ranks)
        return false;
    numbers->rank++;
    numbers->next = 0;
    numbers->left = numbers->rank < numbers->n_ranks ? numbers->documents[numbers->rank] : 0;
    return true;
}

/* The number that document `i` of the loaded block has in numbers->rank; BM_TROVE_NO_NUMBER: it has
 * no number. Call this for all documents in order. The rank must have documents left. */
static uint32_t trove_numbers_next(bm_trove_numbers *numbers, size_t i)
{
    numbers->left--;
    if (numbers->bytes != NULL && numbers->bytes[i] == 0)
        return BM_TROVE_NO_NUMBER;
    return numbers->next++;
}

/* === export arrays ===
 *
 * Writes forms that are rows of words: LeanMinHash, NumPy, Milvus. Also writes files with the ids
 * and the numbers of shingles that a form cannot store.
 *
 * For Milvus, the bytes of the words are a binary vector. Milvus imports one NumPy file for each
 * field of a collection: signature.npy, and id.npy, whose ids are line numbers of ids.txt, counted
 * from 0. */

/* Close the array. If `status` is a failure, it is returned; otherwise the status of closing is. */
static bm_status close_array(bm_npy_writer *writer, bm_status status, bm_error *err)
{
    bm_status closed = bm_npy_writer_close(writer, status == BM_OK ? err : NULL);
    return status == BM_OK ? closed : status;
}

static bm_status close_file(bm_out_file *file, bm_status status, bm_error *err)
{
    bm_status closed = bm_out_file_close(file, status == BM_OK ? err : NULL);
    return status == BM_OK ? closed : status;
}

/* --- LeanMinHash --- */

typedef struct lean {
    bm_out_file *file;
    char head[BM_LEAN_HEAD_MOST];
    size_t head_bytes, words_bytes; /* sizes of the two parts of a record */
} lean;

static bool export_lean_accepts(const char *scheme)
{
    uint32_t word_bytes;
    return lean_word_bytes(scheme, &word_bytes);
}

static bm_status write_lean(void *ctx, const bm_export_block *block, bm_error *err)
{
    lean *l = ctx;
    for (size_t i = 0; i < block->n; i++) {
        BM_TRY(bm_out_file_write(l->file, l->head, l->head_bytes, err));
        BM_TRY(bm_out_file_write(l->file, (const char *)block->words + i * l->words_bytes,
                                 l->words_bytes, err));
    }
    return BM_OK;
}

static bm_status export_lean(bm_exporter *e, bm_error *err)
{
    const bm_sketch_options *sketch = &e->context->settings->sketch;
    const bm_lean_head head = {.scheme = bm_option_name(BM_OPTION_SCHEME, sketch->scheme),
                               .seed = sketch->seed,
                               .perms = sketch->perms};
    lean l = {.words_bytes = (size_t)sketch->perms * e->word_bytes};
    l.head_bytes = lean_head_write(&head, l.head);
    BM_TRY(bm_out_dir_file(e->out, BM_FILE_LEAN, &l.file, err));
    bm_out_file_digest_early(l.file, 0);
    return close_file(l.file, export_walk(e, false, write_lean, &l, err), err);
}

/* --- NumPy --- */

typedef struct arrays_rows {
    bm_npy_writer writer;
    size_t bytes; /* size of a row */
    bool keys;
} arrays_rows;

static bm_status write_array(void *ctx, const bm_export_block *block, bm_error *err)
{
    arrays_rows *r = ctx;
    return bm_npy_writer_rows(&r->writer, r->keys ? (const void *)block->keys : block->words,
                              block->n, r->bytes, err);
}

static bm_status write_rows(bm_exporter *e, const bm_npy_array *array, arrays_rows *r,
                            bm_error *err)
{
    BM_TRY(bm_npy_writer_open(e->out, array, &r->writer, err));
    return close_array(&r->writer, export_walk(e, false, write_array, r, err), err);
}

static bm_status export_npy(bm_exporter *e, bm_error *err)
{
    const bm_settings *s = e->context->settings;
    const bool keys = s->results.exchange.what == BM_EXPORT_BANDS;
    const bm_npy_array words = {BM_FILE_SIGNATURES, e->word_bytes == 8 ? "<u8" : "<u4",
                                s->sketch.perms};
    const bm_npy_array bands = {BM_FILE_BAND_KEYS, "<u8", s->plan.bands};
    arrays_rows r = {.keys = keys,
                     .bytes = keys ? s->plan.bands * sizeof(uint64_t)
                                   : (size_t)s->sketch.perms * e->word_bytes};
    return write_rows(e, keys ? &bands : &words, &r, err);
}

/* --- Milvus --- */

static bm_status write_numbers(bm_exporter *e, bm_error *err)
{
    const uint64_t n_docs = bm_sign_dir_docs(e->dir);
    int64_t block[512];
    bm_npy_writer writer;
    BM_TRY(bm_npy_writer_open(e->out, &(bm_npy_array){.name = BM_FILE_MILVUS_IDS, .type = "<i8"},
                              &writer, err));
    bm_status status = BM_OK;
    for (uint64_t i = 0; i < n_docs;) {
        size_t n = 0;
        for (; n < sizeof block / sizeof block[0] && i < n_docs; i++)
            block[n++] = (int64_t)i;
        BM_TRY_OUT(bm_npy_writer_rows(&writer, block, n, sizeof block[0], err));
    }
out:
    return close_array(&writer, status, err);
}

static bm_status export_milvus(bm_exporter *e, bm_error *err)
{
    arrays_rows r = {.bytes = (size_t)e->context->settings->sketch.perms * e->word_bytes};
    BM_TRY(
        write_rows(e, &(bm_npy_array){BM_FILE_MILVUS_VECTORS, "|u1", (uint64_t)r.bytes}, &r, err));
    return write_numbers(e, err);
}

/* --- files beside those of the form --- */

static bm_status copy_sizes(bm_exporter *e, bm_error *err)
{
    const uint64_t n_docs = bm_sign_dir_docs(e->dir);
    uint32_t block[1024];
    bm_npy_writer writer;
    BM_TRY(bm_npy_writer_open(e->out, &(bm_npy_array){.name = BM_FILE_N_SHINGLES, .type = "<u4"},
                              &writer, err));
    bm_status status = BM_OK;
    for (uint64_t at = 0; at < n_docs;) {
        const size_t capacity = sizeof block / sizeof block[0];
        const size_t n = n_docs - at < capacity ? (size_t)(n_docs - at) : capacity;
        BM_TRY_OUT(bm_sign_dir_n_shingles(e->dir, at, n, block, err));
        BM_TRY_OUT(bm_npy_writer_rows(&writer, block, n, sizeof block[0], err));
        at += n;
    }
out:
    return close_array(&writer, status, err);
}

static bm_status copy_ids(bm_exporter *e, bm_error *err)
{
    const uint64_t n_docs = bm_sign_dir_docs(e->dir);
    bm_out_file *file;
    bm_buf text = {0}, lines = {0};
    size_t ends[256];
    BM_TRY(bm_out_dir_file(e->out, BM_FILE_IDS, &file, err));
    bm_status status = BM_OK;
    for (uint64_t at = 0; at < n_docs;) {
        const size_t capacity = sizeof ends / sizeof ends[0];
        const size_t n = n_docs - at < capacity ? (size_t)(n_docs - at) : capacity;
        text.len = lines.len = 0;
        BM_TRY_OUT(bm_sign_dir_ids(e->dir, at, n, &(bm_sign_ids){&text, ends}, err));
        for (size_t i = 0, begin = 0; i < n; begin = ends[i++]) {
            BM_TRY_OUT(bm_tsv_escape(&lines, (bm_str){text.data + begin, ends[i] - begin}, err));
            BM_TRY_OUT(bm_buf_add(&lines, "\n", 1, err));
        }
        BM_TRY_OUT(bm_out_file_write(file, lines.data, lines.len, err));
        at += n;
    }
out:
    bm_buf_reset(&text);
    bm_buf_reset(&lines);
    return close_file(file, status, err);
}

bm_status bm_export_beside(bm_exporter *e, bm_error *err)
{
    const unsigned has = e->form->has;
    if ((has & (BM_FORM_HAS_IDS | BM_FORM_BY_DOCUMENT)) == 0)
        BM_TRY(copy_ids(e, err));
    if ((has & (BM_FORM_HAS_SIZES | BM_FORM_BY_DOCUMENT)) == 0)
        BM_TRY(copy_sizes(e, err));
    return BM_OK;
}

/* === export datatrove ===
 *
 * Writes the output of datatrove's stage 1: for each band and rank a file of sorted records. A
 * record has the r words of the band, and the number of the document. Documents without shingles
 * have no record. In addition, documents.tsv lists the document of each number.
 *
 * The records of a rank are sorted in memory, for as many bands at a time as fit. Other bands need
 * further walks over the signatures. */

/* Stands for a record while the records are sorted. */
typedef struct entry {
    uint64_t head; /* the first word of the record */
    uint32_t at;   /* index of the record among the records of its rank */
} entry;

typedef struct trove {
    bm_exporter *exporter;
    bm_trove_numbers numbers;
    size_t words_bytes;  /* size of a band's words */
    size_t record_bytes; /* size of a record: the band's words and the document's number */
    uint32_t first, n;   /* first: the first band of this walk; n: number of bands in this walk */
    /* for each band of this walk: space for `cap` records */
    char *records;
    entry *entries; /* space for `cap` entries, used for one band after another */
    size_t n_records, cap;
} trove;

/* --- sorting --- */

typedef struct order {
    const char *records;
    size_t record_bytes, words_bytes;
    uint32_t word_bytes;
} order;

static uint64_t read_word(const char *at, uint32_t bytes)
{
    uint64_t word = 0;
    memcpy(&word, at, bytes);
    return word;
}

static int compare(const void *a, const void *b, void *ctx)
{
    const entry *x = a, *y = b;
    const order *o = ctx;
    if (x->head != y->head)
        return x->head < y->head ? -1 : 1;
    const char *p = o->records + x->at * o->record_bytes, *q = o->records + y->at * o->record_bytes;
    for (size_t i = 0; i < o->words_bytes; i += o->word_bytes) {
        const uint64_t v = read_word(p + i, o->word_bytes), w = read_word(q + i, o->word_bytes);
        if (v != w)
            return v < w ? -1 : 1;
    }
    return x->at < y->at ? -1 : x->at > y->at; /* in a rank, records are ordered by number */
}

static bm_status write_band(const trove *t, uint32_t i, bm_error *err)
{
    const order by = {.records = t->records + i * t->cap * t->record_bytes,
                      .record_bytes = t->record_bytes,
                      .words_bytes = t->words_bytes,
                      .word_bytes = t->exporter->word_bytes};
    char name[64];
    bm_out_file *file;
    for (size_t k = 0; k < t->n_records; k++)
        t->entries[k] =
            (entry){read_word(by.records + k * by.record_bytes, by.word_bytes), (uint32_t)k};
    qsort_r(t->entries, t->n_records, sizeof *t->entries, compare, (void *)&by);
    snprintf(name, sizeof name, BM_FILE_DATATROVE, t->first + i, (unsigned)t->numbers.rank);
    BM_TRY(bm_out_dir_file(t->exporter->out, name, &file, err));
    bm_status status = BM_OK;
    for (size_t k = 0; k < t->n_records; k++)
        BM_TRY_OUT(bm_out_file_write(file, by.records + t->entries[k].at * by.record_bytes,
                                     by.record_bytes, err));
out:;
    bm_status closed = bm_out_file_close(file, status == BM_OK ? err : NULL);
    return status == BM_OK ? closed : status;
}

/* --- walking --- */

/* If the rank has no documents left, write its files. Also write the files of those ranks after it
 * that have no documents. */
static bm_status end_ranks(trove *t, bm_error *err)
{
    while (t->numbers.left == 0 && t->numbers.rank < t->numbers.n_ranks) {
        for (uint32_t i = 0; i < t->n; i++)
            BM_TRY(write_band(t, i, err));
        t->n_records = 0;
        (void)trove_numbers_rank_ends(&t->numbers);
    }
    return BM_OK;
}

static void add_record(trove *t, const char *words, uint32_t number)
{
    for (uint32_t i = 0; i < t->n; i++) {
        char *to = t->records + (i * t->cap + t->n_records) * t->record_bytes;
        memcpy(to, words + (t->first + i) * t->words_bytes, t->words_bytes);
        memcpy(to + t->words_bytes, &number, sizeof number);
    }
    t->n_records++;
}

static bm_status add_block(void *ctx, const bm_export_block *block, bm_error *err)
{
    trove *t = ctx;
    const size_t row_bytes =
        (size_t)t->exporter->context->settings->sketch.perms * t->exporter->word_bytes;
    BM_TRY(trove_numbers_load(&t->numbers, block, err));
    for (size_t i = 0; i < block->n; i++) {
        BM_TRY(end_ranks(t, err));
        const uint32_t number = trove_numbers_next(&t->numbers, i);
        if (block->n_shingles[i] > 0 && number != BM_TROVE_NO_NUMBER)
            add_record(t, (const char *)block->words + i * row_bytes, number);
    }
    return BM_OK;
}

/* Choose how many bands are sorted at a time, and allocate memory for them. */
static bm_status choose_at_once(trove *t, uint32_t *at_once, bm_error *err)
{
    const bm_budget *budget = &t->exporter->context->budget;
    const uint32_t bands = t->exporter->context->settings->plan.bands;
    const uint64_t most = t->numbers.most, sorting = 2 * most * sizeof(entry);
    const uint64_t band = most * t->record_bytes, free = bm_budget_rows(budget);
    uint64_t n = bands;
    if (budget->total != 0 && free < sorting + bands * band)
        n = free < sorting + band ? 0 : (free - sorting) / band;
    if (n == 0)
        return bm_fail(
            err, BM_ERR_NOMEM,
            "the %llu documents of one input are sorted together, which does not fit into "
            "`memory` of %lluM (at least %lluM)",
            (unsigned long long)most, (unsigned long long)(budget->total >> 20),
            (unsigned long long)(bm_budget_least(budget, sorting + band) >> 20) + 1);
    t->cap = (size_t)most;
    t->records = bm_alloc((size_t)n, (size_t)band);
    t->entries = bm_alloc(t->cap, sizeof *t->entries);
    *at_once = (uint32_t)n;
    return t->records == NULL || t->entries == NULL ? bm_fail_nomem(err, (size_t)(n * band))
                                                    : BM_OK;
}

static bm_status write_bands(trove *t, bm_error *err)
{
    const bm_band_plan *plan = &t->exporter->context->settings->plan;
    uint32_t at_once = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(choose_at_once(t, &at_once, err));
    for (t->first = 0; t->first < plan->bands; t->first += t->n) {
        t->n = plan->bands - t->first < at_once ? plan->bands - t->first : at_once;
        trove_numbers_begin(&t->numbers);
        BM_TRY_OUT(export_walk(t->exporter, false, add_block, t, err));
        BM_TRY_OUT(end_ranks(t, err));
    }
out:
    bm_free_all(t->records, t->entries);
    return status;
}

/* --- documents.tsv --- */

typedef struct listing {
    bm_trove_numbers *numbers;
    bm_out_file *file;
    bm_buf text;
} listing;

static bm_status list(void *ctx, const bm_export_block *block, bm_error *err)
{
    listing *l = ctx;
    BM_TRY(trove_numbers_load(l->numbers, block, err));
    for (size_t i = 0; i < block->n; i++) {
        while (trove_numbers_rank_ends(l->numbers))
            ;
        const unsigned rank = (unsigned)l->numbers->rank;
        const uint32_t number = trove_numbers_next(l->numbers, i);
        l->text.len = 0;
        if (number == BM_TROVE_NO_NUMBER)
            BM_TRY(bm_buf_add_format(&l->text, err, "%u\t\t", rank));
        else
            BM_TRY(bm_buf_add_format(&l->text, err, "%u\t%u\t", rank, number));
        BM_TRY(bm_tsv_escape(&l->text, bm_export_block_id(block, i), err));
        BM_TRY(bm_buf_add(&l->text, "\n", 1, err));
        BM_TRY(bm_out_file_write(l->file, l->text.data, l->text.len, err));
    }
    return BM_OK;
}

static bm_status write_list(trove *t, bm_error *err)
{
    static const char head[] = "rank\tnumber\tid\n";
    listing l = {.numbers = &t->numbers};
    BM_TRY(bm_out_dir_file(t->exporter->out, BM_FILE_DOCUMENTS, &l.file, err));
    trove_numbers_begin(&t->numbers);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_out_file_write(l.file, head, sizeof head - 1, err));
    status = export_walk(t->exporter, true, list, &l, err);
out:;
    bm_status closed = bm_out_file_close(l.file, status == BM_OK ? err : NULL);
    bm_buf_reset(&l.text);
    return status == BM_OK ? closed : status;
}

/* Can datatrove read words of this scheme? Its stage 2 stops at the first word that is 2^61 - 1 or
 * more. Only affine64 makes such words. */
static bool export_datatrove_accepts(const char *scheme)
{
    return strcmp(scheme, "affine64") != 0;
}

static bm_status export_datatrove(bm_exporter *e, bm_error *err)
{
    trove t = {.exporter = e,
               .words_bytes = (size_t)e->context->settings->plan.rows * e->word_bytes};
    t.record_bytes = t.words_bytes + sizeof(uint32_t);
    bm_status status = BM_OK;
    BM_TRY_OUT(trove_numbers_open(e->dir, &t.numbers, err));
    BM_TRY_OUT(write_list(&t, err));
    status = write_bands(&t, err);
out:
    bm_free_all(t.numbers.documents, t.numbers.bytes);
    return status;
}

/* === export table ===
 *
 * Makes an Arrow array from each block of documents. The columns are copies, which the consumer of
 * the stream owns. */

/* --- types of columns --- */

/* With BM_CELLS_BANDS, words have 8 bytes for every scheme: text-dedup uses NumPy's uint64, unless
 * its option `--hash_bits` selects another arithmetic. */
#define BAND_WORD_BYTES 8u

typedef struct list_type {
    uint32_t n, bytes;  /* n: number of items in a list; bytes: size of one item */
    const char *format; /* Arrow format of an item */
    const void *values; /* the items of the block; NULL: they must be converted first */
} list_type;

static list_type list_of(const bm_export_stream *stream, bm_export_cells cells,
                         const bm_export_block *block)
{
    const bm_exporter *e = stream->reader.exporter;
    const bm_settings *s = e->context->settings;
    if (cells == BM_CELLS_KEYS)
        return (list_type){s->plan.bands, sizeof(uint64_t), "L", block ? block->keys : NULL};
    if (cells == BM_CELLS_BANDS)
        return (list_type){s->plan.bands, s->plan.rows * BAND_WORD_BYTES, "z", NULL};
    return (list_type){s->sketch.perms, e->word_bytes, e->word_bytes == 8 ? "L" : "I",
                       block ? block->words : NULL};
}

static bm_status list_schema(const bm_export_stream *stream, const bm_export_column *column,
                             struct ArrowSchema *out, bm_error *err)
{
    const list_type type = list_of(stream, column->cells, NULL);
    char format[16] = "+l";
    if (stream->layout->fixed)
        snprintf(format, sizeof format, "+w:%" PRIu32, type.n);
    BM_TRY(bm_schema_make(&(bm_schema_parts){format, column->name, 1}, out, err));
    return bm_schema_make(&(bm_schema_parts){type.format, "item", 0}, out->children[0], err);
}

static bm_status column_schema(const bm_export_stream *stream, const bm_export_column *column,
                               struct ArrowSchema *out, bm_error *err)
{
    static const char *const formats[] = {
        [BM_CELLS_ID] = "u", [BM_CELLS_NUMBER] = "l", [BM_CELLS_SIZE] = "I"};
    if (column->cells >= BM_CELLS_WORDS)
        return list_schema(stream, column, out, err);
    return bm_schema_make(&(bm_schema_parts){formats[column->cells], column->name, 0}, out, err);
}

static size_t count(const bm_export_layout *layout)
{
    size_t n = 0;
    while (layout->columns[n].name != NULL)
        n++;
    return n;
}

static bm_status make_schema(bm_export_stream *stream, struct ArrowSchema *out, bm_error *err)
{
    static const char key[] = BM_TABLE_PROVENANCE;
    const size_t n = count(stream->layout);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_schema_make(&(bm_schema_parts){"+s", "", n}, out, err));
    for (size_t i = 0; i < n; i++)
        BM_TRY_OUT(column_schema(stream, &stream->layout->columns[i], out->children[i], err));
    if (stream->layout->annotated)
        BM_TRY_OUT(bm_schema_annotate(out, (bm_str){key, sizeof key - 1},
                                      (bm_str){stream->provenance.data, stream->provenance.len},
                                      err));
out:
    if (status != BM_OK && out->release != NULL)
        out->release(out);
    return status;
}

/* --- cells --- */

static void *copy(const void *from, size_t bytes)
{
    void *to = bm_alloc(bytes, 1);
    if (to != NULL && bytes > 0)
        memcpy(to, from, bytes);
    return to;
}

/* Make the n + 1 offsets of n items that have `bytes` bytes each. NULL: out of memory. */
static int32_t *steps(size_t n, size_t bytes)
{
    int32_t *ends = bm_alloc(n + 1, sizeof *ends);
    for (size_t i = 0; ends != NULL && i <= n; i++)
        ends[i] = (int32_t)(i * bytes);
    return ends;
}

static bm_status make_ids(const bm_export_block *block, struct ArrowArray *out, bm_error *err)
{
    const size_t bytes = block->n > 0 ? block->ends[block->n - 1] : 0;
    int32_t *ends = bm_alloc(block->n + 1, sizeof *ends);
    char *text = copy(block->ids, bytes);
    if (ends == NULL || text == NULL || bytes > INT32_MAX) {
        bm_free_all(ends, text);
        return bm_fail_nomem(err, bytes);
    }
    ends[0] = 0;
    for (size_t i = 0; i < block->n; i++)
        ends[i + 1] = (int32_t)block->ends[i];
    return bm_array_make(&(bm_array_parts){(int64_t)block->n, {NULL, ends, text}, 3, 0}, out, err);
}

static bm_status make_plain(const bm_export_block *block, bm_export_cells cells,
                            struct ArrowArray *out, bm_error *err)
{
    void *values;
    if (cells == BM_CELLS_SIZE) {
        values = copy(block->n_shingles, block->n * sizeof *block->n_shingles);
    } else {
        int64_t *numbers = bm_alloc(block->n, sizeof *numbers);
        for (size_t i = 0; numbers != NULL && i < block->n; i++)
            numbers[i] = (int64_t)(block->first + i);
        values = numbers;
    }
    if (values == NULL)
        return bm_fail_nomem(err, block->n * sizeof(int64_t));
    return bm_array_make(&(bm_array_parts){(int64_t)block->n, {NULL, values}, 2, 0}, out, err);
}

/* Make the words of all bands of the block, as big-endian words of 8 bytes. NULL: out of memory. */
static char *turn_bands(const bm_export_stream *stream, const bm_export_block *block,
                        list_type type)
{
    const bm_exporter *e = stream->reader.exporter;
    const size_t perms = e->context->settings->sketch.perms;
    const size_t used = (size_t)type.n * type.bytes / BAND_WORD_BYTES; /* words that a document has
                                                                        * in all bands */
    uint8_t *out = bm_alloc(block->n * used, BAND_WORD_BYTES), *at = out;
    for (size_t i = 0; out != NULL && i < block->n; i++)
        for (size_t w = i * perms; w < i * perms + used; w++) {
            const uint64_t word = e->word_bytes == 8 ? ((const uint64_t *)block->words)[w]
                                                     : ((const uint32_t *)block->words)[w];
            for (unsigned shift = 64; shift > 0; shift -= 8)
                *at++ = (uint8_t)(word >> (shift - 8));
        }
    return (char *)out;
}

/* Make one array of the items of all lists of a column. */
static bm_status make_items(const bm_export_stream *stream, const bm_export_block *block,
                            bm_export_cells cells, struct ArrowArray *out, bm_error *err)
{
    const list_type type = list_of(stream, cells, block);
    const size_t n = block->n * type.n, bytes = n * type.bytes;
    const bool bands = cells == BM_CELLS_BANDS;
    void *values = bands ? turn_bands(stream, block, type) : copy(type.values, bytes);
    int32_t *ends = bands ? steps(n, type.bytes) : NULL;
    if (values == NULL || (bands && ends == NULL)) {
        bm_free_all(values, ends);
        return bm_fail_nomem(err, bytes);
    }
    const bm_array_parts plain = {(int64_t)n, {NULL, values}, 2, 0};
    const bm_array_parts binary = {(int64_t)n, {NULL, ends, values}, 3, 0};
    return bm_array_make(bands ? &binary : &plain, out, err);
}

static bm_status make_lists(const bm_export_stream *stream, const bm_export_block *block,
                            bm_export_cells cells, struct ArrowArray *out, bm_error *err)
{
    const bool fixed = stream->layout->fixed;
    int32_t *ends = fixed ? NULL : steps(block->n, list_of(stream, cells, block).n);
    if (!fixed && ends == NULL)
        return bm_fail_nomem(err, block->n * sizeof *ends);
    BM_TRY(bm_array_make(&(bm_array_parts){(int64_t)block->n, {NULL, ends}, fixed ? 1 : 2, 1}, out,
                         err));
    return make_items(stream, block, cells, out->children[0], err);
}

static bm_status make_array(const bm_export_stream *stream, const bm_export_block *block,
                            struct ArrowArray *out, bm_error *err)
{
    const size_t n = count(stream->layout);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_array_make(&(bm_array_parts){(int64_t)block->n, {NULL}, 1, n}, out, err));
    for (size_t i = 0; i < n; i++) {
        const bm_export_cells cells = stream->layout->columns[i].cells;
        struct ArrowArray *to = out->children[i];
        BM_TRY_OUT(cells == BM_CELLS_ID      ? make_ids(block, to, err)
                   : cells >= BM_CELLS_WORDS ? make_lists(stream, block, cells, to, err)
                                             : make_plain(block, cells, to, err));
    }
out:
    if (status != BM_OK && out->release != NULL)
        out->release(out);
    return status;
}

/* --- the stream --- */

static int get_schema(struct ArrowArrayStream *out, struct ArrowSchema *schema)
{
    bm_export_stream *stream = out->private_data;
    if (stream->status == BM_OK)
        stream->status = make_schema(stream, schema, &stream->err);
    return stream->status == BM_OK ? 0 : EIO;
}

static int get_next(struct ArrowArrayStream *out, struct ArrowArray *array)
{
    bm_export_stream *stream = out->private_data;
    bm_export_block block = {0};
    *array = (struct ArrowArray){0};
    if (stream->status == BM_OK)
        stream->status = export_reader_next(&stream->reader, &block, &stream->err);
    if (stream->status == BM_OK && block.n > 0)
        stream->status = make_array(stream, &block, array, &stream->err);
    return stream->status == BM_OK ? 0 : EIO;
}

static const char *last_error(struct ArrowArrayStream *out)
{
    const bm_export_stream *stream = out->private_data;
    return stream->err.message;
}

static void release(struct ArrowArrayStream *out)
{
    out->release = NULL;
}

static bm_status write_provenance(const bm_job_context *context, bm_buf *out, bm_error *err)
{
    bm_json json = {0};
    bm_report_begin(&json, context);
    bm_json_end_object(&json);
    bm_status status = bm_json_finish(&json, err);
    *out = json.buf;
    return status;
}

/* Open a stream. *out refers to *stream. Even after a failure, the caller frees the members of
 * *stream; *out must not be used afterwards. */
static bm_status export_stream_open(bm_exporter *exporter, const bm_export_layout *layout,
                                    bm_export_stream *stream, struct ArrowArrayStream *out,
                                    bm_error *err)
{
    bool ids = false;
    for (size_t i = 0; i < count(layout); i++)
        ids = ids || layout->columns[i].cells == BM_CELLS_ID;
    *stream = (bm_export_stream){.layout = layout};
    bm_status status = BM_OK;
    BM_TRY_OUT(write_provenance(exporter->context, &stream->provenance, err));
    status = export_reader_open(exporter, ids, &stream->reader, err);
out:
    *out = (struct ArrowArrayStream){.get_schema = get_schema,
                                     .get_next = get_next,
                                     .get_last_error = last_error,
                                     .release = release,
                                     .private_data = stream};
    return status;
}

/* === export tsv ===
 *
 * Writes a table of tab-separated decimals: id, n_shingles, then w1, w2 … for signatures, or
 * band_1, band_2 … for keys. Ids are escaped as in all our tables. */

#define DIGITS_MOST 20u /* most digits of a cell, not counting the tab before it */

typedef struct table {
    bm_out_file *file;
    bm_buf text;
    uint32_t columns, word_bytes; /* columns: number of columns after id and n_shingles */
    bool keys;
} table;

/* Write a tab and the digits of `value` to `at`, which must have space for them. Returns where they
 * end. */
static char *put(char *at, uint64_t value)
{
    char digits[DIGITS_MOST];
    size_t n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    *at++ = '\t';
    while (n > 0)
        *at++ = digits[--n];
    return at;
}

static uint64_t cell(const table *t, const bm_export_block *block, size_t row, uint32_t column)
{
    const size_t i = row * t->columns + column;
    if (t->keys)
        return block->keys[i];
    return t->word_bytes == 8 ? ((const uint64_t *)block->words)[i]
                              : ((const uint32_t *)block->words)[i];
}

static bm_status add_row(table *t, const bm_export_block *block, size_t row, bm_error *err)
{
    BM_TRY(bm_tsv_escape(&t->text, bm_export_block_id(block, row), err));
    BM_TRY(bm_buf_reserve(&t->text, (t->columns + 1) * (DIGITS_MOST + 1) + 1, err));
    char *at = put(t->text.data + t->text.len, block->n_shingles[row]);
    for (uint32_t i = 0; i < t->columns; i++)
        at = put(at, cell(t, block, row, i));
    *at++ = '\n';
    t->text.len = (size_t)(at - t->text.data);
    return BM_OK;
}

static bm_status flush(table *t, bm_error *err)
{
    bm_status status = bm_out_file_write(t->file, t->text.data, t->text.len, err);
    t->text.len = 0;
    return status;
}

static bm_status write_tsv(void *ctx, const bm_export_block *block, bm_error *err)
{
    table *t = ctx;
    for (size_t i = 0; i < block->n; i++) {
        BM_TRY(add_row(t, block, i, err));
        BM_TRY(flush(t, err));
    }
    return BM_OK;
}

static bm_status write_head(table *t, bm_error *err)
{
    BM_TRY(bm_buf_add_text(&t->text, "id\tn_shingles", err));
    for (uint32_t i = 1; i <= t->columns; i++)
        BM_TRY(bm_buf_add_format(&t->text, err, t->keys ? "\tband_%" PRIu32 : "\tw%" PRIu32, i));
    BM_TRY(bm_buf_add_text(&t->text, "\n", err));
    return flush(t, err);
}

static bm_status export_tsv(bm_exporter *e, bm_error *err)
{
    const bm_settings *s = e->context->settings;
    table t = {.keys = s->results.exchange.what == BM_EXPORT_BANDS, .word_bytes = e->word_bytes};
    t.columns = t.keys ? s->plan.bands : s->sketch.perms;
    BM_TRY(
        bm_out_dir_file(e->out, t.keys ? BM_FILE_BANDS_TSV : BM_FILE_SIGNATURES_TSV, &t.file, err));
    bm_out_file_digest_early(t.file, 0);
    bm_status status = BM_OK;
    BM_TRY_OUT(write_head(&t, err));
    status = export_walk(e, true, write_tsv, &t, err);
out:;
    bm_status closed = bm_out_file_close(t.file, status == BM_OK ? err : NULL);
    bm_buf_reset(&t.text);
    return status == BM_OK ? closed : status;
}

/* === export layouts ===
 *
 * The layouts of the tables of other tools, and a function that writes any of them. */

#define GROUP_BYTES ((uint64_t)32 << 20) /* bytes of words in a row group */

static const struct {
    bm_exchange to;
    bm_export_what what;
    bm_export_layout layout;
} layouts[] = {
    {BM_EXCHANGE_ARROW,
     BM_EXPORT_SIGNATURES,
     {BM_FILE_SIGNATURES_ARROW,
      {{"id", BM_CELLS_ID}, {"signature", BM_CELLS_WORDS}, {"n_shingles", BM_CELLS_SIZE}},
      .fixed = true,
      .annotated = true}},
    {BM_EXCHANGE_ARROW,
     BM_EXPORT_BANDS,
     {BM_FILE_BANDS_ARROW,
      {{"id", BM_CELLS_ID}, {"band_keys", BM_CELLS_KEYS}, {"n_shingles", BM_CELLS_SIZE}},
      .fixed = true,
      .annotated = true}},
    {BM_EXCHANGE_PARQUET,
     BM_EXPORT_SIGNATURES,
     {BM_FILE_SIGNATURES_PARQUET,
      {{"id", BM_CELLS_ID}, {"signature", BM_CELLS_WORDS}, {"n_shingles", BM_CELLS_SIZE}},
      .parquet = true,
      .annotated = true}},
    {BM_EXCHANGE_PARQUET,
     BM_EXPORT_BANDS,
     {BM_FILE_BANDS_PARQUET,
      {{"id", BM_CELLS_ID}, {"band_keys", BM_CELLS_KEYS}, {"n_shingles", BM_CELLS_SIZE}},
      .parquet = true,
      .annotated = true}},
    {BM_EXCHANGE_LANCE,
     BM_EXPORT_SIGNATURES,
     {BM_FILE_SIGNATURES_ARROW,
      {{"id", BM_CELLS_ID}, {"signature", BM_CELLS_WORDS}, {"n_shingles", BM_CELLS_SIZE}},
      .fixed = true,
      .annotated = true}},
    {BM_EXCHANGE_NEMO,
     BM_EXPORT_SIGNATURES,
     {BM_FILE_NEMO,
      {{"_curator_dedup_id", BM_CELLS_NUMBER}, {"_minhash_signature", BM_CELLS_WORDS}},
      .parquet = true}},
    {BM_EXCHANGE_TEXT_DEDUP,
     BM_EXPORT_SIGNATURES,
     {BM_FILE_SIGNATURES_PARQUET,
      {{"__id__", BM_CELLS_NUMBER}, {"__signatures__", BM_CELLS_BANDS}},
      .parquet = true}},
};

static const bm_export_layout *layout_of(const bm_exchange_settings *asked)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i].to == asked->to && layouts[i].what == asked->what)
            return &layouts[i].layout;
    return NULL;
}

/* The output file, and the first failure of writing to it. */
typedef struct sink {
    bm_out_file *file;
    bm_status status;
    bm_error err;
} sink;

static int write_layout(void *ctx, const char *data, size_t len)
{
    sink *to = ctx;
    if (to->status == BM_OK)
        to->status = bm_out_file_write(to->file, data, len, &to->err);
    return to->status != BM_OK;
}

/* If writing to the file failed, return that failure. If not, but the stream failed, return the
 * failure of the stream. Otherwise return `status`. */
static bm_status outcome(bm_status status, const sink *to, const bm_export_stream *stream,
                         bm_error *err)
{
    const bm_error *why = to->status != BM_OK       ? &to->err
                          : stream->status != BM_OK ? &stream->err
                                                    : NULL;
    if (why == NULL)
        return status;
    if (err != NULL)
        *err = *why;
    return to->status != BM_OK ? to->status : stream->status;
}

static bm_status write_stream(bm_exporter *e, const bm_export_layout *layout, sink *to,
                              bm_error *err)
{
    const uint64_t row = (uint64_t)e->context->settings->sketch.perms * e->word_bytes;
    bm_export_stream stream;
    struct ArrowArrayStream rows;
    bm_status status = BM_OK;
    BM_TRY_OUT(export_stream_open(e, layout, &stream, &rows, err));
    const bm_table_made made = {.parquet = layout->parquet,
                                .stream = &rows,
                                .group_rows = GROUP_BYTES / row,
                                .write = write_layout,
                                .write_ctx = to};
    status = outcome(bm_table_write(layout->file, &made, err), to, &stream, err);
out:
    export_reader_close(&stream.reader);
    bm_buf_reset(&stream.provenance);
    return status;
}

static bm_status export_table(bm_exporter *e, bm_error *err)
{
    const bm_export_layout *layout = layout_of(&e->context->settings->results.exchange);
    sink to = {0};
    BM_TRY(bm_out_dir_file(e->out, layout->file, &to.file, err));
    bm_out_file_digest_early(to.file, 0);
    bm_status status = write_stream(e, layout, &to, err);
    bm_status closed = bm_out_file_close(to.file, status == BM_OK ? err : NULL);
    return status == BM_OK ? closed : status;
}

/* === export form ===
 *
 * The table of forms. */

#define HAS_ALL (BM_FORM_HAS_IDS | BM_FORM_HAS_SIZES | BM_FORM_HAS_PROVENANCE)

static const bm_export_form forms[] = {
    {.to = BM_EXCHANGE_LEANMINHASH,
     .takes = export_lean_accepts,
     .taken = "affine32, affine64 or legacy",
     .write = export_lean},
    {.to = BM_EXCHANGE_DATATROVE,
     .has = BM_FORM_OF_BANDS | BM_FORM_BY_DOCUMENT,
     .bands = 14,
     .rows = 8,
     .takes = export_datatrove_accepts,
     .taken = "words below 2^61 - 1: any but affine64",
     .write = export_datatrove},
    {.to = BM_EXCHANGE_NEMO, .write = export_table},
    {.to = BM_EXCHANGE_TEXT_DEDUP, .has = BM_FORM_OF_BANDS, .write = export_table},
    {.to = BM_EXCHANGE_MILVUS, .write = export_milvus},
    {.to = BM_EXCHANGE_LANCE, .has = HAS_ALL, .write = export_table},
    {.to = BM_EXCHANGE_NPY, .has = BM_FORM_HAS_KEYS, .write = export_npy},
    {.to = BM_EXCHANGE_TSV,
     .has = BM_FORM_HAS_KEYS | BM_FORM_HAS_IDS | BM_FORM_HAS_SIZES,
     .write = export_tsv},
    {.to = BM_EXCHANGE_ARROW, .has = HAS_ALL | BM_FORM_HAS_KEYS, .write = export_table},
    {.to = BM_EXCHANGE_PARQUET, .has = HAS_ALL | BM_FORM_HAS_KEYS, .write = export_table},
};

const bm_export_form *bm_export_form_of(bm_exchange to)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (forms[i].to == to)
            return &forms[i];
    return NULL;
}

bm_status bm_export_form_check(const bm_export_form *form, const bm_settings *settings,
                               bm_error *err)
{
    const char *scheme = bm_option_name(BM_OPTION_SCHEME, settings->sketch.scheme);
    if (form->takes == NULL || form->takes(scheme))
        return BM_OK;
    return bm_fail_field(err, "to", "`to` %s has no place for signatures of the scheme %s (%s)",
                         bm_option_name(BM_OPTION_EXCHANGE, form->to), scheme, form->taken);
}
