/* settings_keys.h -- what may be asked for of band keys that were made elsewhere. */
#ifndef BM_CONTEXT_SETTINGS_KEYS_H
#define BM_CONTEXT_SETTINGS_KEYS_H

#include "pipeline/context/settings.h"

/* Settings of pairs; where their format is BM_FORMAT_KEYS: BM_ERR_USAGE names the field that asks for what keys cannot
 * give, or that means nothing for them. A field asks where it differs from its default or has its
 * bit in recorded.set_fields. */
bm_status bm_settings_check_keys(const bm_settings *settings, bm_error *err);

#endif
