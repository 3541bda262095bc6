/* SPDX-License-Identifier: Apache-2.0 */
/* args.h -- the argument table engine: options are rows of a table, not code.
 *
 * A row has the long name, an optional letter, the type and range of the value, the commands that
 * accept it and the place of the value (an offset into the caller's struct). args_parse walks the
 * arguments once:
 *
 *   --name value  --name=value  -o value  -ovalue  -qv   "--" ends the options   "-" is an operand
 *
 * Anything that is not understood is an error that names the option, the value and what was
 * expected. A value in an argument of its own never starts with "--" (that would be a forgotten
 * value); --name=--value passes one. The last of equal options counts, lists grow. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>
#include <bandmill/option_names.h>

/* args_value -- an option and its value: the inner half of args.h. */

typedef enum arg_type {
    ARG_FLAG,   /* bool: set */
    ARG_COUNT,  /* uint32_t: one more each time */
    ARG_TEXT,   /* const char *: not empty */
    ARG_LIST,   /* arg_list: one more text each time */
    ARG_CHOICE, /* int, an enum or bool (by size): the value of a word of args_choice */
    ARG_WHOLE,  /* uint32_t or uint64_t (by size): min … max */
    ARG_SIZE,   /* uint64_t: bytes, with K, KB, KiB, M … T for powers of 1024; min … max */
    ARG_REAL,   /* double: low … high, the ends by `open` */
    ARG_PARSED, /* whatever `parse` fills */
    ARG_LATER   /* a name of a later version, or of something that is elsewhere, which `help` then
                   tells: always an error */
} arg_type;

enum { ARG_OPEN_LOW = 1, ARG_OPEN_HIGH = 2 }; /* the end itself is not allowed */

/* Borrowed texts; `items` has space for every argument. */
typedef struct arg_list {
    const char **items;
    size_t n;
} arg_list;

/* A list of words that are the program's own; the library's come from bm_option_name. */
typedef struct arg_choice {
    const char *name; /* NULL ends the list */
    unsigned value;
} arg_choice;

/* Words of arg_option.offer that are none themselves. */
#define ARG_OFFER_LIST    "%list"    /* one of `words`, or several separated by commas */
#define ARG_OFFER_KINDS   "%kinds"   /* one of `words`, each before a colon */
#define ARG_OFFER_DEVICES "%devices" /* what `devices` lists; several separated by commas */

typedef struct arg_option {
    const char *name; /* without "--" */
    char letter;      /* 0: none */
    arg_type type;
    uint32_t commands; /* bit c: command c takes it */
    int group;         /* of the help text */
    const char *value; /* name of the value in the help text; NULL: by type */
    const char *help;
    const char *member;  /* the field's name in the target, as "text.short_rule" */
    size_t offset, size; /* of the field in the target */
    /* For a choice of `words`: the first value that may be given, and the last that is offered (0:
     * all). */
    uint64_t min, max;
    unsigned without; /* a value of `words` that cannot be given; 0: none */
    double low, high;
    int open;
    const arg_choice *choices; /* NULL: the library's, of `words` */
    bm_option words;
    const char *const *later; /* choices of a later version, ended by NULL; NULL: none */
    /* Fill `field` from `text`, or return false and the expected form in `why`. */
    bool (*parse)(const char *text, void *field, char *why, size_t cap);
    /* Completions for the value, separated by blanks, if the words of a choice and the name of the
     * value do not give them: words, ARG_OFFER_*, and endings of files such as "*.svg". NULL:
     * none. */
    const char *offer;
    uint64_t bit; /* of the field that it sets on purpose (BM_FIELD_*, types.h); 0: none */
} arg_option;

/* The words of a choice, by index, with the value of each; NULL: there are no more. */
const char *args_choice(const arg_option *option, unsigned index, unsigned *value);
/* Fill *err with a usage error. Returns BM_ERR_USAGE. */
bm_status args_fail(bm_error *err, const char *format, ...) BM_PRINTF(2, 3);
/* A word of the command line as messages quote it: without what an address in it hides
 * (bm_text_hide), and cut to a readable length. */
typedef struct arg_quoted {
    char text[201];
} arg_quoted;
arg_quoted args_quote(const char *value);

/* The name that other tools use for an option, for those who come from them. */
typedef struct arg_foreign {
    const char *word;    /* without "--"; in any case, with '_' for '-' too */
    const char *option;  /* the name of ours; NULL: it is not one */
    const char *instead; /* what to write: "--shingle word:N" */
} arg_foreign;

/* An option that a command does not need, since an operand means the same. */
typedef struct arg_operand {
    const char *option;
    unsigned command;
    const char *instead;
} arg_operand;

typedef struct arg_table {
    const arg_option *options;
    size_t n;
    const char *const *commands; /* names by bit, for "an option of ..." */
    size_t n_commands;
    const arg_foreign *foreign;
    size_t n_foreign;
    const arg_operand *said_by_operands;
    size_t n_said_by_operands;
} arg_table;

typedef struct arg_request {
    const arg_table *table;
    unsigned command;   /* the bit of the command that runs */
    void *target;       /* what the offsets count from */
    bool *given;        /* table->n flags: which options were there; filled */
    arg_list *operands; /* an operand */
} arg_request;

/* argv[0] is the first argument after the command. BM_OK or BM_ERR_USAGE; the target may then be
 * half filled. */
bm_status args_parse(const arg_request *request, int argc, const char *const *argv, bm_error *err);
/* *out: the place of the command, the first argument that is neither an option of any command nor
 * its value. argc: there is none. BM_ERR_USAGE: no command has an option that comes before it.
 * */
bm_status args_find_operand(const arg_table *table, int argc, const char *const *argv, int *out,
                            bm_error *err);
/* Whether the option of this name was given. */
bool args_given(const arg_table *table, const bool *given, const char *name);
/* The candidate nearest to `word` (edit distance at most a third of its length), or NULL. */
const char *args_nearest(const char *word, const char *const *candidates, size_t n);
