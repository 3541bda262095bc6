/* set_fields.h -- which fields of the library's options were set on purpose, by options that were
 * given. */
#ifndef BM_CLI_SET_FIELDS_H
#define BM_CLI_SET_FIELDS_H

#include "cli/option_settings.h"

/* BM_FIELD_* bits, for the set_fields of calls that may be given signatures. */
uint64_t cli_set_fields(const cli_settings *settings);

#endif
