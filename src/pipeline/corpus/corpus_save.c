/* corpus_save.c -- what of a corpus goes to the file of sets, and the way back. */
#include "pipeline/corpus/corpus_save.h"

#include <string.h>

#include "base/error.h"
#include "pipeline/corpus/corpus_spill.h"

bool bm_corpus_can_save(const bm_corpus *corpus)
{
    const bm_corpus_files *files = &corpus->files;
    return files->labels == NULL && (files->keys == NULL || files->block != NULL);
}

static bool has_sets(const bm_corpus *corpus)
{
    return corpus->cfg.hashes || corpus->cfg.perms > 0;
}

uint64_t bm_corpus_unsaved_bytes(const bm_corpus *corpus)
{
    const bm_corpus_files *files = &corpus->files;
    return files->sets != NULL || files->saved_bytes > corpus->set_bytes
               ? 0
               : corpus->set_bytes - files->saved_bytes;
}

/* --- saving --- */

static bm_status open_saved(bm_corpus *corpus, const char *path, bm_error *err)
{
    bm_corpus_files *files = &corpus->files;
    bm_spill_file *file = files->sets != NULL ? files->sets : files->saved;
    bm_status status = BM_OK;
    if (file == NULL) {
        status =
            bm_spill_open(corpus->cfg.temp_dir, BM_SPILL_SETS, BM_SETS_BUFFER, &files->saved, err);
        file = files->saved;
    }
    if (status == BM_OK && !files->kept) {
        status = bm_spill_persist(file, path, err);
        files->kept = status == BM_OK;
    }
    if (files->saved_bytes == 0)
        files->saved_bytes = BM_SPILL_HEADER;
    return status;
}

static bm_status save_set(bm_corpus *corpus, size_t row, size_t len, bm_error *err)
{
    const void *data = corpus->words != NULL ? (const void *)corpus->words[row]
                                             : (const void *)corpus->hashes[row];
    return bm_spill_add(corpus->files.saved, data, len, NULL, err);
}

bm_status bm_corpus_save_sets(bm_corpus *corpus, const char *path, bm_error *err)
{
    bm_corpus_files *files = &corpus->files;
    if (!has_sets(corpus))
        return BM_OK;
    bm_status status = open_saved(corpus, path, err);
    while (status == BM_OK && files->n_saved < corpus->n) {
        size_t len = bm_corpus_set_len(corpus, files->n_saved);
        if (len > 0 && files->sets == NULL)
            status = save_set(corpus, files->n_saved, len, err);
        if (status == BM_OK && len > 0) {
            files->saved_bytes += BM_SPILL_RECORD + len;
            files->saved_records++;
        }
        files->n_saved += status == BM_OK;
    }
    return status == BM_OK ? bm_spill_flush(files->sets != NULL ? files->sets : files->saved, err)
                           : status;
}

/* Those of one block in the file, or of the last, which is still in memory. */
static bm_status copy_block(const bm_corpus *corpus, size_t block, uint64_t *scratch, size_t first,
                            size_t n, uint64_t *to, bm_error *err)
{
    const bm_corpus_files *files = &corpus->files;
    uint32_t bands = corpus->cfg.bands;
    size_t begin = block * files->key_rows, end = begin + files->key_rows;
    size_t from = first > begin ? first : begin, until = first + n < end ? first + n : end;
    bool written = end <= corpus->n;
    bm_status status = BM_OK;
    for (uint32_t b = 0; status == BM_OK && b < bands; b++) {
        const uint64_t *column = files->block + b * files->key_rows;
        if (written) {
            uint64_t record = BM_SPILL_RECORD + files->key_rows * sizeof *scratch;
            status = bm_spill_read(files->keys, BM_SPILL_HEADER + (block * bands + b) * record,
                                   scratch, files->key_rows * sizeof *scratch, err);
            column = scratch;
        }
        for (size_t row = from; status == BM_OK && row < until; row++)
            to[(row - first) * bands + b] = column[row - begin];
    }
    return status;
}

