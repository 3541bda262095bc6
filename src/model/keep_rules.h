/* SPDX-License-Identifier: Apache-2.0 */
/* keep_rules.h -- the parsed list of rules that select which document of a group is kept.
 *
 *     RULE[,RULE...]   first last longest shortest none
 *                      max:FIELD min:FIELD  order:FIELD=A|B|C  sources:A|B|C
 *
 * In a name or value, `\,` means a comma and `\|` a bar; any other backslash is literal. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef enum bm_keep_kind {
    BM_KEEP_RULE_FIRST,
    BM_KEEP_RULE_LAST,
    BM_KEEP_RULE_LONGEST,
    BM_KEEP_RULE_SHORTEST,
    BM_KEEP_RULE_MAX,
    BM_KEEP_RULE_MIN,
    BM_KEEP_RULE_ORDER,
    BM_KEEP_RULE_SOURCES,
    BM_KEEP_RULE_NONE,
    /* The `within` option. It is no rule that `keep` can list: the values of its field divide the
     * documents into separate sets. It is the last rule. */
    BM_KEEP_RULE_WITHIN
} bm_keep_kind;

static inline bool bm_keep_looks_at_field(bm_keep_kind kind)
{
    return kind == BM_KEEP_RULE_MAX || kind == BM_KEEP_RULE_MIN || kind == BM_KEEP_RULE_ORDER ||
           kind == BM_KEEP_RULE_WITHIN;
}

typedef struct bm_keep_rule {
    bm_keep_kind kind;
    const char *words; /* the rule as it was given, for messages and reports */
    size_t field;      /* MAX, MIN, ORDER: index in bm_keep_rules.fields */
    bm_str *values;    /* ORDER, SOURCES: the listed values, best first */
    size_t n_values;
} bm_keep_rule;

typedef struct bm_keep_rules {
    bm_keep_rule *rules; /* rules that may decide; not `first`, `last`, or rules after these */
    size_t n;
    const char **fields; /* the fields that rules read, each only once */
    size_t n_fields;
    size_t n_by_field; /* how many rules read a field */
    /* if no rule decides, the document that is last in the input is preferred; false: the first */
    bool last;
    bool none;   /* no document of a group is kept, and there are no rules */
} bm_keep_rules; /* {0}: the document that is first in the input is kept */

/* What a rule found in a field of a record. The last bytes of the record's key store this for each
 * rule that reads a field (input/keep_key.h). */
typedef enum bm_keep_seen {
    BM_KEEP_SEEN,
    BM_KEEP_SEEN_MISSING,  /* the value is missing */
    BM_KEEP_SEEN_OTHER,    /* the type of the value has no order */
    BM_KEEP_SEEN_UNLISTED, /* `order`: the rule does not list the value */
    BM_KEEP_SEEN_ABSENT    /* the record has no such field */
} bm_keep_seen;

#define BM_KEEP_NAMES_LEN 2u /* bytes in a key that store the length of the names */

/* The parts of a key (input/keep_key.h). bm_keep_key_split returns false if the bytes are no
 * key. */
typedef struct bm_keep_key_parts {
    bm_str compared;
    bm_str names;     /* names of the record's fields; usually empty */
    const char *seen; /* a bm_keep_seen for each rule that reads a field, in order */
} bm_keep_key_parts;
bool bm_keep_key_split(const bm_keep_rules *rules, bm_str key, bm_keep_key_parts *out);
/* Fail with BM_ERR_INPUT: no document has the field of the rule, so the rule is a mistake. `names`
 * are the names of the first document's fields. */
bm_status bm_keep_rule_no_field(const bm_keep_rules *rules, const bm_keep_rule *rule, bm_str names,
                                bm_error *err);

/* Parse a list of rules. BM_ERR_USAGE names `keep`. On failure `out` is {0}. */
bm_status bm_keep_rules_parse(const char *list, bm_keep_rules *out, bm_error *err);
void bm_keep_rules_reset(bm_keep_rules *rules);
/* Add a last rule `within`: documents are also divided by the value of `field`. */
bm_status bm_keep_rules_add_within(bm_keep_rules *rules, const char *field, bm_error *err);
/* Do the rules rank documents by anything besides their order in the input? */
static inline bool bm_keep_rules_rank(const bm_keep_rules *rules)
{
    return rules->n > 0 && rules->rules[0].kind != BM_KEEP_RULE_WITHIN;
}
/* Are documents divided by the value of a field? */
static inline bool bm_keep_rules_divide(const bm_keep_rules *rules)
{
    return rules->n > 0 && rules->rules[rules->n - 1].kind == BM_KEEP_RULE_WITHIN;
}
/* Is there a rule of this kind? */
bool bm_keep_rules_have(const bm_keep_rules *rules, bm_keep_kind kind);
/* The index of `value` among the values of the rule; n_values: the rule does not list it. */
size_t bm_keep_rule_place(const bm_keep_rule *rule, bm_str value);
