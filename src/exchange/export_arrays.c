/* export_arrays.c -- forms that are rows of words: LeanMinHash, NumPy, Milvus. And what lies beside
 * such files.
 *
 * Milvus takes a binary vector of the words' bytes, and imports a file of NumPy for each field of a
 * collection: signature.npy, and id.npy with the number of the line in ids.txt, from 0.
 *
 * Tests: tests/cli/cases/export.sh, tests/reference/test_exchange.py */
#include <string.h>

#include "base/error.h"
#include "results/npy.h"
#include "json/json_write.h"
#include "model/file_names.h"
#include "model/option_names.h"
#include "exchange/exporter.h"
#include "exchange/lean_record.h"

/* The first failure stays. */
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
    size_t head_bytes, words_bytes; /* of a record */
} lean;

bool bm_export_lean_takes(const char *scheme)
{
    uint32_t word_bytes;
    return bm_lean_word_bytes(scheme, &word_bytes);
}

static bm_status take_lean(void *ctx, const bm_export_block *block, bm_error *err)
{
    lean *l = ctx;
    for (size_t i = 0; i < block->n; i++) {
        BM_TRY(bm_out_file_write(l->file, l->head, l->head_bytes, err));
        BM_TRY(bm_out_file_write(l->file, (const char *)block->words + i * l->words_bytes,
                                 l->words_bytes, err));
    }
    return BM_OK;
}

bm_status bm_export_lean(bm_exporter *e, bm_error *err)
{
    const bm_sketch_options *sketch = &e->context->settings->sketch;
    const bm_lean_head head = {.scheme = bm_option_word(BM_OPTION_SCHEME, sketch->scheme),
                               .seed = sketch->seed,
                               .perms = sketch->perms};
    lean l = {.words_bytes = (size_t)sketch->perms * e->word_bytes};
    l.head_bytes = bm_lean_head_write(&head, l.head);
    BM_TRY(bm_out_dir_file(e->out, BM_FILE_LEAN, &l.file, err));
    bm_out_file_digest_early(l.file, 0);
    return close_file(l.file, bm_export_walk(e, false, take_lean, &l, err), err);
}

/* --- NumPy --- */

typedef struct rows {
    bm_npy_writer writer;
    size_t bytes; /* of a row */
    bool keys;
} rows;

static bm_status take_rows(void *ctx, const bm_export_block *block, bm_error *err)
{
    rows *r = ctx;
    return bm_npy_writer_rows(&r->writer, r->keys ? (const void *)block->keys : block->words,
                              block->n, r->bytes, err);
}

static bm_status write_rows(bm_exporter *e, const bm_npy_array *array, rows *r, bm_error *err)
{
    BM_TRY(bm_npy_writer_open(e->out, array, &r->writer, err));
    return close_array(&r->writer, bm_export_walk(e, false, take_rows, r, err), err);
}

bm_status bm_export_npy(bm_exporter *e, bm_error *err)
{
    const bm_settings *s = e->context->settings;
    const bool keys = s->results.exchange.what == BM_EXPORT_BANDS;
    const bm_npy_array words = {BM_FILE_SIGNATURES, e->word_bytes == 8 ? "<u8" : "<u4",
                                s->sketch.perms};
    const bm_npy_array bands = {BM_FILE_BAND_KEYS, "<u8", s->plan.bands};
    rows r = {.keys = keys,
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

bm_status bm_export_milvus(bm_exporter *e, bm_error *err)
{
    rows r = {.bytes = (size_t)e->context->settings->sketch.perms * e->word_bytes};
    BM_TRY(
        write_rows(e, &(bm_npy_array){BM_FILE_MILVUS_VECTORS, "|u1", (uint64_t)r.bytes}, &r, err));
    return write_numbers(e, err);
}

/* --- beside --- */

static bm_status copy_sizes(bm_exporter *e, bm_error *err)
{
    const uint64_t n_docs = bm_sign_dir_docs(e->dir);
    uint32_t block[1024];
    bm_npy_writer writer;
    BM_TRY(bm_npy_writer_open(e->out, &(bm_npy_array){.name = BM_FILE_N_SHINGLES, .type = "<u4"},
                              &writer, err));
    bm_status status = BM_OK;
    for (uint64_t at = 0; at < n_docs;) {
        const size_t room = sizeof block / sizeof block[0];
        const size_t n = n_docs - at < room ? (size_t)(n_docs - at) : room;
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
        const size_t room = sizeof ends / sizeof ends[0];
        const size_t n = n_docs - at < room ? (size_t)(n_docs - at) : room;
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
