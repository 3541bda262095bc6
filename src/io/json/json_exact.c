/* json_exact.c -- a state machine over tokens.
 *
 *     VALUE --scalar--> AFTER --,--> VALUE or KEY        text ends in DONE
 *       '--{--> KEY or }     '--} ]--> AFTER, DONE at depth 0
 *       '--[--> VALUE or ]
 *
 * Paths are followed while the text is read: `matched` of a path's parts name the objects that
 * enclose the value now being read (parts[0] at depth 1). A key at depth d can go on with a path
 * only when d-1 of its parts are matched; a second key of the same name forgets what the first one
 * held. Arrays add a depth that no part can match, so paths do not reach into them. */
#include "io/json/json_exact.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "io/json/json_string.h"

typedef enum state { VALUE, VALUE_OR_END, KEY, KEY_OR_END, COLON, AFTER, DONE } state;

/* How far a path has been followed. */
typedef struct follow {
    size_t matched;
    bool wanted;       /* the value that comes next is the path's */
    bool in_out;       /* its string was rewritten, and lies in exact->out ... */
    size_t out_offset; /* ... from here on */
} follow;

struct bm_json_exact {
    const bm_json_path *paths;
    size_t n_paths;
    follow *follows;
    bm_json_field *fields; /* to be filled by this run */
    bm_str text;
    size_t pos;
    state state;
    uint32_t depth;
    uint8_t is_object[BM_JSON_DEPTH_MAX / 8]; /* a bit a level; else it is an array */
    bm_buf out;                               /* the strings that had to be rewritten */
    bm_buf key;
    bm_status status; /* BM_ERR_NOMEM: the run ends */
    bm_error *err;
    char reason[160];
};

bm_status bm_json_exact_open(const bm_json_path *paths, size_t n_paths, bm_json_exact **out,
                             bm_error *err)
{
    bm_json_exact *exact = bm_alloc_zero(1, sizeof *exact);
    follow *follows = bm_alloc_zero(n_paths, sizeof *follows);
    if (exact == NULL || follows == NULL) {
        bm_free(exact);
        bm_free(follows);
        return bm_fail_nomem(err, sizeof *exact + n_paths * sizeof *follows);
    }
    exact->paths = paths;
    exact->n_paths = n_paths;
    exact->follows = follows;
    *out = exact;
    return BM_OK;
}

void bm_json_exact_close(bm_json_exact *exact)
{
    if (exact == NULL)
        return;
    bm_buf_reset(&exact->out);
    bm_buf_reset(&exact->key);
    bm_free(exact->follows);
    bm_free(exact);
}

/* The text is broken at `pos`; bytes are counted from 1. Always false. */
static bool broken(bm_json_exact *x, size_t pos, const char *why)
{
    snprintf(x->reason, sizeof x->reason, "broken JSON at byte %zu (%s)", pos + 1, why);
    return false;
}

static bool no_memory(bm_json_exact *x, bm_status status)
{
    x->status = status;
    return false;
}

static bool in_object(const bm_json_exact *x)
{
    uint32_t top = x->depth - 1;
    return (x->is_object[top / 8] >> (top % 8) & 1) != 0;
}

static bool enter(bm_json_exact *x, bool object)
{
    if (x->depth == BM_JSON_DEPTH_MAX) {
        snprintf(x->reason, sizeof x->reason, "JSON nested deeper than %u levels, at byte %zu",
                 BM_JSON_DEPTH_MAX, x->pos + 1);
        return false;
    }
    uint32_t top = x->depth++;
    uint8_t bit = (uint8_t)(1u << (top % 8));
    x->is_object[top / 8] =
        (uint8_t)(object ? x->is_object[top / 8] | bit : x->is_object[top / 8] & ~bit);
    x->state = object ? KEY_OR_END : VALUE_OR_END;
    x->pos++;
    return true;
}

static void leave(bm_json_exact *x)
{
    x->pos++;
    x->depth--;
    x->state = x->depth == 0 ? DONE : AFTER;
}

/* A value of this kind begins: fill the fields of the paths that want it. True: there are some. */
static bool settle(bm_json_exact *x, bm_json_kind kind, bm_str source)
{
    bool wanted = false;
    for (size_t i = 0; i < x->n_paths; i++) {
        if (!x->follows[i].wanted)
            continue;
        x->fields[i] = (bm_json_field){.kind = kind, .value = source};
        x->follows[i].in_out = false;
        wanted = true;
        if (kind != BM_JSON_STRING)
            x->follows[i].wanted = false;
    }
    return wanted;
}

