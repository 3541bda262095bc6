/* args_value.c -- what stands behind an option, to the field that it fills; see args_value.h.
 *
 * Values are parsed by hand-checked wrappers: strtoull and strtod alone would take signs, blanks,
 * hexadecimal, "inf" and trailing words. Values that matter are echoed in the error, cut to a
 * readable length.
 *
 * Tests: tests/cli/test_args.c */
#include "cli/args_value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bm_status args_fail(bm_error *err, const char *format, ...)
{
    memset(err, 0, sizeof *err);
    err->status = BM_ERR_USAGE;
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return BM_ERR_USAGE;
}

static const char *choice_at(const arg_option *option, unsigned index, unsigned *value)
{
    if (option->choices != NULL) { /* index never passes the end of the list */
        *value = option->choices[index].value;
        return option->choices[index].name;
    }
    *value = (unsigned)option->min + index;
    return bm_option_word(option->words, *value);
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

void args_expected(const arg_option *option, char *out, size_t cap)
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
    return args_fail(err, "--%s: %s \"%.200s\" (expected %s)", option->name,
                     option->type == ARG_CHOICE ? "unknown value" : "unusable value", text,
                     expected);
}

/* Digits only; *end is what follows them. */
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

/* "", "B" or "iB", in any case: what may follow the letter of a unit. */
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

bm_status args_store(const arg_option *option, const char *text, void *target, bm_error *err)
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
            return args_fail(err, "--%s: unusable value \"%.200s\" (%s)", option->name, text, why);
        return BM_OK;
    case ARG_LATER:
        break;
    }
    return args_fail(err, "--%s is not in this version (its name is reserved)", option->name);
}
