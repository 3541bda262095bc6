/* SPDX-License-Identifier: Apache-2.0 */
/* keep_rules.c -- parses a list of rules. The list is split at commas, each rule at its colon, and
 * its values at bars. */
#include "model/keep_rules.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

static const struct {
    const char *word; /* ends with a colon if the rule has an argument */
    bm_keep_kind kind;
} kinds[] = {{"first", BM_KEEP_RULE_FIRST},     {"last", BM_KEEP_RULE_LAST},
             {"longest", BM_KEEP_RULE_LONGEST}, {"shortest", BM_KEEP_RULE_SHORTEST},
             {"none", BM_KEEP_RULE_NONE},       {"max:", BM_KEEP_RULE_MAX},
             {"min:", BM_KEEP_RULE_MIN},        {"order:", BM_KEEP_RULE_ORDER},
             {"sources:", BM_KEEP_RULE_SOURCES}};

static bm_status refuse(const char *rule, const char *why, bm_error *err)
{
    return bm_fail_field(err, "keep",
                         "`keep` '%.100s': %s (expected first last longest shortest max:FIELD "
                         "min:FIELD order:FIELD=A|B|C sources:A|B|C, separated by commas, or none)",
                         rule, why);
}

/* The length of the text up to its first `stop` that has no backslash before it, or up to its
 * end. */
static size_t part_end(const char *text, char stop)
{
    size_t at = 0;
    while (text[at] != '\0' && text[at] != stop)
        at += text[at] == '\\' && (text[at + 1] == ',' || text[at + 1] == '|') ? 2 : 1;
    return at;
}

/* Write the text without its escapes, and a NUL, to `out`, which has space for `len` + 1 bytes.
 * Returns the position of the NUL. */
static char *unescape(const char *text, size_t len, char *out)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\\' && i + 1 < len && (text[i + 1] == ',' || text[i + 1] == '|'))
            i++;
        *out++ = text[i];
    }
    *out = '\0';
    return out;
}

/* Copy `len` bytes without their escapes. */
static bm_status copy(const char *text, size_t len, char **out, size_t *out_len, bm_error *err)
{
    BM_TRY(bm_new(out, len + 1, err));
    *out_len = (size_t)(unescape(text, len, *out) - *out);
    return BM_OK;
}

static bm_status add_field(bm_keep_rules *out, const char *name, size_t len, size_t *place,
                           bm_error *err)
{
    char *field;
    size_t field_len;
    BM_TRY(copy(name, len, &field, &field_len, err));
    for (*place = 0; *place < out->n_fields; (*place)++)
        if (strcmp(out->fields[*place], field) == 0) {
            bm_free(field);
            return BM_OK;
        }
    const char **fields = bm_resize(out->fields, out->n_fields + 1, sizeof *fields);
    if (fields == NULL) {
        bm_free(field);
        return bm_fail_nomem(err, (out->n_fields + 1) * sizeof *fields);
    }
    fields[out->n_fields++] = field;
    out->fields = fields;
    return BM_OK;
}

static bm_status add_values(bm_keep_rule *rule, const char *text, bm_error *err)
{
    for (bool more = true; more;) {
        const size_t len = part_end(text, '|');
        char *value;
        size_t value_len;
        bm_str *values = bm_resize(rule->values, rule->n_values + 1, sizeof *values);
        if (values == NULL)
            return bm_fail_nomem(err, (rule->n_values + 1) * sizeof *values);
        rule->values = values;
        BM_TRY(copy(text, len, &value, &value_len, err));
        values[rule->n_values++] = (bm_str){value, value_len};
        more = text[len] != '\0';
        text += len + more;
    }
    return BM_OK;
}

/* Parse the part of `rule` after its colon. */
static bm_status parse_rest(bm_keep_rules *out, bm_keep_rule *rule, const char *rest, bm_error *err)
{
    if (rule->kind == BM_KEEP_RULE_SOURCES)
        return rest[0] == '\0' ? refuse(rule->words, "it names no source", err)
                               : add_values(rule, rest, err);
    const char *equals = strchr(rest, '=');
    const bool order = rule->kind == BM_KEEP_RULE_ORDER;
    const size_t len = order && equals != NULL ? (size_t)(equals - rest) : strlen(rest);
    if (len == 0)
        return refuse(rule->words, "it names no field", err);
    if (order && (equals == NULL || equals[1] == '\0'))
        return refuse(rule->words, "it names no values", err);
    out->n_by_field++;
    BM_TRY(add_field(out, rest, len, &rule->field, err));
    return order ? add_values(rule, equals + 1, err) : BM_OK;
}

/* Append a rule in which only `words` is set. */
static bm_status begin_rule(bm_keep_rules *out, const char *words, size_t len, bm_keep_rule **rule,
                            bm_error *err)
{
    bm_keep_rule *rules = bm_resize(out->rules, out->n + 1, sizeof *rules);
    if (rules == NULL)
        return bm_fail_nomem(err, (out->n + 1) * sizeof *rules);
    out->rules = rules;
    *rule = &rules[out->n];
    **rule = (bm_keep_rule){.words = bm_strndup(words, len)};
    if ((*rule)->words == NULL)
        return bm_fail_nomem(err, len);
    out->n++;
    return BM_OK;
}

