/* page_inputs.c -- every input is digested before any text of it is looked at: what stands on the page is
 * what dedup has read, or it does not stand there.
 *
 * Tests: tests/cli/cases/report.sh */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/input/input_digest.h"
#include "pipeline/context/input_finder.h"
#include "pipeline/page/page_texts.h"

static bool is_of_input(bm_status status)
{
    return status == BM_ERR_IO || status == BM_ERR_FORMAT || status == BM_ERR_INPUT;
}

static bm_status check_bytes(const bm_manifest_input *input, const char *path,
                             const bm_callbacks *callbacks, bm_error *err)
{
    bm_hash128 digest;
    char hex[BM_INPUT_DIGEST_HEX];
    const bm_status status = bm_input_digest_file(path, callbacks, &digest, err);
    if (status != BM_OK)
        return status;
    bm_input_digest_hex(digest, hex);
    return strcmp(hex, input->xxh3_128) == 0
               ? BM_OK
               : bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                            "the file is not the one that dedup has read (its bytes differ)");
}

static bm_status check_input(const bm_settings *settings, bm_page_content *content, size_t i,
                             bm_error *err)
{
    const bm_manifest_input *input = bm_manifest_input_at(content->manifest, i);
    const bm_input_places places = {.manifest = bm_manifest_path(content->manifest),
                                    .sources = settings->recorded.sources,
                                    .callbacks = &settings->callbacks};
    bm_page_source *source = &content->sources[i];
    bm_error why = {0};
    char message[2100];
    bm_status status = bm_input_find(input, &places, &source->path, &why);
    if (status == BM_OK)
        status = check_bytes(input, source->path, &settings->callbacks, &why);
    if (status == BM_OK)
        return BM_OK;
    if (!is_of_input(status)) {
        if (err != NULL)
            *err = why;
        return status;
    }
    bm_free(source->path);
    source->path = NULL;
    bm_error_format(&why, message, sizeof message);
    source->gone = bm_strdup(message);
    content->n_gone++;
    return source->gone != NULL ? BM_OK : bm_fail_nomem(err, strlen(message));
}

bm_status bm_page_check_inputs(const bm_settings *settings, bm_page_content *content, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < bm_manifest_n_inputs(content->manifest); i++)
        status = check_input(settings, content, i, err);
    return status;
}
