/* SPDX-License-Identifier: Apache-2.0 */
/* args.c -- parses arguments by a table; see args.h. */
#include "cli/args.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* === args value ===
 *
 * Stores the text after an option in the option's field; see args.h.
 *
 * Values are checked before strtoull and strtod parse them, which would also accept signs,
 * blanks, hexadecimal, "inf" and trailing words. Error messages quote the value, cut to a
 * readable length. */

bm_status args_fail(bm_error *err, const char *format, ...)
{
    memset(err, 0, sizeof *err);
    err->status = BM_ERR_USAGE;
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    bm_text_hide(err->message);
    return BM_ERR_USAGE;
}

arg_quoted args_quote(const char *value)
{
    arg_quoted quoted = {""};
    char *whole = strdup(value);
    if (whole == NULL)
        return quoted;
    bm_text_hide(whole);
    snprintf(quoted.text, sizeof quoted.text, "%s", whole);
    free(whole);
    return quoted;
}

static const char *choice_at(const arg_option *option, unsigned index, unsigned *value)
{
    if (option->choices != NULL) { /* a NULL name ends the list */
        *value = option->choices[index].value;
        return option->choices[index].name;
    }
    *value = (unsigned)option->min + index;
    return bm_option_name(option->words, *value);
}

const char *args_choice(const arg_option *option, unsigned index, unsigned *value)
{
    const bool behind = option->without != 0 && option->min + index >= option->without;
    const char *word = choice_at(option, index + behind, value);
    return option->max == 0 || *value <= option->max ? word : NULL;
}

static void expected_choices(const arg_option *option, char *out, size_t cap)
{
    unsigned value;
    const char *word;
    size_t used = (size_t)snprintf(out, cap, "one of");
    for (unsigned i = 0; (word = args_choice(option, i, &value)) != NULL && used < cap; i++)
        used += (size_t)snprintf(out + used, cap - used, " %s", word);
}

/* Format what the option expects, for messages and help: "K", or "a whole number from 1 to
 * 1024". */
static void args_expected(const arg_option *option, char *out, size_t cap)
{
    switch (option->type) {
    case ARG_CHOICE:
        expected_choices(option, out, cap);
        break;
    case ARG_WHOLE:
        if (option->max == UINT64_MAX)
            snprintf(out, cap, "a whole number of at least %" PRIu64, option->min);
        else
            snprintf(out, cap, "a whole number from %" PRIu64 " to %" PRIu64, option->min,
                     option->max);
        break;
    case ARG_REAL:
        snprintf(out, cap, "a number %s %g and %s %g",
                 (option->open & ARG_OPEN_LOW) ? "above" : "of at least", option->low,
                 (option->open & ARG_OPEN_HIGH) ? "below" : "at most", option->high);
        break;
    case ARG_SIZE:
        snprintf(out, cap, "a size in bytes of at least %" PRIu64 ", such as 512M, 4GB or 4GiB",
                 option->min);
        break;
    default:
        snprintf(out, cap, "%s", option->value != NULL ? option->value : "a value");
    }
}

static bm_status bad_value(const arg_option *option, const char *text, bm_error *err)
{
    char expected[512];
    args_expected(option, expected, sizeof expected);
    return args_fail(err, "--%s: %s \"%s\" (expected %s)", option->name,
                     option->type == ARG_CHOICE ? "unknown value" : "unusable value",
                     args_quote(text).text, expected);
}

/* Parse the digits at the beginning of `text`. *end becomes the text after them. False: there are
 * no digits, or the number is too large. */
static bool parse_digits(const char *text, uint64_t *out, const char **end)
{
    if (*text < '0' || *text > '9')
        return false;
    char *stop;
    errno = 0;
    unsigned long long value = strtoull(text, &stop, 10);
    if (errno != 0)
        return false;
    *out = value;
    *end = stop;
    return true;
}

static bool same_letter(char c, char lower)
{
    return c == lower || c == lower - 'a' + 'A';
}

/* `at` is the text after the letter of a unit. Is it "", "B" or "iB", ignoring case? */
static bool ends_unit(const char *at)
{
    at += same_letter(*at, 'i') && at[1] != '\0';
    at += same_letter(*at, 'b');
    return *at == '\0';
}

static bool parse_size(const char *text, uint64_t *out)
{
    static const char units[] = "KkMmGgTt";
    const char *end;
    if (!parse_digits(text, out, &end))
        return false;
    unsigned shift = 0;
    if (*end != '\0') {
        const char *unit = strchr(units, *end);
        if (unit == NULL || !ends_unit(end + 1))
            return false;
        shift = 10u * (1u + (unsigned)(unit - units) / 2u);
    }
    if (*out > (UINT64_MAX >> shift))
        return false;
    *out <<= shift;
    return true;
}