bm_status bm_corpus_copy_keys(const bm_corpus *corpus, size_t first, size_t n, uint64_t *to,
                              bm_error *err)
{
    const bm_corpus_files *files = &corpus->files;
    uint32_t bands = corpus->cfg.bands;
    if (files->keys == NULL) {
        for (uint32_t b = 0; b < bands; b++)
            for (size_t i = 0; i < n; i++)
                to[i * bands + b] = corpus->keys[b][first + i];
        return BM_OK;
    }
    uint64_t *scratch = bm_alloc(files->key_rows, sizeof *scratch);
    if (scratch == NULL)
        return bm_fail_nomem(err, files->key_rows * sizeof *scratch);
    bm_status status = bm_spill_flush(files->keys, err);
    for (size_t block = first / files->key_rows;
         status == BM_OK && block * files->key_rows < first + n; block++)
        status = copy_block(corpus, block, scratch, first, n, to, err);
    bm_free(scratch);
    return status;
}

/* --- restoring --- */

bm_status bm_corpus_restore_sets(bm_corpus *corpus, const char *path, uint64_t bytes,
                                 uint64_t records, bm_error *err)
{
    bm_corpus_files *files = &corpus->files;
    if (!has_sets(corpus))
        return BM_OK;
    files->saved_bytes = BM_SPILL_HEADER;
    files->kept = true;
    return bm_spill_reopen(path, BM_SPILL_SETS, BM_SETS_BUFFER, bytes, records, &files->sets, err);
}

static bm_status restore_copies(bm_corpus *corpus, const bm_corpus_rows *rows, bm_error *err)
{
    size_t first = corpus->n;
    for (size_t i = 0; i < rows->n && rows->sequence != NULL; i++)
        corpus->sequence[first + i] = rows->sequence[i];
    if (rows->rep == NULL)
        return bm_corpus_find_copies(corpus, first, rows->n, err);
    for (size_t i = 0; i < rows->n; i++) {
        size_t row = first + i;
        uint32_t rep = rows->rep[i];
        if (rep > row || (rep < row && corpus->rep[rep] != rep))
            return bm_fail(err, BM_ERR_FORMAT, "document %zu is saved as a copy of no original",
                           row);
        corpus->rep[row] = rep;
        corpus->skip[row] = corpus->sizes[row] == 0 || rep != row;
        corpus->n_identical += rep != row;
    }
    return BM_OK;
}

bm_status bm_corpus_restore_rows(bm_corpus *corpus, const bm_corpus_rows *rows, bm_error *err)
{
    bm_corpus_files *files = &corpus->files;
    size_t first = corpus->n;
    bm_status status = bm_corpus_make_room(corpus, rows->n, 0, 0, err);
    if (status == BM_OK)
        status = bm_corpus_grow(corpus, rows->n, err);
    for (size_t i = 0; status == BM_OK && i < rows->n; i++) {
        corpus->sizes[first + i] = rows->docs[i].n_shingles;
        corpus->sorted[first + i] = 0;
        if (corpus->hashes != NULL)
            corpus->hashes[first + i] = NULL;
    }
    if (status == BM_OK)
        status = restore_copies(corpus, rows, err);
    for (size_t i = 0; status == BM_OK && i < rows->n && files->sets != NULL; i++) {
        size_t row = first + i, len = bm_corpus_set_len(corpus, row);
        files->places[row] = corpus->rep[row] != row ? files->places[corpus->rep[row]] : 0;
        if (len == 0)
            continue;
        files->places[row] = files->saved_bytes;
        files->saved_bytes += BM_SPILL_RECORD + len;
        files->saved_records++;
    }
    if (status == BM_OK && corpus->cfg.bands > 0)
        status = bm_corpus_add_keys(corpus, rows->keys, first, rows->n, err);
    if (status == BM_OK)
        corpus->n += rows->n;
    files->n_saved = corpus->n;
    return status;
}

bm_status bm_corpus_restore_end(bm_corpus *corpus, bm_error *err)
{
    const bm_corpus_files *files = &corpus->files;
    if (files->sets == NULL || (files->saved_bytes == bm_spill_bytes(files->sets) &&
                                files->saved_records == bm_spill_records(files->sets)))
        return BM_OK;
    return bm_fail(
        err, BM_ERR_FORMAT, "the saved sets are those of other documents (%llu bytes, not %llu)",
        (unsigned long long)bm_spill_bytes(files->sets), (unsigned long long)files->saved_bytes);
}
