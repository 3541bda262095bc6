/* checkpoint_documents.c -- blocks of documents, each a record that describes itself: the lengths in
 * its header are compared with the record's own before anything is believed. */
#include "job/checkpoint_documents.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "corpus/corpus_save.h"
#include "spill/spill_saved.h"

#define BLOCK_BYTES ((size_t)1 << 20) /* of columns, about */
#define BLOCK_LEAST 64u               /* documents */
#define BLOCK_MOST  8192u

typedef enum copies_as { COPIES_NONE, COPIES_CONTENT, COPIES_REP } copies_as;

typedef struct block_header {
    uint64_t first, n, id_bytes, n_skipped, skipped_bytes, n_sources;
    uint32_t bands, copies; /* copies_as */
    bm_counts counts;       /* with the block's documents and all before it, once the last */
} block_header;

typedef struct saved_row {
    uint64_t line, text_bytes;
    uint32_t file, n_shingles;
    uint64_t id_len;
} saved_row;

typedef struct saved_skip {
    uint64_t line;
    uint32_t file, len; /* of the reason, which follows */
} saved_skip;

typedef struct saved_source {
    bm_hash128 digest;
    uint64_t bytes_read;
} saved_source;

/* --- saving --- */

static copies_as copies_of(const bm_corpus *corpus)
{
    if (corpus == NULL)
        return COPIES_NONE;
    return corpus->copies.content != NULL ? COPIES_CONTENT : COPIES_REP;
}

static size_t column_bytes(const bm_checkpoint_documents *what)
{
    size_t bytes = sizeof(saved_row);
    if (what->corpus != NULL)
        bytes += sizeof(bm_hash128) + what->corpus->cfg.bands * sizeof(uint64_t);
    return bytes;
}

static uint64_t id_begin(const bm_doc_table *docs, size_t row)
{
    return row == 0 ? 0 : docs->rows[row - 1].id_end;
}

uint64_t bm_checkpoint_documents_unsaved_bytes(const bm_checkpoint_documents *what, size_t first)
{
    const bm_doc_table *docs = what->docs;
    return (docs->n - first) * column_bytes(what) + id_begin(docs, docs->n) - id_begin(docs, first);
}

static bm_status put_rows(const bm_doc_table *docs, const block_header *h, bm_buf *out,
                          bm_error *err)
{
    bm_status status = BM_OK;
    uint64_t begin = id_begin(docs, (size_t)h->first);
    for (size_t i = 0; i < h->n; i++) {
        const bm_doc_row *row = &docs->rows[h->first + i];
        uint64_t from = id_begin(docs, (size_t)h->first + i);
        saved_row saved = {row->line, row->text_bytes, row->file, row->n_shingles,
                           row->id_end - from};
        BM_TRY_OUT(bm_buf_add(out, &saved, sizeof saved, err));
    }
out:
    return status == BM_OK && h->id_bytes > 0
               ? bm_buf_add(out, docs->ids.data + begin, (size_t)h->id_bytes, err)
               : status;
}

/* Columns of 8 bytes begin at multiples of 8. */
static bm_status pad(bm_buf *out, bm_error *err)
{
    static const char zeros[8];
    return bm_buf_add(out, zeros, (8 - out->len % 8) % 8, err);
}

static bm_status put_copies(const bm_corpus *corpus, const block_header *h, bm_buf *out,
                            bm_error *err)
{
    size_t n = (size_t)h->n;
    if (h->copies == COPIES_CONTENT)
        return bm_buf_add(out, corpus->copies.content + h->first,
                          n * sizeof *corpus->copies.content, err);
    if (h->copies == COPIES_REP)
        return bm_buf_add(out, corpus->rep + h->first, n * sizeof *corpus->rep, err);
    return BM_OK;
}

static bm_status put_keys(const bm_corpus *corpus, const block_header *h, bm_buf *out,
                          bm_error *err)
{
    size_t bytes = (size_t)h->n * h->bands * sizeof(uint64_t);
    if (bytes == 0)
        return BM_OK;
    BM_TRY(bm_buf_reserve(out, bytes, err));
    BM_TRY(bm_corpus_copy_keys(corpus, (size_t)h->first, (size_t)h->n,
                               (uint64_t *)(void *)(out->data + out->len), err));
    out->len += bytes;
    return BM_OK;
}

