/* export_form.c -- a row a form.
 *
 * Tests: tests/cli/cases/export.sh, tests/reference/test_exchange.py */
#include "base/error.h"
#include "model/option_names.h"
#include "pipeline/exchange/exporter.h"

static const bm_export_form forms[] = {
    {BM_EXCHANGE_LEANMINHASH, 0, 0, 0, bm_export_lean_takes, "affine32, affine64 or legacy",
     bm_export_lean},
    {BM_EXCHANGE_DATATROVE, BM_FORM_OF_BANDS | BM_FORM_BY_DOCUMENT, 14, 8, NULL, NULL,
     bm_export_datatrove},
    {BM_EXCHANGE_MILVUS, 0, 0, 0, NULL, NULL, bm_export_milvus},
    {BM_EXCHANGE_NPY, BM_FORM_HAS_KEYS, 0, 0, NULL, NULL, bm_export_npy},
    {BM_EXCHANGE_TSV, BM_FORM_HAS_KEYS | BM_FORM_HAS_IDS | BM_FORM_HAS_SIZES, 0, 0, NULL, NULL,
     bm_export_tsv},
};

const bm_export_form *bm_export_form_of(bm_exchange to)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (forms[i].to == to)
            return &forms[i];
    return NULL;
}

bm_status bm_export_form_check(const bm_export_form *form, const bm_settings *settings,
                               bm_error *err)
{
    const char *scheme = bm_option_word(BM_OPTION_SCHEME, settings->sketch.scheme);
    if (form->takes == NULL || form->takes(scheme))
        return BM_OK;
    return bm_fail_field(err, "to", "`to` %s has no place for signatures of the scheme %s (%s)",
                         bm_option_word(BM_OPTION_EXCHANGE, form->to), scheme, form->taken);
}
