/* manifest_provenance.c -- how documents were read and signed, field by field.
 *
 * Tests: tests/unit/io_arrays/test_sign_dir.c */
#include "io/manifest/manifest_provenance.h"

#include <string.h>

#include "base/memory.h"
#include "io/json/json_scan.h"

static bm_status read_text_fields(bm_manifest_fields *fields, bm_str object, bm_provenance *out,
                                  bm_error *err)
{
    bm_str list, item;
    size_t at = 0, cap = 0, n = 0;
    if (!bm_json_scan_find(object, "text_fields", &list) || list.data[0] != '[')
        return bm_manifest_field_bad(fields, "text_fields", "expected a list of names", err);
    while (bm_json_scan_element(list, &at, &item)) {
        bm_status status = bm_grow_array(&fields->text_fields, &cap, n + 1, err);
        if (status == BM_OK)
            status = bm_manifest_field_own(fields, item, false, &fields->text_fields[n], err);
        if (status == BM_ERR_FORMAT)
            return bm_manifest_field_bad(fields, "text_fields", "expected a list of names", err);
        if (status != BM_OK)
            return status;
        n++;
    }
    out->text_fields = fields->text_fields;
    out->n_text_fields = n;
    return BM_OK;
}

/* Older manifests do not have them. */
static bm_status read_elements(bm_manifest_fields *fields, bm_str object, bm_provenance *p,
                               bm_error *err)
{
    bm_str value;
    if (bm_json_scan_find(object, "bag", &value)) {
        uint64_t bag = 0;
        if (!bm_json_scan_uint(value, &bag) || bag > 1)
            return bm_manifest_field_bad(fields, "bag", "expected 0 or 1", err);
        p->elements.bag = bag == 1;
    }
    if (!bm_json_scan_find(object, "stopwords", &value) || bm_json_scan_is(value, "null"))
        return BM_OK;
    return bm_manifest_field_string(fields, object, "stopwords", &p->elements.stopwords, err);
}

static bm_status read_weights(bm_manifest_fields *fields, bm_str object,
                              struct bm_provenance_weights *out, bm_error *err)
{
    bm_status status = bm_manifest_field_string(fields, object, "weights", &out->word, err);
    if (status == BM_OK)
        status = bm_manifest_field_string(fields, object, "weights_digest", &out->digest, err);
    return status == BM_OK
               ? bm_manifest_field_uint(fields, object, "weights_documents", &out->documents, err)
               : status;
}

bm_status bm_provenance_read(bm_manifest_fields *fields, bm_str object, bm_provenance *p,
                             bm_error *err)
{
    const struct {
        const char *key, **to;
    } texts[] = {
        {"scheme", &p->scheme},
        {"hash", &p->hash},
        {"normalize", &p->normalize},
        {"words", &p->words},
        {"shingle", &p->shingle},
        {"short", &p->elements.short_rule},
        {"unicode", &p->unicode},
        {"utf8proc_unicode", &p->utf8proc_unicode},
        {"input_format", &p->input_format},
        {"duplicate_ids", &p->duplicate_ids},
        {"on_error", &p->on_error},
        {"invalid_utf8", &p->invalid_utf8},
    };
    const struct {
        const char *key;
        uint64_t *to;
    } numbers[] = {{"seed", &p->seed},
                   {"perms", &p->perms},
                   {"format", &p->format},
                   {"max_doc_bytes", &p->max_doc_bytes}};
    bm_status status = BM_OK;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && status == BM_OK; i++)
        status = bm_manifest_field_string(fields, object, texts[i].key, texts[i].to, err);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && status == BM_OK; i++)
        status = bm_manifest_field_uint(fields, object, numbers[i].key, numbers[i].to, err);
    if (status == BM_OK)
        status = read_text_fields(fields, object, p, err);
    if (status == BM_OK)
        status = read_elements(fields, object, p, err);
    if (status != BM_OK)
        return status;
    bm_str value;
    p->elements.weights = (struct bm_provenance_weights){"none", "", 0};
    if (bm_json_scan_find(object, "weights", &value))
        status = read_weights(fields, object, &p->elements.weights, err);
    if (status == BM_OK && bm_json_scan_find(object, "id_field", &value) &&
        !bm_json_scan_is(value, "null"))
        status = bm_manifest_field_string(fields, object, "id_field", &p->id_field, err);
    p->table.header = -1;
    if (status == BM_OK && bm_json_scan_find(object, "header", &value) &&
        !bm_json_scan_is(value, "null")) {
        if (!bm_json_scan_is(value, "\"yes\"") && !bm_json_scan_is(value, "\"no\""))
            return bm_manifest_field_bad(fields, "header", "expected \"yes\", \"no\" or null", err);
        p->table.header = value.len == 5;
    }
    const char *delimiter = "";
    if (status == BM_OK && bm_json_scan_find(object, "delimiter", &value) &&
        !bm_json_scan_is(value, "null"))
        status = bm_manifest_field_string(fields, object, "delimiter", &delimiter, err);
    if (status == BM_OK && (strlen(delimiter) > 1 || strpbrk(delimiter, "\"\r\n") != NULL ||
                            (unsigned char)delimiter[0] >= 0x80))
        status = bm_manifest_field_bad(fields, "delimiter", "expected one character or null", err);
    p->table.delimiter = delimiter[0];
    return status;
}
