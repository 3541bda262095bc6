/* offers.h -- what a shell may offer for a value or an operand, read from the table of options.
 *
 * The words of a choice are in the library; `offer` of an option's row adds what those do not say (see
 * cli/args_value.h); and the name of the value, or of the operands, says what kind of path it is:
 *
 *   DIR, INDEX       directories
 *   INPUT, QUERY     directories, and files whose name ends like a format's
 *   FILE, PATH       any files
 *   PAIRS.tsv        files that end in .tsv
 *   COMMAND          commands
 *   en (of en|FILE)  the word itself */
#ifndef BM_PAGES_OFFERS_H
#define BM_PAGES_OFFERS_H

#include "cli/args_value.h"

typedef struct shell_offer {
    char words[1024];   /* by blanks */
    char endings[1024]; /* of files, by blanks: ".svg .tsv"; with `files` too, these are better */
    bool list;          /* several words, separated by commas */
    bool files, dirs, devices, commands;
} shell_offer;

void offer_of_option(const arg_option *option, shell_offer *out);
void offer_of_operands(const char *operands, shell_offer *out);
/* Whether an argument, or the text behind "=", belongs to the option. */
bool offer_takes_value(const arg_option *option);

#endif
