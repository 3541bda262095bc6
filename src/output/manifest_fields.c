/* manifest_fields.c -- every field is looked for by its name, and is of its type or refused.
 *
 * Tests: tests/unit/results/test_sign_dir.c, tests/cli/cases/bad_output.sh */
#include "output/manifest_fields.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "json/json_scan.h"
#include "output/manifest_text.h"

#define STRING_BYTES 96u /* of a string, and of what names it, beside its own */

bm_status bm_manifest_field_bad(const bm_manifest_fields *fields, const char *field,
                                const char *expected, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_FORMAT, fields->path, 0, "\"%s\" is missing or wrong (%s)", field,
                      expected);
}

bm_status bm_manifest_field_own(bm_manifest_fields *fields, bm_str value, bool escaped,
                                const char **out, bm_error *err)
{
    bm_buf text = {0};
    fields->string_bytes += value.len + STRING_BYTES;
    if (fields->room.memory != 0 &&
        fields->text_bytes + fields->string_bytes > fields->room.memory / fields->room.share)
        return bm_manifest_too_large(fields->path, fields->text_bytes, fields->room.share, true,
                                     err);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_grow_array(&fields->strings, &fields->cap_strings, fields->n_strings + 1, err));
    BM_TRY_OUT(bm_json_scan_string(value, &text, err));
    BM_TRY_OUT(bm_buf_reserve(&text, 1, err));
    if (escaped && text.len > 0) {
        text.len = bm_tsv_unescape(text.data, text.len);
        if (text.len == SIZE_MAX) {
            text.len = 0;
            BM_TRY_OUT(bm_fail(err, BM_ERR_FORMAT, "a name has a broken escape"));
        }
    }
    if (text.len > 0 && memchr(text.data, '\0', text.len) != NULL)
        BM_TRY_OUT(bm_fail(err, BM_ERR_FORMAT, "a text holds a NUL"));
    status = bm_buf_end(&text, err);
out:
    if (status != BM_OK) {
        bm_buf_reset(&text);
        return status;
    }
    *out = fields->strings[fields->n_strings++] = text.data;
    return BM_OK;
}

bm_status bm_manifest_field_string(bm_manifest_fields *fields, bm_str object, const char *key,
                                   const char **out, bm_error *err)
{
    bm_str value;
    if (!bm_json_scan_find(object, key, &value) || value.len < 2 || value.data[0] != '"')
        return bm_manifest_field_bad(fields, key, "expected a string", err);
    bm_status status = bm_manifest_field_own(fields, value, false, out, err);
    return status == BM_ERR_FORMAT ? bm_manifest_field_bad(fields, key, "expected a string", err)
                                   : status;
}

bm_status bm_manifest_field_uint(const bm_manifest_fields *fields, bm_str object, const char *key,
                                 uint64_t *out, bm_error *err)
{
    bm_str value;
    if (!bm_json_scan_find(object, key, &value) || !bm_json_scan_uint(value, out))
        return bm_manifest_field_bad(fields, key, "expected a whole number", err);
    return BM_OK;
}

void bm_manifest_fields_reset(bm_manifest_fields *fields)
{
    for (size_t i = 0; i < fields->n_strings; i++)
        bm_free(fields->strings[i]);
    bm_free(fields->strings);
    bm_free(fields->text_fields);
    bm_free(fields->path);
}
