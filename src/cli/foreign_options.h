/* foreign_options.h -- what datasketch, datatrove, NeMo Curator, text-dedup and GNU tools call our
 * options: a word of theirs is answered with ours. */
#ifndef BM_CLI_FOREIGN_OPTIONS_H
#define BM_CLI_FOREIGN_OPTIONS_H

#include "cli/args.h"

enum { CLI_N_FOREIGN_OPTIONS = 103 };

extern const arg_foreign cli_foreign_options[CLI_N_FOREIGN_OPTIONS];

#endif
