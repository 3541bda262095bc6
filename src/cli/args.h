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
 * is missing; --name=--value passes such a value. If an option is repeated, its last value counts,
 * except that a list collects all values. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>
#include <bandmill/option_names.h>

/* args_value -- the value of an option; used by the rest of args.h. */

typedef enum arg_type {
    ARG_FLAG,   /* bool: set */
    ARG_COUNT,  /* uint32_t: the number of times that the option occurs */
    ARG_TEXT,   /* const char *: not empty */
    ARG_LIST,   /* arg_list: each occurrence appends a text */
    ARG_CHOICE, /* int, enum or bool, depending on the field's size: the value of one of the words
                 * that args_choice lists */
    ARG_WHOLE,  /* uint32_t or uint64_t, depending on the field's size: a number from `min` to
                 * `max` */
    ARG_SIZE,   /* uint64_t: bytes from `min` to `max`; K, KB, KiB, M … T are powers of 1024 */
    ARG_REAL,   /* double: a number from `low` to `high`; `open` can exclude these two */
    ARG_PARSED, /* what `parse` stores */
    ARG_LATER   /* always an error: an option of a later version, or one that other options replace,
                 * as `help` explains */
} arg_type;

/* Flags of arg_option.open: `low` or `high` itself is not allowed. */
enum { ARG_OPEN_LOW = 1, ARG_OPEN_HIGH = 2 };

/* The texts are borrowed. `items` has space for every argument. */
typedef struct arg_list {
    const char **items;
    size_t n;
} arg_list;

/* A word of the program's own choices. The words of the library's choices come from
 * bm_option_name. */
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
    uint32_t commands; /* bit c: command c accepts the option */
    int group;         /* group in the help text */
    const char *value; /* what help calls the value; NULL: a name that depends on the type */
    const char *help;
    const char *member;  /* the field's name in the target, as "text.hash" */
    size_t offset, size; /* of the field in the target */
    /* ARG_WHOLE and ARG_SIZE: the limits. ARG_CHOICE with `words`: `min` is the first value that is
     * allowed, and `max` the last that is offered; max 0: all are offered. */
    uint64_t min, max;
    unsigned without; /* a value of `words` that is not allowed; 0: all are allowed */
    double low, high;
    int open;
    const arg_choice *choices; /* NULL: the words come from `words` */
    bm_option words;
    const char *const *later; /* NULL-terminated: words that a later version will accept; NULL: no
                               * such words */
    /* Store `text` in `field`. If the text is invalid, return false and write the expected form to
     * `why`. */
    bool (*parse)(const char *text, void *field, char *why, size_t cap);
    /* The values that a shell may offer, if neither the words of a choice nor `value` determine
     * them: words, ARG_OFFER_* and file endings such as "*.svg", separated by blanks. NULL: nothing
     * to offer. */
    const char *offer;
    uint64_t bit; /* the BM_FIELD_* bit (types.h) that marks the option's field as set; 0: no bit */
} arg_option;

/* Return word number `index` of a choice, and set *value to its value. NULL: the choice has fewer
 * words. */
const char *args_choice(const arg_option *option, unsigned index, unsigned *value);
/* Fill *err with a usage error. Returns BM_ERR_USAGE. */
bm_status args_fail(bm_error *err, const char *format, ...) BM_PRINTF(2, 3);
/* A word of the command line, as messages quote it: secrets in an address are hidden
 * (bm_text_hide), and it is cut to a readable length. */
typedef struct arg_quoted {
    char text[201];
} arg_quoted;
arg_quoted args_quote(const char *value);

/* How other tools name an option, to help their users. */
typedef struct arg_foreign {
    const char *word;    /* without "--"; compared ignoring case, with '_' as '-' */
    const char *option;  /* the name of our option; NULL: there is none */
    const char *instead; /* what the user should write, such as "--shingle word:N" */
} arg_foreign;

/* An option that a command does not have, because it takes an operand instead. */
typedef struct arg_operand {
    const char *option;
    unsigned command;
    const char *instead;
} arg_operand;

typedef struct arg_table {
    const arg_option *options;
    size_t n;
    const char *const *commands; /* names of the commands, by bit; messages use them ("an option of
                                  * ...") */
    size_t n_commands;
    const arg_foreign *foreign;
    size_t n_foreign;
    const arg_operand *said_by_operands;
    size_t n_said_by_operands;
} arg_table;

typedef struct arg_request {
    const arg_table *table;
    unsigned command;   /* bit of the running command */
    void *target;       /* the struct that contains the options' fields */
    bool *given;        /* table->n flags, one per option: whether it occurred */
    arg_list *operands; /* receives the operands */
} arg_request;

/* Parse the arguments; argv[0] is the first argument after the command. Returns BM_OK or
 * BM_ERR_USAGE. After an error, part of the target may be filled. */
bm_status args_parse(const arg_request *request, int argc, const char *const *argv, bm_error *err);
/* Set *out to the index of the command, which is the first argument that is neither an option of
 * any command nor an option's value. If there is no command before "--", *out becomes argc.
 * BM_ERR_USAGE: an option before the command is unknown to all commands. */
bm_status args_find_operand(const arg_table *table, int argc, const char *const *argv, int *out,
                            bm_error *err);
/* Was the option of this name given? */
bool args_given(const arg_table *table, const bool *given, const char *name);
/* The candidate with the smallest edit distance to `word`. NULL: all distances exceed 3, or a third
 * of the word's length, rounded up. */
const char *args_nearest(const char *word, const char *const *candidates, size_t n);
