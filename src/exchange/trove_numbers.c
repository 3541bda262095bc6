/* trove_numbers.c -- see the header.
 *
 * Tests: tests/cli/cases/export.sh, tests/reference/test_datatrove.py */
#include "exchange/trove_numbers.h"

#include "base/error.h"
#include "base/memory.h"
#include "results/result_tables.h"
#include "results/source_table.h"
#include "model/file_names.h"

bm_status bm_trove_numbers_open(bm_sign_dir *dir, bm_trove_numbers *out, bm_error *err)
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

void bm_trove_numbers_close(bm_trove_numbers *numbers)
{
    bm_free(numbers->documents);
    bm_free(numbers->bytes);
}

void bm_trove_numbers_begin(bm_trove_numbers *numbers)
{
    numbers->rank = 0;
    numbers->next = 0;
    numbers->left = numbers->n_ranks > 0 ? numbers->documents[0] : 0;
}

bm_status bm_trove_numbers_load(bm_trove_numbers *numbers, const bm_export_block *block,
                                bm_error *err)
{
    if (!bm_sign_dir_has_bytes(numbers->dir))
        return BM_OK;
    BM_TRY(bm_grow_array(&numbers->bytes, &numbers->cap_bytes, block->n, err));
    return bm_sign_dir_n_bytes(numbers->dir, block->first, block->n, numbers->bytes, err);
}

bool bm_trove_numbers_rank_ends(bm_trove_numbers *numbers)
{
    if (numbers->left > 0 || numbers->rank == numbers->n_ranks)
        return false;
    numbers->rank++;
    numbers->next = 0;
    numbers->left = numbers->rank < numbers->n_ranks ? numbers->documents[numbers->rank] : 0;
    return true;
}

uint32_t bm_trove_numbers_take(bm_trove_numbers *numbers, size_t i)
{
    numbers->left--;
    if (numbers->bytes != NULL && numbers->bytes[i] == 0)
        return BM_TROVE_NO_NUMBER;
    return numbers->next++;
}
