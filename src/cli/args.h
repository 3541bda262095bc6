/* SPDX-License-Identifier: Apache-2.0 */
/* args.h -- the argument parser: options are rows of a table, not code.
 *
 * A row has the long name, an optional letter, the type and range of the value, the commands that
 * accept the option, and the offset of the value's field in the caller's struct. args_parse walks
 * the arguments once:
 *
 *   --name value  --name=value  -o value  -ovalue  -qv   "--" ends the options   "-" is an operand
 *
 * Anything that is not understood is an error that names the option, the value and what was
 * expected. A value in a separate argument cannot start with "--", which would mean that the value
 * is missing; --name=--value passes such a value. If an option is repeated, the last one counts;
 * lists grow. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>
#include <bandmill/option_names.h>

/* args_value -- the value of an option; used by the rest of args.h. */

typedef enum arg_type {
    ARG_FLAG,   /* bool: set */
    ARG_COUNT,  /* uint32_t: each occurrence increments it */
    ARG_TEXT,   /* const char *: not empty */
    ARG_LIST,   /* arg_list: each occurrence appends a text */
    ARG_CHOICE, /* int, an enum or bool (by size): the value of a word of args_choice */
    ARG_WHOLE,  /* uint32_t or uint64_t (by size): min … max */
    ARG_SIZE,   /* uint64_t: bytes, with K, KB, KiB, M … T for powers of 1024; min … max */
    ARG_REAL,   /* double: low … high; `open` excludes ends */
    ARG_PARSED, /* whatever `parse` fills */
    ARG_LATER   /* an option of a later version, or one whose purpose is served elsewhere, as `help`
                 * explains: always an error */
} arg_type;

enum { ARG_OPEN_LOW = 1, ARG_OPEN_HIGH = 2 }; /* the bound itself is not allowed */

/* Borrowed texts; `items` has space for every argument. */
typedef struct arg_list {
    const char **items;
    size_t n;
} arg_list;

/* A choice of the program's own; the library's choices come from bm_option_name. */
typedef struct arg_choice {
    const char *name; /* NULL ends the list */
    unsigned value;
} arg_choice;

/* Special words in arg_option.offer. */
#define ARG_OFFER_LIST    "%list"    /* one of `words`, or several separated by commas */
#define ARG_OFFER_KINDS   "%kinds"   /* one of `words`, each followed by a colon */
#define ARG_OFFER_DEVICES "%devices" /* devices as `devices` lists them, separated by commas */

typedef struct arg_option {
    const char *name; /* long name, without "--" */
    char letter;      /* 0: no letter */
    arg_type type;
    uint32_t commands; /* bit c: command c accepts it */
    int group;         /* group in the help text */
    const char *value; /* name of the value in the help text; NULL: depends on the type */
    const char *help;
    const char *member;  /* the field's name in the target, as "text.hash" */
    size_t offset, size; /* offset and size of the field in the target */
    /* ARG_WHOLE and ARG_SIZE: the limits. A choice of `words`: the first value that is allowed, and
     * the last that is offered (0: all). */
    uint64_t min, max;
    unsigned without; /* a value of `words` that is not allowed; 0: all are allowed */
    double low, high;
    int open;
    const arg_choice *choices; /* NULL: the words of the library's `words` */
    bm_option words;
    const char *const *later; /* choices of a later version, ended by NULL; NULL: there are no such
                               * choices */
    /* Fill `field` from `text`, or return false and the expected form in `why`. */
    bool (*parse)(const char *text, void *field, char *why, size_t cap);
    /* Completions for the value, if neither the words of a choice nor the value's name give them.
     * Separated by blanks: words, ARG_OFFER_*, and file endings such as "*.svg". NULL: no
     * completions. */
    const char *offer;
    uint64_t bit; /* BM_FIELD_* bit (types.h) of the field that the option sets explicitly; 0: no
                   * bit */
} arg_option;

/* Word number `index` of a choice, and its value; NULL: there are no more words. */
const char *args_choice(const arg_option *option, unsigned index, unsigned *value);
/* Fill *err with a usage error. Returns BM_ERR_USAGE. */
bm_status args_fail(bm_error *err, const char *format, ...) BM_PRINTF(2, 3);
/* A word of the command line, as messages quote it: secrets in an address are hidden
 * (bm_text_hide), and it is cut to a readable length. */
typedef struct arg_quoted {
    char text[201];
} arg_quoted;
arg_quoted args_quote(const char *value);

/* An option's name in other tools, to help their users. */
typedef struct arg_foreign {
    const char *word;    /* without "--"; compared ignoring case, with '_' as '-' */
    const char *option;  /* the name of our option; NULL: there is none */
    const char *instead; /* what to write: "--shingle word:N" */
} arg_foreign;

/* An option that a command does not have because an operand replaces it. */
typedef struct arg_operand {
    const char *option;
    unsigned command;
    const char *instead;
} arg_operand;

typedef struct arg_table {
    const arg_option *options;
    size_t n;
    const char *const *commands; /* names by bit, for messages ("an option of ...") */
    size_t n_commands;
    const arg_foreign *foreign;
    size_t n_foreign;
    const arg_operand *said_by_operands;
    size_t n_said_by_operands;
} arg_table;

typedef struct arg_request {
    const arg_table *table;
    unsigned command;   /* bit of the running command */
    void *target;       /* base of the options' offsets */
    bool *given;        /* table->n flags, set for each option that occurs */
    arg_list *operands; /* receives the operands */
} arg_request;

/* Parse the arguments; argv[0] is the first one after the command. BM_OK or BM_ERR_USAGE; the
 * target may then be partly filled. */
bm_status args_parse(const arg_request *request, int argc, const char *const *argv, bm_error *err);
/* Set *out to the index of the command: the first argument that is neither an option of any command
 * nor an option's value. argc: there is no command. BM_ERR_USAGE: before the command there is an
 * option that no command has. */
bm_status args_find_operand(const arg_table *table, int argc, const char *const *argv, int *out,
                            bm_error *err);
/* Was the option of this name given? */
bool args_given(const arg_table *table, const bool *given, const char *name);
/* The candidate nearest to `word`; NULL: none has an edit distance of at most 3 and a third of the
 * word's length, rounded up. */
const char *args_nearest(const char *word, const char *const *candidates, size_t n);
