/* index_info.c -- what stands in an index: its settings as they are written there, and what it counts.
 *
 * Tests: tests/cli/cases/index_build.sh, tests/unit/jobs/test_public_api_index.c */
#include <bandmill/index.h>

#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "json/json_scan.h"
#include "json/json_write.h"
#include "index/index_place.h"
#include "store/store_view.h"

/* The members of the settings, in the layout of the whole. */
static void write_settings(bm_json *json, bm_str settings)
{
    bm_str key, value;
    size_t at = 0;
    while (bm_json_scan_member(settings, &at, &key, &value)) {
        char name[64];
        if (key.len < 2 || key.len - 2 >= sizeof name)
            continue;
        memcpy(name, key.data + 1, key.len - 2);
        name[key.len - 2] = '\0';
        bm_json_key(json, name);
        bm_json_scan_copy(value, json);
    }
}

static void write_counts(bm_json *json, const bm_store_counts *counts)
{
    bm_json_key(json, "counts");
    bm_json_begin_object(json);
    bm_json_key_uint(json, "documents", counts->documents);
    bm_json_key_uint(json, "removed", counts->removed);
    bm_json_key_uint(json, "empty", counts->empty);
    bm_json_key_uint(json, "shingles", counts->shingles);
    bm_json_key_uint(json, "text_bytes", counts->text_bytes);
    bm_json_end_object(json);
    bm_json_key(json, "file");
    bm_json_begin_object(json);
    bm_json_key_uint(json, "format", BM_STORE_VERSION);
    bm_json_key_uint(json, "runs", counts->runs);
    bm_json_key_uint(json, "bytes", counts->file_bytes);
    bm_json_key_uint(json, "free_bytes", counts->free_bytes);
    bm_json_end_object(json);
}

static bm_status describe(bm_store *store, char **out, bm_error *err)
{
    bm_json json = {.pretty = true};
    bm_store_view *view = NULL;
    BM_TRY(bm_store_view_open(store, &view, err));
    const bm_store_counts counts = bm_store_view_counts(view);
    bm_json_begin_object(&json);
    write_settings(&json, bm_store_facts_of(store)->settings);
    write_counts(&json, &counts);
    bm_json_end_object(&json);
    bm_store_view_close(view);
    bm_status status = bm_json_finish(&json, err);
    if (status == BM_OK)
        *out = json.buf.data;
    else
        bm_buf_reset(&json.buf);
    return status;
}

bm_status bm_index_info(const char *path, char **json, bm_error *err)
{
    char found[PATH_MAX];
    bm_store *store = NULL;
    const bm_store_cfg cfg = {.mode = BM_STORE_READ};
    if (path == NULL)
        return bm_fail_field(err, "path", "no index given");
    if (json == NULL)
        return bm_fail_field(err, "json", "no place for the text given");
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_index_find(path, found, sizeof found, err));
    BM_TRY_OUT(bm_store_open(found, &cfg, &store, err));
    status = describe(store, json, err);
out:
    bm_store_close(store);
    return status;
}