static bool take_key(bm_json_exact *x, const bm_json_span *span)
{
    bm_str key = {.data = x->text.data + span->begin, .len = span->end - span->begin};
    bm_json_repair repair = {0};
    if (span->escapes || span->beyond_ascii) {
        x->key.len = 0;
        bm_status status = bm_json_string_plain(key, &x->key, &repair, x->err);
        if (status != BM_OK)
            return no_memory(x, status);
        key = (bm_str){.data = x->key.data, .len = x->key.len};
    }
    for (size_t i = 0; i < x->n_paths; i++) {
        follow *f = &x->follows[i];
        const bm_json_path *path = &x->paths[i];
        if (f->matched >= x->depth)
            f->matched = x->depth - 1; /* of the key before */
        if (f->matched != x->depth - 1 || x->depth > path->n_parts || repair.n_invalid > 0)
            continue;
        const bm_str *part = &path->parts[x->depth - 1];
        if (part->len != key.len || (key.len > 0 && memcmp(part->data, key.data, key.len) != 0))
            continue;
        x->fields[i] = (bm_json_field){.kind = BM_JSON_MISSING};
        if (x->depth == path->n_parts)
            f->wanted = true;
        else
            f->matched = x->depth;
    }
    return true;
}

/* The string is a value: unescape it once for all paths that want it. */
static bool take_string(bm_json_exact *x, const bm_json_span *span)
{
    bm_str raw = {.data = x->text.data + span->begin, .len = span->end - span->begin};
    if (!settle(x, BM_JSON_STRING, raw))
        return true;
    bool rewrite =
        span->escapes || (span->beyond_ascii && bm_utf8_valid_prefix(raw.data, raw.len) != raw.len);
    bm_json_repair repair = {.len_bytes = raw.len};
    size_t offset = x->out.len;
    if (rewrite) {
        repair.len_bytes = 0;
        bm_status status = bm_json_string_plain(raw, &x->out, &repair, x->err);
        if (status != BM_OK)
            return no_memory(x, status);
    }
    for (size_t i = 0; i < x->n_paths; i++) {
        follow *f = &x->follows[i];
        if (!f->wanted)
            continue;
        f->wanted = false;
        f->in_out = rewrite;
        f->out_offset = offset;
        x->fields[i].len_bytes = repair.len_bytes;
        x->fields[i].n_invalid = repair.n_invalid;
        if (rewrite)
            x->fields[i].value.len = x->out.len - offset;
    }
    return true;
}

static bool read_string(bm_json_exact *x, bm_json_span *span)
{
    const char *why = bm_json_string_end(x->text, x->pos + 1, span);
    if (why != NULL)
        return broken(x, span->end, why);
    x->pos = span->end + 1;
    return true;
}

static size_t skip_digits(bm_str text, size_t pos)
{
    while (pos < text.len && text.data[pos] >= '0' && text.data[pos] <= '9')
        pos++;
    return pos;
}

/* -? (0 | 1-9 digits) (. digits)? ((e|E) (+|-)? digits)? */
static bool read_number(bm_json_exact *x)
{
    bm_str t = x->text;
    size_t begin = x->pos, pos = begin + (t.data[begin] == '-'), from = pos;
    pos = skip_digits(t, pos);
    if (pos == from)
        return broken(x, pos, "a digit was expected");
    if (t.data[from] == '0' && pos > from + 1)
        return broken(x, from, "a number must not begin with 0");
    if (pos < t.len && t.data[pos] == '.') {
        from = pos + 1;
        pos = skip_digits(t, from);
        if (pos == from)
            return broken(x, pos, "a digit was expected behind the point");
    }
    if (pos < t.len && (t.data[pos] == 'e' || t.data[pos] == 'E')) {
        pos++;
        pos += pos < t.len && (t.data[pos] == '+' || t.data[pos] == '-');
        from = pos;
        pos = skip_digits(t, from);
        if (pos == from)
            return broken(x, pos, "a digit was expected in the exponent");
    }
    settle(x, BM_JSON_NUMBER, (bm_str){.data = t.data + begin, .len = pos - begin});
    x->pos = pos;
    return true;
}

