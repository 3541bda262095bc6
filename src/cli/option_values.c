/* option_values.c -- values of options that are small languages of their own. */
#include "cli/option_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"

bool cli_parse_normalize(const char *text, void *field, char *why, size_t cap)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } steps[] = {{"nfc", BM_NORM_NFC},
                 {"nfkc", BM_NORM_NFKC},
                 {"lower", BM_NORM_LOWER},
                 {"strip-accents", BM_NORM_STRIP_ACCENTS},
                 {"digits", BM_NORM_DIGITS}};
    snprintf(why, cap, "expected none, or a list of nfc nfkc lower strip-accents digits");
    uint32_t bits = 0;
    if (strcmp(text, "none") != 0) {
        for (const char *at = text;; at++) {
            size_t len = strcspn(at, ","), i = 0;
            while (i < 5 && (strlen(steps[i].name) != len || strncmp(steps[i].name, at, len) != 0))
                i++;
            if (i == 5)
                return false;
            bits |= steps[i].bit;
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

bool cli_parse_shingle(const char *text, void *field, char *why, size_t cap)
{
    static const char *const kinds[] = {"word", "char", "byte"};
    bm_text_options *options = field;
    size_t len = strcspn(text, ":");
    if (len == strlen("stopword") && strncmp(text, "stopword", len) == 0) {
        snprintf(why, cap, "stopword is not in this version; expected word:K, char:K or byte:K");
        return false;
    }
    snprintf(why, cap, "expected word:K, char:K or byte:K with K from 1 to 1024");
    for (unsigned kind = 0; kind < 3; kind++) {
        if (strlen(kinds[kind]) != len || strncmp(kinds[kind], text, len) != 0)
            continue;
        const char *digits = text + len + (text[len] == ':');
        size_t n = strspn(digits, "0123456789");
        if (text[len] != ':' || n == 0 || n > 4 || digits[n] != '\0')
            return false;
        unsigned long k = strtoul(digits, NULL, 10);
        if (k < 1 || k > 1024)
            return false;
        options->shingle = (bm_shingle_kind)kind;
        options->shingle_k = (uint32_t)k;
        return true;
    }
    return false;
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
