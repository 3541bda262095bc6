/* args.h -- the argument table engine: options are rows of a table, not code.
 *
 * A row says the long name, an optional letter, the type and range of the value, which commands
 * take it and where the value goes (an offset into the caller's struct). args_parse walks the
 * arguments once:
 *
 *   --name value  --name=value  -o value  -ovalue  -qv   "--" ends the options   "-" is an operand
 *
 * Anything that is not understood is an error that names the option, the value and what was
 * expected. A value in an argument of its own never starts with "--" (that would be a forgotten
 * value); --name=--value passes one. The last of equal options counts, lists grow. */
#ifndef BM_CLI_ARGS_H
#define BM_CLI_ARGS_H

#include "cli/args_value.h"

/* What other tools call something, for those who come from them. */
typedef struct arg_foreign {
    const char *word;    /* without "--"; in any case, with '_' for '-' too */
    const char *option;  /* the name of ours; NULL: it is none */
    const char *instead; /* what to write: "--shingle word:N" */
} arg_foreign;

typedef struct arg_table {
    const arg_option *options;
    size_t n;
    const char *const *commands; /* names by bit, for "an option of ..." */
    size_t n_commands;
    const arg_foreign *foreign;
    size_t n_foreign;
} arg_table;

typedef struct arg_request {
    const arg_table *table;
    unsigned command;   /* the bit of the command that runs */
    void *target;       /* what the offsets count from */
    bool *given;        /* table->n flags: which options were there; filled */
    arg_list *operands; /* what is no option */
} arg_request;

/* argv[0] is the first argument after the command. BM_OK or BM_ERR_USAGE; the target may then be
 * half filled. */
bm_status args_parse(const arg_request *request, int argc, const char *const *argv, bm_error *err);
/* *out: where the first argument stands that is neither an option, of whatever command, nor its
 * value: the command. argc: there is none. BM_ERR_USAGE: an option before it that no command has. */
bm_status args_find_operand(const arg_table *table, int argc, const char *const *argv, int *out,
                            bm_error *err);
/* Whether the option of this name was given. */
bool args_given(const arg_table *table, const bool *given, const char *name);
/* The candidate nearest to `word` (edit distance at most a third of its length), or NULL. */
const char *args_nearest(const char *word, const char *const *candidates, size_t n);

#endif