static bool parse_real(const char *text, double *out)
{
    if (text[0] == '\0' || text[strspn(text, "0123456789.eE+-")] != '\0' ||
        strchr("eE", text[0]) != NULL)
        return false;
    char *end;
    errno = 0;
    *out = strtod(text, &end);
    return errno == 0 && *end == '\0';
}

static void store_whole(void *field, size_t size, uint64_t value)
{
    uint32_t narrow = (uint32_t)value;
    uint8_t bit = value != 0;
    if (size == sizeof value)
        memcpy(field, &value, sizeof value);
    else if (size == sizeof narrow)
        memcpy(field, &narrow, sizeof narrow);
    else
        memcpy(field, &bit, sizeof bit);
}

static bm_status set_choice(const arg_option *option, const char *text, void *field, bm_error *err)
{
    unsigned value;
    const char *word;
    for (unsigned i = 0; (word = choice_at(option, i, &value)) != NULL; i++) {
        if (strcmp(word, text) == 0) {
            store_whole(field, option->size, value);
            return BM_OK;
        }
    }
    for (size_t i = 0; option->later != NULL && option->later[i] != NULL; i++) {
        if (strcmp(option->later[i], text) == 0) {
            char expected[512];
            args_expected(option, expected, sizeof expected);
            return args_fail(err, "--%s: \"%s\" is not in this version (expected %s)", option->name,
                             text, expected);
        }
    }
    return bad_value(option, text, err);
}

static bm_status set_number(const arg_option *option, const char *text, void *field, bm_error *err)
{
    uint64_t whole;
    double real;
    const char *end = "";
    if (option->type == ARG_REAL) {
        bool open_low = option->open & ARG_OPEN_LOW, open_high = option->open & ARG_OPEN_HIGH;
        if (!parse_real(text, &real) || real < option->low || real > option->high ||
            (open_low && real <= option->low) || (open_high && real >= option->high))
            return bad_value(option, text, err);
        memcpy(field, &real, sizeof real);
        return BM_OK;
    }
    bool ok = option->type == ARG_SIZE ? parse_size(text, &whole)
                                       : parse_digits(text, &whole, &end) && *end == '\0';
    if (!ok || whole < option->min || whole > option->max)
        return bad_value(option, text, err);
    store_whole(field, option->size, whole);
    return BM_OK;
}

/* Store `text` (NULL for options without a value) in the option's field of `target`. BM_OK or
 * BM_ERR_USAGE. */
static bm_status args_store(const arg_option *option, const char *text, void *target, bm_error *err)
{
    void *field = (char *)target + option->offset;
    uint32_t count;
    arg_list *list;
    char why[256];
    switch (option->type) {
    case ARG_FLAG:
        store_whole(field, option->size, 1);
        return BM_OK;
    case ARG_COUNT:
        memcpy(&count, field, sizeof count);
        store_whole(field, sizeof count, (uint64_t)count + 1);
        return BM_OK;
    case ARG_TEXT:
    case ARG_LIST:
        if (text[0] == '\0')
            return bad_value(option, text, err);
        if (option->type == ARG_TEXT) {
            memcpy(field, &text, sizeof text);
            return BM_OK;
        }
        list = field;
        list->items[list->n++] = text;
        return BM_OK;
    case ARG_CHOICE:
        return set_choice(option, text, field, err);
    case ARG_WHOLE:
    case ARG_SIZE:
    case ARG_REAL:
        return set_number(option, text, field, err);
    case ARG_PARSED:
        if (!option->parse(text, field, why, sizeof why))
            return args_fail(err, "--%s: unusable value \"%s\" (%s)", option->name,
                             args_quote(text).text, why);
        return BM_OK;
    case ARG_LATER:
        break;
    }
    return args_fail(err, "--%s %s", option->name,
                     option->help != NULL ? option->help
                                          : "is not in this version (its name is reserved)");
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Levenshtein distance of two words; SIZE_MAX if a word has 64 bytes or more. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), row[64];
    if (n >= 64 || m >= 64)
        return SIZE_MAX;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t replaced = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            row[j] = smaller(replaced, 1 + smaller(row[j], row[j - 1]));
        }
    }
    return row[m];
}

const char *args_nearest(const char *word, const char *const *candidates, size_t n)
{
    const char *best = NULL;
    size_t best_distance = smaller(3, (strlen(word) + 2) / 3) + 1;
    for (size_t i = 0; i < n; i++) {
        size_t distance = edit_distance(word, candidates[i]);
        if (distance < best_distance) {
            best_distance = distance;
            best = candidates[i];
        }
    }
    return best;
}

