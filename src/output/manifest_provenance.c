/* manifest_provenance.c -- how documents were read and signed: a loop over the fields.
 *
 * Tests: tests/unit/results/test_sign_dir.c */
#include "output/manifest_provenance.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "json/json_scan.h"

#define PROVENANCE (BM_FIELD_SIGNED | BM_FIELD_READ)

static bm_status read_text_fields(bm_manifest_fields *fields, bm_str object, bm_provenance *out,
                                  bm_error *err)
{
    bm_str list, item;
    size_t at = 0, cap = 0, n = 0;
    if (!bm_json_scan_find(object, "text_fields", &list) || list.data[0] != '[')
        return bm_manifest_field_bad(fields, "text_fields", "expected a list of names", err);
    while (bm_json_scan_element(list, &at, &item)) {
        BM_TRY(bm_grow_array(&fields->text_fields, &cap, n + 1, err));
        const bm_status status =
            bm_manifest_field_own(fields, item, false, &fields->text_fields[n], err);
        if (status == BM_ERR_FORMAT)
            return bm_manifest_field_bad(fields, "text_fields", "expected a list of names", err);
        BM_TRY(status);
        n++;
    }
    out->text_fields = fields->text_fields;
    out->n_text_fields = n;
    return BM_OK;
}

/* Older manifests lack some fields that may be null. */
static bm_status read_field(bm_manifest_fields *fields, bm_str object, const bm_field_row *field,
                            bm_provenance *p, bm_error *err)
{
    const size_t row = (size_t)(field - bm_field_rows);
    bm_str value;
    if ((field->uses & BM_FIELD_NULLABLE) &&
        (!bm_json_scan_find(object, field->key, &value) || bm_json_scan_is(value, "null")))
        return BM_OK;
    switch (field->type) {
    case BM_FIELD_TYPE_TEXTS:
        return read_text_fields(fields, object, p, err);
    case BM_FIELD_TYPE_UINT32:
    case BM_FIELD_TYPE_UINT64:
        return bm_manifest_field_uint(fields, object, field->key, &p->numbers[row], err);
    case BM_FIELD_TYPE_BOOL:
        return bm_json_scan_uint(value, &p->numbers[row]) && p->numbers[row] <= 1
                   ? BM_OK
                   : bm_manifest_field_bad(fields, field->key, "expected 0 or 1", err);
    default:
        return bm_manifest_field_string(fields, object, field->key, &p->texts[row], err);
    }
}

/* What tables alone have: a header or none, and one character between cells. */
static bm_status check_table(const bm_manifest_fields *fields, const bm_provenance *p,
                             bm_error *err)
{
    const char *header = p->texts[BM_ROW_HEADER];
    if (header != NULL && strcmp(header, "yes") != 0 && strcmp(header, "no") != 0)
        return bm_manifest_field_bad(fields, "header", "expected \"yes\", \"no\" or null", err);
    for (size_t i = 0; i < BM_N_ROWS; i++) {
        const char *text = p->texts[i];
        if (bm_field_rows[i].type == BM_FIELD_TYPE_CHARACTER && text != NULL &&
            (strlen(text) > 1 || !bm_field_is_character(text[0])))
            return bm_manifest_field_bad(fields, bm_field_rows[i].key,
                                         "expected one character or null", err);
    }
    return BM_OK;
}

bm_status bm_provenance_read(bm_manifest_fields *fields, bm_str object, bm_provenance *p,
                             bm_error *err)
{
    p->weights_digest = "";
    for (size_t i = 0; i < BM_N_ROWS; i++)
        if (bm_field_rows[i].uses & PROVENANCE)
            BM_TRY(read_field(fields, object, &bm_field_rows[i], p, err));
    BM_TRY(bm_manifest_field_string(fields, object, "unicode", &p->unicode, err));
    BM_TRY(bm_manifest_field_string(fields, object, "utf8proc_unicode", &p->utf8proc_unicode, err));
    BM_TRY(bm_manifest_field_uint(fields, object, "format", &p->format, err));
    if (p->texts[BM_ROW_WEIGHTS] != NULL) {
        BM_TRY(bm_manifest_field_string(fields, object, "weights_digest", &p->weights_digest, err));
        BM_TRY(bm_manifest_field_uint(fields, object, "weights_documents", &p->weights_documents,
                                      err));
    } else {
        p->texts[BM_ROW_WEIGHTS] = "none";
    }
    return check_table(fields, p, err);
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

/* Weights decide the scheme, so they are compared first. */
bool bm_provenance_same(const bm_provenance *a, const bm_provenance *b, const char **key)
{
    *key = !same_text(a->texts[BM_ROW_WEIGHTS], b->texts[BM_ROW_WEIGHTS]) ? "weights"
           : !same_text(a->weights_digest, b->weights_digest)             ? "weights_digest"
                                                                          : NULL;
    for (size_t i = 0; i < BM_N_ROWS && *key == NULL; i++)
        if ((bm_field_rows[i].uses & BM_FIELD_SIGNED) &&
            (!same_text(a->texts[i], b->texts[i]) || a->numbers[i] != b->numbers[i]))
            *key = bm_field_rows[i].key;
    if (*key == NULL && !same_text(a->unicode, b->unicode))
        *key = "unicode";
    if (*key == NULL && !same_text(a->utf8proc_unicode, b->utf8proc_unicode))
        *key = "utf8proc_unicode";
    if (*key == NULL && a->format != b->format)
        *key = "format";
    return *key == NULL;
}

const char *bm_provenance_reads(const bm_provenance *a, const bm_provenance *b)
{
    for (size_t i = 0; i < BM_N_ROWS; i++) {
        if (!(bm_field_rows[i].uses & BM_FIELD_READ))
            continue;
        /* A missing id field is no empty name. */
        if ((a->texts[i] == NULL) != (b->texts[i] == NULL) ||
            !same_text(a->texts[i], b->texts[i]) || a->numbers[i] != b->numbers[i])
            return bm_field_rows[i].key;
        if (bm_field_rows[i].type != BM_FIELD_TYPE_TEXTS)
            continue;
        bool same = a->n_text_fields == b->n_text_fields;
        for (size_t k = 0; same && k < a->n_text_fields; k++)
            same = strcmp(a->text_fields[k], b->text_fields[k]) == 0;
        if (!same)
            return bm_field_rows[i].key;
    }
    return NULL;
}