static bool read_word(bm_json_exact *x, const char *word, bm_json_kind kind)
{
    size_t n = strlen(word);
    if (x->text.len - x->pos < n || memcmp(x->text.data + x->pos, word, n) != 0)
        return broken(x, x->pos, "a value was expected");
    settle(x, kind, (bm_str){.data = "", .len = 0});
    x->pos += n;
    return true;
}

static bool read_scalar(bm_json_exact *x, char byte)
{
    bm_json_span span;
    switch (byte) {
    case '"':
        return read_string(x, &span) && take_string(x, &span);
    case 't':
        return read_word(x, "true", BM_JSON_BOOL);
    case 'f':
        return read_word(x, "false", BM_JSON_BOOL);
    case 'n':
        return read_word(x, "null", BM_JSON_NULL);
    default:
        if (byte == '-' || (byte >= '0' && byte <= '9'))
            return read_number(x);
        return broken(x, x->pos, "a value was expected");
    }
}

static bool read_value(bm_json_exact *x, char byte)
{
    if (byte == '{' || byte == '[') {
        settle(x, byte == '{' ? BM_JSON_OBJECT : BM_JSON_ARRAY, (bm_str){.data = "", .len = 0});
        return enter(x, byte == '{');
    }
    x->state = x->depth == 0 ? DONE : AFTER;
    return read_scalar(x, byte);
}

static bool read_key(bm_json_exact *x, char byte)
{
    bm_json_span span;
    if (byte != '"')
        return broken(x, x->pos,
                      x->state == KEY ? "a key in quotes was expected"
                                      : "a key in quotes or } was expected");
    x->state = COLON;
    return read_string(x, &span) && take_key(x, &span);
}

/* One token; pos stands on its first byte. */
static bool step(bm_json_exact *x, char byte)
{
    switch (x->state) {
    case VALUE_OR_END:
        if (byte == ']') {
            leave(x);
            return true;
        }
        return read_value(x, byte);
    case VALUE:
        return read_value(x, byte);
    case KEY_OR_END:
        if (byte == '}') {
            leave(x);
            return true;
        }
        return read_key(x, byte);
    case KEY:
        return read_key(x, byte);
    case COLON:
        if (byte != ':')
            return broken(x, x->pos, "a colon was expected");
        x->state = VALUE;
        x->pos++;
        return true;
    case AFTER:
        if (byte == ',') {
            x->state = in_object(x) ? KEY : VALUE;
            x->pos++;
            return true;
        }
        if (byte != (in_object(x) ? '}' : ']'))
            return broken(x, x->pos,
                          in_object(x) ? "a comma or } was expected" : "a comma or ] was expected");
        leave(x);
        return true;
    case DONE:
        break;
    }
    return broken(x, x->pos, "nothing more was expected behind the value");
}

static bool read_text(bm_json_exact *x)
{
    const char *data = x->text.data;
    size_t first = SIZE_MAX;
    for (;;) {
        while (x->pos < x->text.len && (data[x->pos] == ' ' || data[x->pos] == '\t' ||
                                        data[x->pos] == '\n' || data[x->pos] == '\r'))
            x->pos++;
        if (x->pos == x->text.len)
            break;
        if (first == SIZE_MAX)
            first = x->pos;
        if (!step(x, data[x->pos]))
            return false;
    }
    if (x->state != DONE)
        return broken(x, x->pos, "it ends too early");
    if (data[first] != '{') {
        snprintf(x->reason, sizeof x->reason, "not a JSON object (one was expected)");
        return false;
    }
    return true;
}

bm_status bm_json_exact_run(bm_json_exact *exact, bm_str text, bm_json_field *fields,
                            const char **broken_why, bm_error *err)
{
    exact->text = text;
    exact->fields = fields;
    exact->pos = 0;
    exact->depth = 0;
    exact->state = VALUE;
    exact->out.len = 0;
    exact->status = BM_OK;
    exact->err = err;
    for (size_t i = 0; i < exact->n_paths; i++) {
        exact->follows[i] = (follow){0};
        fields[i] = (bm_json_field){.kind = BM_JSON_MISSING};
    }
    *broken_why = read_text(exact) ? NULL : exact->reason;
    if (exact->status != BM_OK)
        return exact->status;
    for (size_t i = 0; i < exact->n_paths; i++) {
        if (fields[i].kind == BM_JSON_STRING && exact->follows[i].in_out)
            fields[i].value.data = exact->out.data + exact->follows[i].out_offset;
        if (fields[i].value.data == NULL)
            fields[i].value.data = "";
    }
    return BM_OK;
}