static bool needs_value(arg_type type)
{
    return type != ARG_FLAG && type != ARG_COUNT && type != ARG_LATER;
}

/* Does the command accept the option? Before the command is known, every option is accepted. */
static bool accepts(const arg_request *request, const arg_option *option)
{
    return request->command >= request->table->n_commands ||
           (option->commands & (1u << request->command)) != 0;
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* Does `given` equal `word`? The case of `given` is ignored, and its '_' count as '-'. */
static bool same_word(const char *given, const char *word)
{
    while (*given != '\0' && lower(*given == '_' ? '-' : *given) == *word)
        given++, word++;
    return *given == *word;
}

/* Find what to write instead of an option of another tool. Returns NULL if the table has no row for
 * `name`, or if the command does not accept our option of that row. */
static const char *foreign_word(const arg_request *request, const char *name)
{
    const arg_table *table = request->table;
    for (size_t i = 0; i < table->n_foreign; i++) {
        const arg_foreign *row = &table->foreign[i];
        if (!same_word(name, row->word))
            continue;
        if (row->option == NULL)
            return row->instead;
        for (size_t k = 0; k < table->n; k++)
            if (strcmp(table->options[k].name, row->option) == 0 &&
                accepts(request, &table->options[k]))
                return row->instead;
    }
    return NULL;
}

/* Report an option that this command does not have. `elsewhere`: an option of this name that other
 * commands have, or NULL. */
static bm_status unknown_option(const arg_request *request, const arg_option *elsewhere,
                                const char *name, bm_error *err)
{
    const arg_table *table = request->table;
    const bool known = request->command < table->n_commands;
    const char *command = known ? table->commands[request->command] : "";
    for (size_t i = 0; elsewhere != NULL && i < table->n_said_by_operands; i++) {
        const arg_operand *row = &table->said_by_operands[i];
        if (row->command == request->command && strcmp(row->option, elsewhere->name) == 0)
            return args_fail(err, "--%s is no option of %s (%s)", elsewhere->name, command,
                             row->instead);
    }
    if (elsewhere != NULL) {
        for (unsigned c = 0; c < table->n_commands; c++) {
            if (elsewhere->commands & (1u << c))
                return args_fail(err,
                                 "--%s is an option of %s, not of %s (bandmill help %s lists "
                                 "what it takes)",
                                 elsewhere->name, table->commands[c], command, command);
        }
    }
    const char *dashes = strlen(name) == 1 ? "-" : "--";
    const char *foreign = foreign_word(request, name);
    if (foreign != NULL)
        return args_fail(err, "unknown option %s%.200s (here it is %s)", dashes, name, foreign);
    const char *names[128];
    size_t n = 0;
    for (size_t i = 0; i < table->n && n < 128; i++) {
        if (accepts(request, &table->options[i]))
            names[n++] = table->options[i].name;
    }
    const char *nearest = args_nearest(name, names, n);
    if (nearest != NULL && strlen(name) > 1)
        return args_fail(err, "unknown option %s%.200s (did you mean --%s?)", dashes, name,
                         nearest);
    return args_fail(err, "unknown option %s%.200s (bandmill help %s lists what it takes)", dashes,
                     name, known ? command : "COMMAND");
}

/* Find the option whose long name is `name` (`len` bytes) or, if `letter` is not 0, whose letter is
 * `letter`. Returns NULL if the command does not accept it. If only other commands accept such an
 * option, *elsewhere becomes that option. */
static const arg_option *find_option(const arg_request *request, const char *name, size_t len,
                                     char letter, const arg_option **elsewhere)
{
    *elsewhere = NULL;
    for (size_t i = 0; i < request->table->n; i++) {
        const arg_option *option = &request->table->options[i];
        bool same = letter != '\0'
                        ? option->letter == letter
                        : strncmp(option->name, name, len) == 0 && option->name[len] == '\0';
        if (!same)
            continue;
        if (accepts(request, option))
            return option;
        *elsewhere = option;
    }
    return NULL;
}

typedef struct arg_cursor {
    int argc;
    const char *const *argv;
    int next;
} arg_cursor;

/* Read the value of `option`, if it takes one, and store it. The value is `attached` or, if that is
 * NULL, the next argument. */
static bm_status read_value(const arg_request *request, const arg_option *option,
                            const char *attached, arg_cursor *cursor, bm_error *err)
{
    const char *text = attached;
    if (!needs_value(option->type)) {
        if (attached != NULL && option->type != ARG_LATER)
            return args_fail(err, "--%s takes no value (got \"%s\")", option->name,
                             args_quote(attached).text);
    } else if (text == NULL) {
        const char *next = cursor->next < cursor->argc ? cursor->argv[cursor->next] : NULL;
        if (next == NULL || (next[0] == '-' && next[1] == '-')) {
            char expected[512];
            args_expected(option, expected, sizeof expected);
            return args_fail(err, "--%s needs a value (expected %s)", option->name, expected);
        }
        text = next;
        cursor->next++;
    }
    request->given[option - request->table->options] = true;
    return args_store(option, text, request->target, err);
}

static bm_status parse_long(const arg_request *request, const char *name, arg_cursor *cursor,
                            bm_error *err)
{
    size_t len = strcspn(name, "=");
    const arg_option *elsewhere;
    const arg_option *option = find_option(request, name, len, '\0', &elsewhere);
    if (option == NULL) {
        char word[256];
        snprintf(word, sizeof word, "%.*s", (int)smaller(len, 200), name);
        return unknown_option(request, elsewhere, word, err);
    }
    return read_value(request, option, name[len] == '=' ? name + len + 1 : NULL, cursor, err);
}

/* Parse a cluster such as -qv or -oDIR. */
static bm_status parse_letters(const arg_request *request, const char *letters, arg_cursor *cursor,
                               bm_error *err)
{
    for (const char *at = letters; *at != '\0'; at++) {
        const arg_option *elsewhere;
        const arg_option *option = find_option(request, NULL, 0, *at, &elsewhere);
        if (option == NULL) {
            char word[2] = {*at, '\0'};
            return unknown_option(request, elsewhere, word, err);
        }
        bool rest = needs_value(option->type) && at[1] != '\0';
        bm_status status = read_value(request, option, rest ? at + 1 : NULL, cursor, err);
        if (status != BM_OK || rest)
            return status;
    }
    return BM_OK;
}

bm_status args_parse(const arg_request *request, int argc, const char *const *argv, bm_error *err)
{
    arg_cursor cursor = {argc, argv, 0};
    bool options = true;
    while (cursor.next < argc) {
        const char *arg = argv[cursor.next++];
        bm_status status = BM_OK;
        if (!options || arg[0] != '-' || arg[1] == '\0') {
            if (arg[0] == '\0')
                return args_fail(err, "an empty argument (expected a path or an option)");
            request->operands->items[request->operands->n++] = arg;
        } else if (strcmp(arg, "--") == 0) {
            options = false;
        } else if (arg[1] == '-') {
            status = parse_long(request, arg + 2, &cursor, err);
        } else {
            status = parse_letters(request, arg + 1, &cursor, err);
        }
        if (status != BM_OK)
            return status;
    }
    return BM_OK;
}

/* Skip the option at argv[*at], which may be an option of any command. If its value is the next
 * argument, skip that too. */
static bm_status skip_option(const arg_request *any, int argc, const char *const *argv, int *at,
                             bm_error *err)
{
    const char *arg = argv[*at];
    const bool is_long = arg[1] == '-';
    const arg_option *option = NULL, *elsewhere;
    bool attached = false;
    for (const char *c = arg + 1; !attached && *c != '\0'; c++) {
        const char *name = is_long ? arg + 2 : c;
        const size_t len = is_long ? strcspn(name, "=") : 1;
        option = find_option(any, name, len, is_long ? '\0' : *c, &elsewhere);
        if (option == NULL) {
            char word[256];
            snprintf(word, sizeof word, "%.*s", (int)smaller(len, 200), name);
            return unknown_option(any, NULL, word, err);
        }
        if (is_long || needs_value(option->type)) {
            attached = name[len] != '\0';
            break;
        }
    }
    const char *next = *at + 1 < argc ? argv[*at + 1] : NULL;
    if (needs_value(option->type) && !attached && next != NULL && strncmp(next, "--", 2) != 0)
        ++*at;
    return BM_OK;
}

bm_status args_find_operand(const arg_table *table, int argc, const char *const *argv, int *out,
                            bm_error *err)
{
    const arg_request any = {.table = table, .command = (unsigned)table->n_commands};
    bm_status status = BM_OK;
    int at = 0;
    for (; at < argc && status == BM_OK; at++) {
        if (argv[at][0] != '-' || argv[at][1] == '\0')
            break;
        if (strcmp(argv[at], "--") == 0)
            at = argc - 1;
        else
            status = skip_option(&any, argc, argv, &at, err);
    }
    *out = at;
    return status;
}

bool args_given(const arg_table *table, const bool *given, const char *name)
{
    for (size_t i = 0; i < table->n; i++) {
        if (given[i] && strcmp(table->options[i].name, name) == 0)
            return true;
    }
    return false;
}