static bm_status put_skipped(const bm_doc_table *docs, size_t first, bm_buf *out, bm_error *err)
{
    for (size_t i = first; i < docs->n_skipped; i++) {
        const bm_skipped *skipped = &docs->skipped[i];
        saved_skip saved = {skipped->line, skipped->file, (uint32_t)strlen(skipped->reason)};
        BM_TRY(bm_buf_add(out, &saved, sizeof saved, err));
        BM_TRY(bm_buf_add(out, skipped->reason, saved.len, err));
    }
    return BM_OK;
}

/* The keys of the block's documents, which begin at `at` among those that were not saved. */
static bm_status put_keep_keys(const bm_keep_keys *keys, const block_header *h, size_t *at,
                               bm_buf *out, bm_error *err)
{
    const size_t begin = *at;
    *at = bm_keep_keys_unsaved(keys, begin, (size_t)h->n);
    return bm_buf_add(out, keys->unsaved.data + begin, *at - begin, err);
}

/* The inputs, and behind them the file that is read beside them. */
static size_t count_sources(bm_input_set *inputs)
{
    return bm_input_set_count(inputs) + (bm_input_set_offsets(inputs) != NULL);
}

static bm_source *source_at(bm_input_set *inputs, size_t i)
{
    return i < bm_input_set_count(inputs) ? bm_input_set_source(inputs, i)
                                          : bm_input_set_offsets(inputs);
}

static bm_status put_sources(bm_input_set *inputs, const block_header *h, bm_buf *out,
                             bm_error *err)
{
    for (size_t i = 0; i < h->n_sources; i++) {
        const bm_source *source = source_at(inputs, i);
        saved_source saved = {source->digest, source->bytes_read};
        BM_TRY(bm_buf_add(out, &saved, sizeof saved, err));
    }
    return BM_OK;
}

static bm_status save_block(const bm_checkpoint_documents *what, const block_header *h,
                            size_t first_skipped, size_t *keep_at, bm_buf *out, bm_error *err)
{
    out->len = 0;
    BM_TRY(bm_buf_add(out, h, sizeof *h, err));
    BM_TRY(put_rows(what->docs, h, out, err));
    BM_TRY(pad(out, err));
    BM_TRY(put_copies(what->corpus, h, out, err));
    BM_TRY(pad(out, err));
    BM_TRY(put_keys(what->corpus, h, out, err));
    BM_TRY(put_sources(what->inputs, h, out, err));
    size_t begin = out->len;
    if (h->n_skipped > 0)
        BM_TRY(put_skipped(what->docs, first_skipped, out, err));
    /* known only now */
    uint64_t bytes = out->len - begin;
    memcpy(out->data + offsetof(block_header, skipped_bytes), &bytes, sizeof bytes);
    return what->keep != NULL ? put_keep_keys(what->keep, h, keep_at, out, err) : BM_OK;
}

/* Inputs whose digests are known, from the first on: those before that of the last document, since
 * the reader may be at work on it now. */
static uint64_t sources_read(const bm_checkpoint_documents *what)
{
    const bm_doc_table *docs = what->docs;
    if (what->complete)
        return count_sources(what->inputs);
    return docs->n > 0 ? docs->rows[docs->n - 1].file : 0;
}

