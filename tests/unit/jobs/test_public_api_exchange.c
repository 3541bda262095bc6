/* SPDX-License-Identifier: Apache-2.0 */
/* bandmill/exchange.h: its calls with options that are too short or too long, have invalid values
 * or lack pointers. */
#include "tests/unit/jobs/public_api.h"

API_INIT(export, bm_export_options)

static void fill_export(void *options)
{
    bm_export_options *o = options;
    o->path = "/nonexistent/signed";
    o->output.path = "/nonexistent/output";
    o->to = BM_EXCHANGE_NPY;
}

static bm_status call_export(const void *options, bm_error *err)
{
    bm_summary *summary = NULL;
    return bm_job_export((const bm_export_options *)options, &summary, err);
}

static const api_field export_enums[] = {ENUM(bm_export_options, to, BM_EXCHANGE_PARQUET, "to"),
                                         ENUM(bm_export_options, what, BM_EXPORT_BANDS, "what")};
static const api_field export_reserved[] = {
    RESERVED(bm_export_options, bands.reserved, "bands"),
    RESERVED(bm_export_options, resources.reserved, "resources"),
    RESERVED(bm_export_options, output.reserved, "output"),
    RESERVED(bm_export_options, callbacks.reserved, "callbacks")};
static const api_mistake export_mistakes[] = {
    {"path", {SET(bm_export_options, path, NULL)}},
    {"output", {SET(bm_export_options, output.path, NULL)}},
    {"threads", {SET(bm_export_options, resources.threads, BM_THREADS_MAX + 1)}}};

Test(public_api_exchange, export_checks_its_options)
{
    API_CHECK(export, bm_export_options, sizeof(bm_export_options), BM_ERR_IO);
}

static const char *const nowhere[] = {"/nonexistent/words.npy"};

API_INIT(import, bm_import_options)

static void fill_import(void *options)
{
    bm_import_options *o = options;
    o->paths = nowhere;
    o->n_paths = 1;
    o->output.path = "/nonexistent/output";
}

static bm_status call_import(const void *options, bm_error *err)
{
    bm_summary *summary = NULL;
    return bm_job_import((const bm_import_options *)options, &summary, err);
}

static const api_field import_enums[] = {
    ENUM(bm_import_options, duplicate_ids, BM_DUPLICATE_IDS_NUMBER, "duplicate_ids"),
    ENUM(bm_import_options, text.words, BM_WORDS_TEXT_DEDUP, "words"),
    ENUM(bm_import_options, text.short_rule, BM_SHORT_SKIP, "short_rule")};
static const api_field import_reserved[] = {
    TEXT_RESERVED(bm_import_options), SKETCH_RESERVED(bm_import_options),
    RESERVED(bm_import_options, resources.reserved, "resources"),
    RESERVED(bm_import_options, output.reserved, "output"),
    RESERVED(bm_import_options, callbacks.reserved, "callbacks")};
static const api_mistake import_mistakes[] = {
    {"paths", {SET(bm_import_options, paths, NULL)}},
    {"paths", {SET(bm_import_options, n_paths, 0)}},
    {"output", {SET(bm_import_options, output.path, NULL)}},
    {"from", {SET(bm_import_options, from, BM_EXCHANGE_MILVUS)}},
    {"to", {SET(bm_import_options, from, (bm_exchange)99)}},
    {"id_field", {SET(bm_import_options, id_field, "id")}},
    {"signature_field", {SET(bm_import_options, signature_field, "words")}},
    {"set_fields", {SET(bm_import_options, set_fields, UINT64_MAX)}},
    {"threads", {SET(bm_import_options, resources.threads, BM_THREADS_MAX + 1)}}};

Test(public_api_exchange, import_checks_its_options)
{
    API_CHECK(import, bm_import_options, sizeof(bm_import_options), BM_ERR_IO);
}
