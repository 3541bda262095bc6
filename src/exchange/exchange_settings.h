/* exchange_settings.h -- the options of exports and imports as settings. */
#ifndef BM_EXCHANGE_EXCHANGE_SETTINGS_H
#define BM_EXCHANGE_EXCHANGE_SETTINGS_H

#include <bandmill/exchange.h>

#include "exchange/exporter.h"

/* As bm_settings_of_sign. `taken`: the options as this version has them, for their paths. */
bm_status bm_settings_of_export(const bm_export_options *options, bm_settings *out,
                                bm_export_options *taken, bm_error *err);
/* Once the manifest has settled how the documents were signed: bands for the form, if it needs any. */
bm_status bm_export_settle_plan(const bm_export_form *form, const bm_manifest *manifest,
                                bm_settings *settings, bm_error *err);

#endif