bm_status bm_checkpoint_documents_save(const bm_checkpoint_documents *what, size_t first_doc,
                                       size_t first_skipped, bm_spill_file *file, bm_error *err)
{
    const bm_doc_table *docs = what->docs;
    size_t most = BLOCK_BYTES / column_bytes(what), at = first_doc, keep_at = 0;
    bm_buf out = {0};
    bm_status status = BM_OK;
    most = most > BLOCK_MOST ? BLOCK_MOST : most < BLOCK_LEAST ? BLOCK_LEAST : most;
    do { /* one block at least, for the counts */
        size_t n = docs->n - at < most ? docs->n - at : most;
        bool last = at + n == docs->n;
        block_header h = {.first = at,
                          .n = n,
                          .id_bytes = id_begin(docs, at + n) - id_begin(docs, at),
                          .n_skipped = last ? docs->n_skipped - first_skipped : 0,
                          .n_sources = last ? sources_read(what) : 0,
                          .bands = what->corpus != NULL ? what->corpus->cfg.bands : 0,
                          .copies = copies_of(what->corpus),
                          .counts = *what->counts};
        status = save_block(what, &h, first_skipped, &keep_at, &out, err);
        if (status == BM_OK)
            status = bm_spill_add(file, out.data, out.len, NULL, err);
        at += n;
    } while (status == BM_OK && at < docs->n);
    bm_buf_reset(&out);
    return status == BM_OK ? bm_spill_flush(file, err) : status;
}

/* --- loading --- */

typedef struct loading {
    const bm_checkpoint_documents *what;
    const char *data; /* of the record at hand */
    size_t len, at;
    bm_doc_row *rows; /* of the block, for the corpus */
    size_t cap;
} loading;

/* The next `len` bytes of the record; NULL where there are not so many. */
static const void *next(loading *l, uint64_t len, bool aligned)
{
    if (aligned)
        l->at += (8 - l->at % 8) % 8;
    if (l->at > l->len || len > l->len - l->at)
        return NULL;
    const void *data = l->data + l->at;
    l->at += (size_t)len;
    return data;
}

static bm_status not_saved(uint64_t place, const char *what, bm_error *err)
{
    return bm_fail(err, BM_ERR_FORMAT,
                   "the saved documents are damaged: %s do not fit (block at byte %llu)", what,
                   (unsigned long long)place);
}

static bm_status load_rows(loading *l, const block_header *h, const saved_row *saved,
                           const char *ids, bm_error *err)
{
    bm_doc_table *docs = l->what->docs;
    void *rows = l->rows;
    BM_TRY(bm_grow(&rows, &l->cap, (size_t)h->n, sizeof *l->rows, err));
    uint64_t at = 0;
    l->rows = rows;
    for (size_t i = 0; i < h->n; i++) {
        saved_row row;
        memcpy(&row, &saved[i], sizeof row);
        if (row.id_len > h->id_bytes - at)
            return bm_fail(err, BM_ERR_FORMAT, "the saved documents are damaged: ids do not fit");
        bm_str id = {ids + at, (size_t)row.id_len};
        l->rows[i] = (bm_doc_row){.line = row.line,
                                  .text_bytes = row.text_bytes,
                                  .file = row.file,
                                  .n_shingles = row.n_shingles};
        if (row.file >= bm_input_set_count(l->what->inputs))
            return bm_fail(err, BM_ERR_FORMAT, "the saved documents are of other inputs");
        const bm_doc_id hashed = {id, XXH3_64bits(id.data, id.len)};
        BM_TRY(bm_doc_table_add(docs, &l->rows[i], hashed,
                                bm_input_set_source(l->what->inputs, row.file)->name, err));
        at += row.id_len;
    }
    return BM_OK;
}

static bm_status load_skipped(loading *l, const block_header *h, bm_error *err)
{
    bm_status status = BM_OK;
    for (uint64_t i = 0; status == BM_OK && i < h->n_skipped; i++) {
        saved_skip saved;
        const void *head = next(l, sizeof saved, false);
        if (head == NULL)
            return bm_fail(err, BM_ERR_FORMAT, "the saved list of skipped records is damaged");
        memcpy(&saved, head, sizeof saved);
        const char *reason = next(l, saved.len, false);
        if (reason == NULL || saved.file >= bm_input_set_count(l->what->inputs))
            return bm_fail(err, BM_ERR_FORMAT, "the saved list of skipped records is damaged");
        bm_skipped skipped = {
            .line = saved.line, .file = saved.file, .reason = bm_strndup(reason, saved.len)};
        status = skipped.reason == NULL ? bm_fail_nomem(err, saved.len)
                                        : bm_doc_table_skip(l->what->docs, &skipped, err);
        if (status != BM_OK)
            bm_free(skipped.reason);
    }
    return status;
}

