/* listed_pairs.c -- the report of the same folder, asked for the file's name.
 *
 * Tests: tests/cli/cases/damaged_outputs.sh, tests/cli/cases/cluster.sh */
#include "pipeline/jobs/listed_pairs.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/file_names.h"

#define REPORT_BYTES ((uint64_t)256 << 20) /* that it may take; a larger one lists nothing */

bm_status bm_listed_pairs_open(const char *path, bm_listed_pairs *out, bm_error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    char *report = NULL;
    *out = (bm_listed_pairs){0};
    bm_status status =
        bm_string_format(&report, err, "%.*s" BM_FILE_REPORT, (int)(name - path), path);
    if (status == BM_OK && bm_manifest_open(report, REPORT_BYTES, &out->report, NULL) == BM_OK &&
        bm_manifest_output_find(out->report, name) != NULL)
        status = bm_listed_open(out->report, name, path, &out->listed, err);
    bm_free(report);
    if (status != BM_OK)
        bm_listed_pairs_close(out);
    return status;
}

void bm_listed_pairs_close(bm_listed_pairs *pairs)
{
    bm_listed_close(pairs->listed);
    bm_manifest_close(pairs->report);
    *pairs = (bm_listed_pairs){0};
}
