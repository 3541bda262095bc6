/* import_settle.h -- how imported signatures were made: by what their file says, and by the options. */
#ifndef BM_EXCHANGE_IMPORT_SETTLE_H
#define BM_EXCHANGE_IMPORT_SETTLE_H

#include "job/settings.h"
#include "exchange/import_source.h"

/* As bm_settings_of_export. */
bm_status bm_settings_of_import(const bm_import_options *options, bm_settings *out,
                                bm_import_options *taken, bm_error *err);
/* Put it into the settings, which borrow from the head's manifest. BM_ERR_USAGE names an option that
 * contradicts the file, or that is missing. */
bm_status bm_import_settle(const bm_import_source *first, bm_settings *settings, bm_error *err);
/* Was another file made in the same way? BM_ERR_FORMAT: no. */
bm_status bm_import_check_same(const bm_import_source *first, const bm_import_source *other,
                               bm_error *err);

#endif