static bm_status load_columns(loading *l, const block_header *h, uint64_t place, bm_error *err)
{
    bm_corpus *corpus = l->what->corpus;
    size_t one = h->copies == COPIES_CONTENT ? sizeof(bm_hash128)
                 : h->copies == COPIES_REP   ? sizeof(uint32_t)
                                             : 0;
    const void *copies = next(l, h->n * one, true);
    const void *keys = next(l, h->n * h->bands * sizeof(uint64_t), true);
    if (copies == NULL || keys == NULL)
        return not_saved(place, "columns", err);
    if (corpus == NULL)
        return h->copies == COPIES_NONE && h->bands == 0 ? BM_OK : not_saved(place, "columns", err);
    if (h->copies == COPIES_NONE || h->bands != corpus->cfg.bands)
        return not_saved(place, "columns", err);
    bm_corpus_rows rows = {.n = (size_t)h->n,
                           .docs = l->rows,
                           .content = h->copies == COPIES_CONTENT ? copies : NULL,
                           .rep = h->copies == COPIES_REP ? copies : NULL,
                           .keys = keys};
    return h->n == 0 ? BM_OK : bm_corpus_restore_rows(corpus, &rows, err);
}

static bm_status load_sources(loading *l, const block_header *h, uint64_t place, bm_error *err)
{
    const saved_source *saved = next(l, h->n_sources * sizeof *saved, true);
    if (saved == NULL || h->n_sources > count_sources(l->what->inputs))
        return not_saved(place, "inputs", err);
    for (size_t i = 0; i < h->n_sources; i++) {
        bm_source *source = source_at(l->what->inputs, i);
        source->digest = saved[i].digest;
        source->bytes_read = saved[i].bytes_read;
    }
    return BM_OK;
}

static bm_status load_keep_keys(loading *l, const block_header *h, uint64_t place, bm_error *err)
{
    bm_keep_keys *keys = l->what->keep;
    for (uint64_t i = 0; i < h->n; i++) {
        uint32_t len;
        const void *head = next(l, sizeof len, false);
        if (head == NULL)
            return not_saved(place, "keys of the order of keeping", err);
        memcpy(&len, head, sizeof len);
        const char *key = next(l, len, false);
        if (key == NULL || len < keys->rules->n_by_field)
            return not_saved(place, "keys of the order of keeping", err);
        BM_TRY(bm_keep_keys_add(keys, (bm_str){key, len}, err));
    }
    keys->unsaved.len = 0; /* they are saved */
    return BM_OK;
}

static bm_status load_block(void *ctx, uint64_t place, const void *data, size_t len, bm_error *err)
{
    loading *l = ctx;
    block_header h;
    l->data = data;
    l->len = len;
    l->at = 0;
    const void *head = next(l, sizeof h, false);
    if (head == NULL)
        return not_saved(place, "its header", err);
    memcpy(&h, head, sizeof h);
    if (h.first != l->what->docs->n || h.n > BM_DOCS_MAX || h.bands > BM_PERMS_MAX ||
        h.n_sources > UINT32_MAX)
        return not_saved(place, "numbers", err);
    const void *rows = next(l, h.n * sizeof(saved_row), true);
    const void *ids = next(l, h.id_bytes, false);
    if (rows == NULL || ids == NULL)
        return not_saved(place, "rows", err);
    bm_status status = BM_OK;
    BM_TRY_OUT(load_rows(l, &h, rows, ids, err));
    BM_TRY_OUT(load_columns(l, &h, place, err));
    BM_TRY_OUT(load_sources(l, &h, place, err));
    BM_TRY_OUT(load_skipped(l, &h, err));
    if (l->what->keep != NULL)
        status = load_keep_keys(l, &h, place, err);
out:
    *l->what->counts = h.counts;
    return status;
}

bm_status bm_checkpoint_documents_load(const bm_checkpoint_documents *what,
                                       const bm_spill_file *file, bm_error *err)
{
    loading l = {.what = what};
    const bm_status status = bm_spill_walk(file, load_block, &l, err);
    bm_free(l.rows);
    BM_TRY(status);
    return what->corpus != NULL ? bm_corpus_restore_end(what->corpus, err) : BM_OK;
}
