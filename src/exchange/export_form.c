/* export_form.c -- a row a form.
 *
 * Tests: tests/cli/cases/export.sh, tests/reference/test_exchange.py */
#include "base/error.h"
#include "model/option_names.h"
#include "exchange/exporter.h"

#define HAS_ALL (BM_FORM_HAS_IDS | BM_FORM_HAS_SIZES | BM_FORM_HAS_PROVENANCE)

static const bm_export_form forms[] = {
    {.to = BM_EXCHANGE_LEANMINHASH,
     .takes = bm_export_lean_takes,
     .taken = "affine32, affine64 or legacy",
     .write = bm_export_lean},
    {.to = BM_EXCHANGE_DATATROVE,
     .has = BM_FORM_OF_BANDS | BM_FORM_BY_DOCUMENT,
     .bands = 14,
     .rows = 8,
     .takes = bm_export_datatrove_takes,
     .taken = "words below 2^61 - 1: any but affine64",
     .write = bm_export_datatrove},
    {.to = BM_EXCHANGE_NEMO, .write = bm_export_table},
    {.to = BM_EXCHANGE_TEXT_DEDUP, .has = BM_FORM_OF_BANDS, .write = bm_export_table},
    {.to = BM_EXCHANGE_MILVUS, .write = bm_export_milvus},
    {.to = BM_EXCHANGE_LANCE, .has = HAS_ALL, .write = bm_export_table},
    {.to = BM_EXCHANGE_NPY, .has = BM_FORM_HAS_KEYS, .write = bm_export_npy},
    {.to = BM_EXCHANGE_TSV,
     .has = BM_FORM_HAS_KEYS | BM_FORM_HAS_IDS | BM_FORM_HAS_SIZES,
     .write = bm_export_tsv},
    {.to = BM_EXCHANGE_ARROW, .has = HAS_ALL | BM_FORM_HAS_KEYS, .write = bm_export_table},
    {.to = BM_EXCHANGE_PARQUET, .has = HAS_ALL | BM_FORM_HAS_KEYS, .write = bm_export_table},
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
