/* json_read.c -- fields of a document of ours: what json_exact.c has accepted is walked by json_scan.c. */
#include "json/json_read.h"

#include "base/error.h"
#include "json/json_exact.h"
#include "json/json_scan.h"
#include "json/json_simd.h"

bm_status bm_json_doc_check(const bm_json_doc *doc, bm_error *err)
{
    bm_json_exact *exact = NULL;
    const char *broken = NULL;
    BM_TRY(bm_json_exact_open(NULL, 0, &exact, err));
    bm_status status = bm_json_exact_run(exact, doc->text, NULL, &broken, err);
    if (status == BM_OK && broken != NULL)
        status = bm_fail_at(err, BM_ERR_FORMAT, doc->path, 0, "%s", broken);
    bm_json_exact_close(exact);
    return status;
}

static bm_status lacks(const bm_json_doc *doc, const char *type, const char *field, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_FORMAT, doc->path, 0, "no %s in field '%s'", type, field);
}

/* The text of the number at a field. */
static bm_status find_number(const bm_json_doc *doc, const char *field, bm_str *out, bm_error *err)
{
    if (!bm_json_scan_path(doc->text, field, out) ||
        (out->data[0] != '-' && (out->data[0] < '0' || out->data[0] > '9')))
        return lacks(doc, "number", field, err);
    return BM_OK;
}

bm_status bm_json_doc_string(const bm_json_doc *doc, const char *field, bm_buf *out, bm_error *err)
{
    bm_str quoted;
    if (!bm_json_scan_path(doc->text, field, &quoted) || quoted.data[0] != '"')
        return lacks(doc, "string", field, err);
    BM_TRY(bm_json_scan_string(quoted, out, err));
    return bm_buf_end(out, err);
}

bm_status bm_json_doc_uint(const bm_json_doc *doc, const char *field, uint64_t *out, bm_error *err)
{
    bm_str text;
    BM_TRY(find_number(doc, field, &text, err));
    if (bm_json_scan_uint(text, out))
        return BM_OK;
    return bm_fail_at(err, BM_ERR_FORMAT, doc->path, 0,
                      "field '%s' is no whole number from 0 to 2^64-1", field);
}

bm_status bm_json_doc_double(const bm_json_doc *doc, const char *field, double *out, bm_error *err)
{
    bm_str text;
    BM_TRY(find_number(doc, field, &text, err));
    if (bm_simd_double(text, out))
        return BM_OK;
    return bm_fail_at(err, BM_ERR_FORMAT, doc->path, 0, "field '%s' is out of range", field);
}