static bm_status add_rule(bm_keep_rules *out, const char *text, size_t len, bm_error *err)
{
    bm_keep_rule *rule = NULL;
    BM_TRY(begin_rule(out, text, len, &rule, err));
    const char *words = rule->words;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const size_t n = strlen(kinds[i].word);
        const bool more = kinds[i].word[n - 1] == ':';
        rule->kind = kinds[i].kind;
        if (more && strncmp(words, kinds[i].word, n) == 0)
            return parse_rest(out, rule, words + n, err);
        if (!more && strcmp(words, kinds[i].word) == 0)
            return BM_OK;
    }
    return refuse(words, "there is no such rule", err);
}

static void drop_rule(bm_keep_rules *rules)
{
    bm_keep_rule *rule = &rules->rules[--rules->n];
    for (size_t i = 0; i < rule->n_values; i++)
        bm_free((char *)rule->values[i].data);
    bm_free_all(rule->values, (char *)rule->words);
}

static bm_status parse(const char *list, bm_keep_rules *out, bm_error *err)
{
    bool decided = false; /* an earlier rule decides in any case */
    for (bool more = true; more;) {
        const size_t len = part_end(list, ',');
        BM_TRY(add_rule(out, list, len, err));
        const bm_keep_kind kind = out->rules[out->n - 1].kind;
        more = list[len] != '\0';
        list += len + more;
        if (kind == BM_KEEP_RULE_NONE && (more || out->n > 1 || decided))
            return refuse("none", "it stands alone", err);
        const bool ends = kind == BM_KEEP_RULE_FIRST || kind == BM_KEEP_RULE_LAST;
        out->last = out->last || (kind == BM_KEEP_RULE_LAST && !decided);
        out->none = kind == BM_KEEP_RULE_NONE;
        /* a rule after `first` or `last` is checked, but cannot decide anything */
        if (decided && bm_keep_looks_at_field(kind))
            out->n_by_field--;
        if (ends || decided || out->none)
            drop_rule(out);
        decided = decided || ends;
    }
    return BM_OK;
}

bm_status bm_keep_rules_parse(const char *list, bm_keep_rules *out, bm_error *err)
{
    *out = (bm_keep_rules){0};
    bm_status status = parse(list, out, err);
    if (status != BM_OK)
        bm_keep_rules_reset(out);
    return status;
}

bm_status bm_keep_rules_add_within(bm_keep_rules *rules, const char *field, bm_error *err)
{
    bm_keep_rule *rule = NULL;
    BM_TRY(begin_rule(rules, field, strlen(field), &rule, err));
    rule->kind = BM_KEEP_RULE_WITHIN;
    rules->n_by_field++;
    return add_field(rules, field, strlen(field), &rule->field, err);
}

void bm_keep_rules_reset(bm_keep_rules *rules)
{
    while (rules->n > 0)
        drop_rule(rules);
    for (size_t i = 0; i < rules->n_fields; i++)
        bm_free((char *)rules->fields[i]);
    bm_free_all(rules->fields, rules->rules);
    *rules = (bm_keep_rules){0};
}

bool bm_keep_key_split(const bm_keep_rules *rules, bm_str key, bm_keep_key_parts *out)
{
    const size_t tail = rules->n_by_field + BM_KEEP_NAMES_LEN;
    if (key.len < tail)
        return false;
    const unsigned char *len = (const unsigned char *)key.data + key.len - tail;
    const size_t names = (size_t)len[0] << 8 | len[1];
    if (names > key.len - tail)
        return false;
    out->compared = (bm_str){key.data, key.len - tail - names};
    out->names = (bm_str){key.data + out->compared.len, names};
    out->seen = key.data + key.len - rules->n_by_field;
    return true;
}

bm_status bm_keep_rule_no_field(const bm_keep_rules *rules, const bm_keep_rule *rule, bm_str names,
                                bm_error *err)
{
    const char *option = rule->kind == BM_KEEP_RULE_WITHIN ? "within" : "keep";
    return bm_fail(err, BM_ERR_INPUT,
                   "`%s` %.100s: no document has a field '%.64s' (the first one has %.*s)", option,
                   rule->words, rules->fields[rule->field], (int)names.len, names.data);
}

bool bm_keep_rules_have(const bm_keep_rules *rules, bm_keep_kind kind)
{
    for (size_t i = 0; i < rules->n; i++)
        if (rules->rules[i].kind == kind)
            return true;
    return false;
}

size_t bm_keep_rule_place(const bm_keep_rule *rule, bm_str value)
{
    size_t i = 0;
    while (i < rule->n_values && (rule->values[i].len != value.len ||
                                  memcmp(rule->values[i].data, value.data, value.len) != 0))
        i++;
    return i;
}
