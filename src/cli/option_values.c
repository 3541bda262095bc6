/* option_values.c -- values of options that are small languages of their own.
 *
 * Tests: tests/cli/test_options.c */
#include "cli/option_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/option_settings.h"

/* "expected none, or a list of nfc nfkc ...". */
static void expect_steps(char *why, size_t cap)
{
    const char *word;
    size_t used = (size_t)snprintf(why, cap, "expected none, or a list of");
    for (unsigned i = 0; (word = bm_option_word(BM_OPTION_NORMALIZE, i)) != NULL && used < cap; i++)
        used += (size_t)snprintf(why + used, cap - used, " %s", word);
}

bool cli_parse_normalize(const char *text, void *field, char *why, size_t cap)
{
    expect_steps(why, cap);
    uint32_t bits = 0;
    if (strcmp(text, "none") != 0) {
        for (const char *at = text;; at++) {
            const size_t len = strcspn(at, ",");
            unsigned step;
            if (!bm_option_value(BM_OPTION_NORMALIZE, at, len, &step))
                return false;
            bits |= 1u << step;
            at += len;
            if (*at == '\0')
                break;
        }
    }
    if ((bits & BM_NORM_NFC) && (bits & BM_NORM_NFKC)) {
        snprintf(why, cap, "expected nfc or nfkc, not both");
        return false;
    }
    memcpy(field, &bits, sizeof bits);
    return true;
}

bool cli_parse_character(const char *text, void *field, char *why, size_t cap)
{
    snprintf(why, cap,
             "expected one character of ASCII that is no quote and no line ending, or \\t");
    if (strcmp(text, "\\t") == 0)
        text = "\t";
    if (strlen(text) != 1 || (unsigned char)text[0] >= 0x80 || strchr("\"\r\n", text[0]) != NULL)
        return false;
    *(char *)field = text[0];
    return true;
}

/* Append "word:K, char:K or byte:K". */
static void append_kinds(char *why, size_t cap)
{
    const char *word;
    size_t used = strlen(why);
    for (unsigned i = 0; (word = bm_option_word(BM_OPTION_SHINGLE, i)) != NULL && used < cap; i++) {
        const bool last = bm_option_word(BM_OPTION_SHINGLE, i + 1) == NULL;
        used += (size_t)snprintf(why + used, cap - used, "%s%s:K",
                                 i == 0 ? ""
                                 : last ? " or "
                                        : ", ",
                                 word);
    }
}

bool cli_parse_shingle(const char *text, void *field, char *why, size_t cap)
{
    bm_text_options *options = field;
    size_t len = strcspn(text, ":");
    snprintf(why, cap, "expected ");
    append_kinds(why, cap);
    snprintf(why + strlen(why), cap - strlen(why), " with K from 1 to %u", BM_SHINGLE_K_MAX);
    unsigned kind;
    if (!bm_option_value(BM_OPTION_SHINGLE, text, len, &kind))
        return false;
    const char *digits = text + len + (text[len] == ':');
    size_t n = strspn(digits, "0123456789");
    if (text[len] != ':' || n == 0 || n > 4 || digits[n] != '\0')
        return false;
    unsigned long k = strtoul(digits, NULL, 10);
    if (k < 1 || k > BM_SHINGLE_K_MAX)
        return false;
    options->shingle = (bm_shingle_kind)kind;
    options->shingle_k = (uint32_t)k;
    return true;
}

bool cli_parse_verify(const char *text, void *field, char *why, size_t cap)
{
    cli_match_settings *match = field;
    const size_t len = strcspn(text, "=");
    unsigned verify;
    char *end;
    snprintf(why, cap,
             "expected exact, signature, none, contained, or contained=C with C more than 0, at "
             "most 1, of up to 15 decimals");
    if (!bm_option_value(BM_OPTION_VERIFY, text, len, &verify) || verify == BM_VERIFY_AUTO)
        return false;
    match->verify = (bm_verify)verify;
    match->containment = 0;
    if (text[len] == '\0')
        return true;
    const char *number = text + len + 1, *point = strchr(number, '.');
    if (verify != BM_VERIFY_CONTAINED || number[strspn(number, "0123456789.")] != '\0' ||
        (point != NULL && strlen(point + 1) > 15))
        return false;
    match->containment = strtod(number, &end);
    return end != number && *end == '\0' && match->containment > 0 && match->containment <= 1;
}

bool cli_parse_shingles(const char *text, void *field, char *why, size_t cap)
{
    cli_shingles *shingles = field;
    bm_text_options one;
    if (!cli_parse_shingle(text, &one, why, cap))
        return false;
    if (shingles->n == CLI_SHINGLES_MAX) {
        snprintf(why, cap, "expected %d of them at most", CLI_SHINGLES_MAX);
        return false;
    }
    shingles->items[shingles->n].kind = one.shingle;
    shingles->items[shingles->n++].k = one.shingle_k;
    return true;
}

/* T,T,...: each more than 0, at most 1. The program keeps the C locale. */
bool cli_parse_thresholds(const char *text, void *field, char *why, size_t cap)
{
    cli_thresholds list = {.n = 0};
    snprintf(why, cap, "expected up to %d numbers above 0, at most 1, separated by commas",
             CLI_THRESHOLDS_MAX);
    for (const char *at = text;; at++) {
        char *end;
        if (list.n == CLI_THRESHOLDS_MAX || strspn(at, "0123456789.") == 0)
            return false;
        double value = strtod(at, &end);
        if (!(value > 0 && value <= 1) || (*end != ',' && *end != '\0'))
            return false;
        list.values[list.n++] = value;
        at = end;
        if (*at == '\0')
            break;
    }
    *(cli_thresholds *)field = list;
    return true;
}

/* A number as people write it, up to `end`. */
static bool parse_share(const char *text, char end, double *out, const char **behind)
{
    char *stop;
    if (strspn(text, "0123456789.") == 0)
        return false;
    *out = strtod(text, &stop);
    *behind = stop + 1;
    return *stop == end;
}

bool cli_parse_ceiling(const char *text, void *field, char *why, size_t cap)
{
    cli_ceiling ceiling;
    snprintf(why, cap,
             "expected S:P, a similarity above 0, at most 1, and a probability above 0, below 1");
    if (!parse_share(text, ':', &ceiling.similarity, &text) ||
        !parse_share(text, '\0', &ceiling.probability, &text))
        return false;
    if (!(ceiling.similarity > 0 && ceiling.similarity <= 1 && ceiling.probability > 0 &&
          ceiling.probability < 1))
        return false;
    *(cli_ceiling *)field = ceiling;
    return true;
}

bool cli_parse_shard(const char *text, void *field, char *why, size_t cap)
{
    const size_t n = strspn(text, "0123456789");
    snprintf(why, cap, "expected I/N, two whole numbers, I from 1 to N");
    if (n == 0 || n > 9 || text[n] != '/')
        return false;
    const char *of = text + n + 1;
    const size_t m = strspn(of, "0123456789");
    if (m == 0 || m > 9 || of[m] != '\0')
        return false;
    const cli_shard shard = {(uint32_t)strtoul(text, NULL, 10), (uint32_t)strtoul(of, NULL, 10)};
    *(cli_shard *)field = shard;
    return shard.index >= 1 && shard.index <= shard.of;
}
