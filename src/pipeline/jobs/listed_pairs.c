/* listed_pairs.c -- the report of the same folder, asked for the file's name.
 *
 * Tests: tests/reference/test_cluster.py, tests/cli/cases/damaged_outputs.sh, tests/cli/cases/cluster.sh */
#include "pipeline/jobs/listed_pairs.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/file_names.h"

#define REPORT_BYTES ((uint64_t)1 << 30) /* that it may take */

/* What the job was. */
static bm_status read_parameters(bm_listed_pairs *out, bm_error *err)
{
    bm_result_facts f;
    bm_result_facts_begin(&f, out->report, err);
    out->threshold = bm_result_facts_double(&f, "parameters.threshold");
    out->stars = bm_result_facts_word(&f, BM_OPTION_CLUSTER) == BM_CLUSTER_STAR;
    out->against = bm_result_is_against(out->report);
    return bm_result_facts_end(&f);
}

/* *out: the report beside a file; NULL: there is none, or one of somebody else. */
static bm_status open_report(const char *path, int folder_len, bm_manifest **out, bm_error *err)
{
    char *report = NULL;
    bm_error why = {0};
    *out = NULL;
    BM_TRY(bm_string_format(&report, err, "%.*s" BM_FILE_REPORT, folder_len, path));
    bm_status status = bm_manifest_open(report, REPORT_BYTES, out, &why);
    bm_free(report);
    if (status == BM_ERR_FORMAT ||
        (status == BM_ERR_IO && (why.code == ENOENT || why.code == ENOTDIR)))
        return BM_OK;
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

bm_status bm_listed_pairs_open(const char *path, bm_listed_pairs *out, bm_error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    *out = (bm_listed_pairs){0};
    if (strcmp(path, "-") == 0)
        return BM_OK;
    bm_status status = BM_OK;
    BM_TRY_OUT(open_report(path, (int)(name - path), &out->report, err));
    if (out->report != NULL && bm_manifest_output_find(out->report, name) != NULL)
        BM_TRY_OUT(bm_listed_open(out->report, name, path, &out->listed, err));
    if (out->listed != NULL)
        BM_TRY_OUT(read_parameters(out, err));
out:
    if (status != BM_OK)
        bm_listed_pairs_close(out);
    return status;
}

void bm_listed_pairs_close(bm_listed_pairs *pairs)
{
    bm_listed_close(pairs->listed);
    bm_manifest_close(pairs->report);
    bm_listed_docs_reset(&pairs->docs);
    *pairs = (bm_listed_pairs){0};
}
