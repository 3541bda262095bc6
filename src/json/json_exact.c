/* SPDX-License-Identifier: Apache-2.0 */
/* json_exact.c -- a state machine over tokens.
 *
 *     VALUE --scalar--> AFTER --,--> VALUE or KEY        text ends in DONE
 *       '--{--> KEY or }     '--} ]--> AFTER, DONE at depth 0
 *       '--[--> VALUE or ]
 *
 * Paths are followed while the text is read. A path leads through the first follow.on of the open
 * objects and arrays, counted from the outermost. In the object or array at depth d (from 1), part
 * d-1 of the path selects a key, or every element. If a key occurs again, its value replaces the
 * earlier value. In a path through arrays, the values gathered since the object began are then
 * dropped. */
#include "json/json_exact.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "json/json_simd.h"
#include "json/json_string.h"

/* in texts up to this size, strings are copied while they are read */
#define COPY_MAX ((size_t)256 << 10)

typedef enum state { VALUE, VALUE_OR_END, KEY, KEY_OR_END, COLON, AFTER, DONE } state;

/* The values gathered by a path through arrays; their text is in follow.text. */
typedef struct gathered {
    size_t len; /* length of the text of the values */
    uint64_t n; /* number of values */
    uint64_t len_bytes, n_invalid;
    bm_json_kind wrong; /* kind of the first value without a text */
    /* number of the first value without a text, from 1; 0: every value has a text */
    uint64_t wrong_at;
    bool in_array; /* the first value without a text is in an array */
} gathered;

/* How far a path has been followed. */
typedef struct follow {
    /* How many of the open objects and arrays the path leads through, counted from the
     * outermost. */
    size_t on;
    bool hit;          /* the key of the next value is the next part of the path */
    bool wanted;       /* the path ends at the string being read */
    bool in_out;       /* the string at the path was rewritten, and is in exact->out */
    size_t out_offset; /* if in_out: offset of the string in exact->out */
    /* begun[d] is the value that `all` had at the beginning of the object at depth d; NULL: the
     * path leads to one value */
    gathered *begun;
    gathered all;
    bm_buf text;
} follow;

/* The form in which strings are delivered. */
typedef enum string_form {
    FORM_REPAIRED, /* as valid UTF-8 */
    FORM_AS_READ,  /* without repair */
    FORM_SPANS     /* as offsets in the text */
} string_form;

struct bm_json_exact {
    const bm_json_path *paths;
    bm_json_path *split; /* `paths`, if the parser owns them; else NULL */
    size_t n_paths;
    size_t n_keys;  /* the last n_keys paths are the names that look like paths, taken as keys */
    size_t *key_of; /* for each of these n_keys paths: index of the requested path of this name */
    bm_json_field *with_keys; /* if n_keys > 0: the fields of all paths */
    follow *follows;
    gathered *begun;       /* memory for follow.begun of all paths */
    bm_json_field *fields; /* filled by the current call */
    bm_str text;
    size_t pos;
    state state;
    string_form form;
    uint32_t depth;
    uint8_t is_object[BM_JSON_DEPTH_MAX / 8]; /* a bit per level: 1 for an object, 0 for an array */
    bm_buf out;                               /* rewritten strings */
    bm_buf key;
    bm_status status; /* BM_ERR_NOMEM: the run ends */
    bm_error *err;
    char reason[256];
};

bm_status bm_json_exact_open(const bm_json_path *paths, size_t n_paths, bm_json_exact **out,
                             bm_error *err)
{
    size_t n_begun = 0;
    for (size_t i = 0; i < n_paths; i++)
        n_begun += paths[i].n_parts;
    bm_json_exact *exact = NULL;
    bm_status status = BM_OK;
    BM_TRY(bm_new_zero(&exact, 1, err));
    BM_TRY_OUT(bm_new_zero(&exact->follows, n_paths, err));
    BM_TRY_OUT(bm_new_zero(&exact->begun, n_begun, err));
    exact->paths = paths;
    exact->n_paths = n_paths;
    gathered *begun = exact->begun;
    for (size_t i = 0; i < n_paths; begun += paths[i++].n_parts)
        if (bm_json_path_is_many(&paths[i], paths[i].n_parts))
            exact->follows[i].begun = begun;
out:
    if (status == BM_OK)
        *out = exact;
    else
        bm_json_exact_close(exact);
    return status;
}

/* Split a component of a path, "name" or "name[][]…", into a name and one part per "[]", and write
 * these to `part`. Returns their end. A component that begins with "[]" has the name "[]". */
static bm_str *split_part(bm_str text, bm_str *part)
{
    size_t n_arrays = 0;
    for (; text.len > 2 && memcmp(text.data + text.len - 2, "[]", 2) == 0; n_arrays++)
        text.len -= 2;
    *part++ = text;
    for (; n_arrays > 0; n_arrays--)
        *part++ = (bm_str){NULL, 0};
    return part;
}

/* May a name be a path as well as a key? */
static bool is_path(const char *name)
{
    return strpbrk(name, ".[") != NULL;
}

/* Copy the bytes of a part, and replace each "\." by a dot. Returns the end of the copy. */
static char *copy_part(const char *from, size_t len, char *out)
{
    for (size_t i = 0; i < len; i++)
        if (from[i] != '\\' || i + 1 == len || from[i + 1] != '.')
            *out++ = from[i];
    return out;
}

/* Split the names into n paths. After them comes a path of one part for each name that may also be
 * a key. */
static void split_names(const char *const *names, size_t n, bm_json_path *paths, bm_str *part,
                        char *text)
{
    bm_json_path *key = paths + n;
    for (size_t i = 0; i < n; i++) {
        const size_t len = strlen(names[i]);
        paths[i].parts = part;
        for (const char *from = names[i];; from++) {
            const size_t bytes = bm_dotted_part_bytes(from);
            char *end = copy_part(from, bytes, text);
            part = split_part((bm_str){text, (size_t)(end - text)}, part);
            text = end;
            from += bytes;
            if (*from == '\0')
                break;
        }
        paths[i].n_parts = (size_t)(part - paths[i].parts);
        if (!is_path(names[i]))
            continue;
        memcpy(text, names[i], len);
        *part = (bm_str){text, len};
        *key++ = (bm_json_path){.parts = part++, .n_parts = 1};
        text += len;
    }
}

bm_status bm_json_exact_open_text(const char *const *paths, size_t n, bm_json_exact **out,
                                  bm_error *err)
{
    size_t n_keys = 0, n_parts = 0, n_bytes = 0;
    for (size_t i = 0; i < n; i++) {
        n_bytes += 2 * strlen(paths[i]);
        n_parts += 2;
        n_keys += is_path(paths[i]);
        for (const char *c = paths[i]; *c != '\0'; c++)
            n_parts += *c == '.' || *c == '[';
    }
    const size_t n_all = n + n_keys,
                 size = n_all * sizeof(bm_json_path) + n_parts * sizeof(bm_str) + n_bytes;
    bm_json_path *split = NULL; /* one block: paths, parts, text */
    bm_json_exact *exact = NULL;
    bm_status status = BM_OK;
    if ((split = bm_alloc(size, 1)) == NULL)
        return bm_fail_nomem(err, size);
    bm_str *parts = (bm_str *)(split + n_all);
    split_names(paths, n, split, parts, (char *)(parts + n_parts));
    BM_TRY_OUT(bm_json_exact_open(split, n_all, &exact, err));
    exact->split = split;
    split = NULL;
    exact->n_keys = n_keys;
    if (n_keys > 0) {
        BM_TRY_OUT(bm_new(&exact->key_of, n_keys, err));
        BM_TRY_OUT(bm_new(&exact->with_keys, n_all, err));
    }
    for (size_t i = 0, key = 0; i < n; i++)
        if (is_path(paths[i]))
            exact->key_of[key++] = i;
    *out = exact;
out:
    if (status != BM_OK)
        bm_json_exact_close(exact);
    bm_free(split);
    return status;
}

void bm_json_exact_close(bm_json_exact *exact)
{
    if (exact == NULL)
        return;
    for (size_t i = 0; i < exact->n_paths; i++)
        bm_buf_reset(&exact->follows[i].text);
    bm_buf_reset(&exact->out);
    bm_buf_reset(&exact->key);
    bm_free_all(exact->follows, exact->begun, exact->split, exact->key_of, exact->with_keys, exact);
}

void bm_json_exact_trim(bm_json_exact *exact, size_t keep)
{
    if (exact->out.cap > keep)
        bm_buf_reset(&exact->out);
    if (exact->key.cap > keep)
        bm_buf_reset(&exact->key);
}

/* For messages: a description of the bytes at which the text is broken, and a hint. */
typedef struct found {
    char what[80];
    const char *hint; /* NULL: none */
} found;

#define WORD_MAX 24u /* messages show at most this many bytes of a word */

/* The length of the word at `pos`. It consists of letters, and may begin with a minus. */
static size_t word_bytes(bm_str text, size_t pos)
{
    size_t end = pos + (text.data[pos] == '-');
    while (end < text.len && ((text.data[end] | 0x20) >= 'a' && (text.data[end] | 0x20) <= 'z'))
        end++;
    return end - pos;
}

static const struct {
    const char *word, *hint;
} foreign_words[] = {
    {"NaN", "JSON has no NaN: null stands for it"},
    {"nan", "JSON has no NaN: null stands for it"},
    {"Infinity", "JSON has no infinity: null stands for it"},
    {"-Infinity", "JSON has no infinity: null stands for it"},
    {"None", "Python's None is null in JSON: json.dumps writes it"},
    {"True", "Python's True is true in JSON: json.dumps writes it"},
    {"False", "Python's False is false in JSON: json.dumps writes it"},
    {"undefined", "JSON has no undefined: null stands for it"},
};

static const struct {
    const char *bytes, *what, *hint;
} known_bytes[] = {
    {"\xEF\xBB\xBF", "U+FEFF, a byte order mark",
     "one may stand at the beginning of a file, and nowhere else"},
    {"\x1E", "RS (0x1E), the separator of RFC 7464", "`tr -d '\\036'` takes it out"},
    {"#", "#", "JSON has no comments"},
    {"//", "//", "JSON has no comments"},
    {"/*", "/*", "JSON has no comments"},
    {"'", "a single quote", "JSON has double quotes; Python's json.dumps writes them"},
};

/* Describe the word at `pos`. False: there is no word. */
static bool find_word(bm_str text, size_t pos, found *out)
{
    const size_t len = word_bytes(text, pos);
    if (len < 1 || (len == 1 && text.data[pos] == '-'))
        return false;
    snprintf(out->what, sizeof out->what, "%.*s%s", (int)(len < WORD_MAX ? len : WORD_MAX),
             text.data + pos, len < WORD_MAX ? "" : "...");
    for (size_t i = 0; i < sizeof foreign_words / sizeof foreign_words[0]; i++)
        if (strlen(foreign_words[i].word) == len &&
            memcmp(foreign_words[i].word, text.data + pos, len) == 0)
            out->hint = foreign_words[i].hint;
    return true;
}

static found find_out(bm_str text, size_t pos)
{
    found f = {.what = "it ends"};
    if (pos >= text.len)
        return f;
    const char *at = text.data + pos;
    const size_t left = text.len - pos;
    for (size_t i = 0; i < sizeof known_bytes / sizeof known_bytes[0]; i++) {
        const size_t len = strlen(known_bytes[i].bytes);
        if (len > left || memcmp(at, known_bytes[i].bytes, len) != 0)
            continue;
        snprintf(f.what, sizeof f.what, "%s", known_bytes[i].what);
        f.hint = known_bytes[i].hint;
        return f;
    }
    if (find_word(text, pos, &f))
        return f;
    uint32_t code;
    bool hidden;
    const size_t len = bm_text_next(at, left, &code, &hidden);
    if (*at == '\0')
        snprintf(f.what, sizeof f.what, "NUL");
    else if (hidden)
        snprintf(f.what, sizeof f.what, "0x%02X", (unsigned)(unsigned char)*at);
    else
        snprintf(f.what, sizeof f.what, "%.*s", (int)len, at);
    return f;
}

/* Report that the text is broken at `pos`. In the message, bytes are counted from 1. Always returns
 * false. */
static bool broken(bm_json_exact *x, size_t pos, const char *expected)
{
    const found f = find_out(x->text, pos);
    snprintf(x->reason, sizeof x->reason, "broken JSON at byte %zu: %s (%s%s%s)", pos + 1, f.what,
             expected, f.hint != NULL ? "; " : "", f.hint != NULL ? f.hint : "");
    return false;
}

#define ONE_COMMA_MORE ": the comma before it is one too many"

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

static void close_container(bm_json_exact *x)
{
    for (size_t i = 0; i < x->n_paths; i++)
        if (x->follows[i].on == x->depth)
            x->follows[i].on--;
    x->pos++;
    x->depth--;
    x->state = x->depth == 0 ? DONE : AFTER;
}

/* Begin one more value of this kind for a path through arrays: count it, and write a newline after
 * the values before it. The text of a string is added later. */
static bool gather(bm_json_exact *x, size_t path, bm_json_kind kind)
{
    follow *f = &x->follows[path];
    f->all.n++;
    if (kind != BM_JSON_STRING && kind != BM_JSON_NULL && f->all.wrong_at == 0) {
        f->all.wrong = kind;
        f->all.wrong_at = f->all.n;
        f->all.in_array = bm_json_path_is_many(&x->paths[path], x->depth);
    }
    if (f->all.n == 1)
        return true;
    f->text.len = f->all.len;
    bm_status status = bm_buf_add(&f->text, "\n", 1, x->err);
    f->all.len = f->text.len;
    f->all.len_bytes++;
    return status == BM_OK || no_memory(x, status);
}

/* Append the text of a string. `string` is a view that is valid until another string is
 * rewritten. */
static bool gather_string(bm_json_exact *x, follow *f, bm_str string, const bm_json_repair *repair)
{
    f->text.len = f->all.len;
    bm_status status = bm_buf_add(&f->text, string.data, string.len, x->err);
    if (status != BM_OK)
        return no_memory(x, status);
    f->all.len = f->text.len;
    f->all.len_bytes += repair->len_bytes;
    f->all.n_invalid += repair->n_invalid;
    return true;
}

/* Handle the beginning of a value of kind `kind`, to which the first x->depth parts of a path lead.
 * If these are all parts, the path ends at the value. Else it leads on into the value or, if that
 * is no object or array as the next part requires, nowhere. `source`: the bytes of a number.
 * False: there is no memory. */
static bool reach(bm_json_exact *x, size_t path, bm_json_kind kind, bm_str source)
{
    follow *f = &x->follows[path];
    const bool many = f->begun != NULL;
    if (x->depth == x->paths[path].n_parts) {
        f->wanted = kind == BM_JSON_STRING;
        if (many && kind == BM_JSON_NUMBER && bm_json_path_has_numbers(&x->paths[path]))
            return gather(x, path, BM_JSON_STRING) &&
                   gather_string(x, f, source, &(bm_json_repair){.len_bytes = source.len});
        if (many)
            return gather(x, path, kind);
        x->fields[path] = (bm_json_field){.kind = kind, .value = source};
        f->in_out = false;
        return true;
    }
    const bool array = bm_json_part_is_array(&x->paths[path].parts[x->depth]);
    if (kind == (array ? BM_JSON_ARRAY : BM_JSON_OBJECT)) {
        f->on = x->depth + 1;
        if (array || !many)
            return true;
        f->begun[x->depth] = f->all; /* the value counts as missing until the key is found */
    }
    return !many || gather(x, path, BM_JSON_MISSING);
}

/* Handle the beginning of a value for all paths that lead to it. False: there is no memory. */
static bool begin_value(bm_json_exact *x, bm_json_kind kind, bm_str source)
{
    for (size_t i = 0; i < x->n_paths; i++) {
        follow *f = &x->follows[i];
        bool leads = f->on == x->depth && (x->depth == 0 || f->hit ||
                                           bm_json_part_is_array(&x->paths[i].parts[x->depth - 1]));
        f->hit = f->wanted = false;
        if (leads && !reach(x, i, kind, source))
            return false;
    }
    return true;
}

static bool match_key(bm_json_exact *x, const bm_json_span *span)
{
    bm_str key = {.data = x->text.data + span->begin, .len = span->end - span->begin};
    bm_json_repair repair = {0};
    if (span->escapes || span->beyond_ascii) {
        x->key.len = 0;
        bm_status status = bm_json_string_plain(key, span->beyond_ascii, &x->key, &repair, x->err);
        if (status != BM_OK)
            return no_memory(x, status);
        key = (bm_str){.data = x->key.data, .len = x->key.len};
    }
    for (size_t i = 0; i < x->n_paths && repair.n_invalid == 0; i++) {
        follow *f = &x->follows[i];
        if (f->on != x->depth)
            continue;
        const bm_str *part = &x->paths[i].parts[x->depth - 1];
        if (part->len != key.len || (key.len > 0 && memcmp(part->data, key.data, key.len) != 0))
            continue;
        f->hit = true;
        if (f->begun != NULL)
            f->all = f->begun[x->depth - 1];
        else
            x->fields[i] = (bm_json_field){.kind = BM_JSON_MISSING};
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

/* Pass the string to the paths that end at it. `in_out`: the string is the last in x->out, and
 * begins at `offset`. */
static bool deliver_string(bm_json_exact *x, bm_str string, bool in_out, size_t offset,
                           const bm_json_repair *repair)
{
    for (size_t i = 0; i < x->n_paths; i++) {
        follow *f = &x->follows[i];
        if (!f->wanted)
            continue;
        f->wanted = false;
        if (f->begun != NULL) {
            if (!gather_string(x, f, string, repair))
                return false;
            continue;
        }
        f->in_out = in_out;
        f->out_offset = offset;
        x->fields[i].value = string;
        x->fields[i].len_bytes = repair->len_bytes;
        x->fields[i].n_invalid = repair->n_invalid;
    }
    return true;
}

/* Pass the offsets of a string to the paths that end at it. */
static bool deliver_span(bm_json_exact *x, const bm_json_span *span)
{
    const size_t offset = x->out.len;
    const bm_json_place place = {span->begin, span->end};
    char bytes[1 + sizeof place] = {BM_JSON_PLACE};
    memcpy(bytes + 1, &place, sizeof place);
    const bm_status status = bm_buf_add(&x->out, bytes, sizeof bytes, x->err);
    if (status != BM_OK)
        return no_memory(x, status);
    return deliver_string(x, (bm_str){x->out.data + offset, x->out.len - offset}, true, offset,
                          &(bm_json_repair){0});
}

/* Read a string that is a value, and unescape it once for all paths that end at it. In a short
 * text, strings are unescaped while they are read. In a long text, strings that need no rewriting
 * are not copied. With FORM_SPANS, only the offsets of the string are passed. */
static bool read_string_value(bm_json_exact *x)
{
    bm_json_span span;
    bm_json_repair repair = {0};
    if (!begin_value(x, BM_JSON_STRING, (bm_str){"", 0}))
        return false;
    bool wanted = false;
    for (size_t i = 0; i < x->n_paths; i++)
        wanted = wanted || x->follows[i].wanted;
    const bool copies = wanted && x->text.len <= COPY_MAX && x->form == FORM_REPAIRED;
    const size_t offset = x->out.len;
    char *copy = copies ? x->out.data + offset : NULL;
    const char *why = copies ? bm_json_string_copy(x->text, x->pos + 1, &span, copy, &repair)
                             : bm_json_string_end(x->text, x->pos + 1, &span);
    if (why != NULL)
        return broken(x, span.end, why);
    x->pos = span.end + 1;
    if (!wanted)
        return true;
    if (x->form == FORM_SPANS)
        return deliver_span(x, &span);
    const bm_str raw = {.data = x->text.data + span.begin, .len = span.end - span.begin};
    const bm_str string = copies ? (bm_str){copy, (size_t)repair.len_bytes} : raw;
    if ((copies || !span.escapes) && (!span.beyond_ascii || x->form == FORM_AS_READ ||
                                      bm_simd_utf8_valid(string.data, string.len))) {
        if (copies)
            x->out.len += string.len;
        else
            repair.len_bytes = raw.len;
        return deliver_string(x, string, copies, offset, &repair);
    }
    repair = (bm_json_repair){0};
    bm_status status = bm_json_string_plain(raw, span.beyond_ascii, &x->out,
                                            x->form == FORM_AS_READ ? NULL : &repair, x->err);
    if (status == BM_OK && copies) /* reserve space for the rest of the text */
        status = bm_buf_reserve(&x->out, x->text.len + BM_JSON_COPY_MORE, x->err);
    if (status != BM_OK)
        return no_memory(x, status);
    return deliver_string(x, (bm_str){x->out.data + offset, x->out.len - offset}, true, offset,
                          &repair);
}

static size_t skip_digits(bm_str text, size_t pos)
{
    while (pos < text.len && text.data[pos] >= '0' && text.data[pos] <= '9')
        pos++;
    return pos;
}

/* Read a number. The grammar is -? (0 | 1-9 digits) (. digits)? ((e|E) (+|-)? digits)? */
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
            return broken(x, pos, "a digit was expected after the point");
    }
    if (pos < t.len && (t.data[pos] == 'e' || t.data[pos] == 'E')) {
        pos++;
        pos += pos < t.len && (t.data[pos] == '+' || t.data[pos] == '-');
        from = pos;
        pos = skip_digits(t, from);
        if (pos == from)
            return broken(x, pos, "a digit was expected in the exponent");
    }
    x->pos = pos;
    return begin_value(x, BM_JSON_NUMBER, (bm_str){.data = t.data + begin, .len = pos - begin});
}

static bool read_word(bm_json_exact *x, const char *word, bm_json_kind kind)
{
    size_t n = strlen(word);
    if (x->text.len - x->pos < n || memcmp(x->text.data + x->pos, word, n) != 0)
        return broken(x, x->pos, "a value was expected");
    x->pos += n;
    return begin_value(x, kind, (bm_str){.data = "", .len = 0});
}

static bool read_scalar(bm_json_exact *x, char byte)
{
    switch (byte) {
    case '"':
        return read_string_value(x);
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
        return begin_value(x, byte == '{' ? BM_JSON_OBJECT : BM_JSON_ARRAY, (bm_str){"", 0}) &&
               enter(x, byte == '{');
    }
    x->state = x->depth == 0 ? DONE : AFTER;
    return read_scalar(x, byte);
}

static bool read_key(bm_json_exact *x, char byte)
{
    bm_json_span span;
    if (byte != '"')
        return broken(x, x->pos,
                      x->state == KEY_OR_END ? "a key in double quotes or } was expected"
                      : byte == '}'          ? "a key in double quotes was expected" ONE_COMMA_MORE
                                             : "a key in double quotes was expected");
    x->state = COLON;
    return read_string(x, &span) && match_key(x, &span);
}

/* Handle one token. x->pos is at the token's first byte. */
static bool step(bm_json_exact *x, char byte)
{
    switch (x->state) {
    case VALUE_OR_END:
        if (byte != ']')
            return read_value(x, byte);
        break;
    case VALUE:
        if (byte == ']' && x->depth > 0 && !in_object(x))
            return broken(x, x->pos, "a value was expected" ONE_COMMA_MORE);
        return read_value(x, byte);
    case KEY_OR_END:
        if (byte != '}')
            return read_key(x, byte);
        break;
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
        break;
    case DONE:
        return broken(x, x->pos, "nothing more was expected after the value");
    }
    close_container(x);
    return true;
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
        return broken(x, x->pos, x->depth > 0 ? "brackets are open" : "a value was expected");
    if (data[first] != '{') {
        snprintf(x->reason, sizeof x->reason, "not a JSON object (%s)",
                 data[first] == '[' ? "`format` json reads a file that is one array of objects"
                                    : "one was expected");
        return false;
    }
    return true;
}

/* Make the field of a path through arrays. */
static bm_json_field all_of(const follow *f)
{
    if (f->all.wrong_at != 0)
        return (bm_json_field){.kind = f->all.wrong,
                               .place = f->all.in_array ? f->all.wrong_at : 0};
    return (bm_json_field){.kind = BM_JSON_STRING,
                           .value = {f->text.data, f->all.len},
                           .len_bytes = f->all.len_bytes,
                           .n_invalid = f->all.n_invalid};
}

bm_status bm_json_exact_run(bm_json_exact *exact, bm_str text, bm_json_field *fields,
                            const char **broken_why, bm_error *err)
{
    bm_json_field *const asked = fields;
    if (exact->n_keys > 0)
        fields = exact->with_keys;
    exact->text = text;
    exact->fields = fields;
    exact->pos = 0;
    exact->depth = 0;
    exact->state = VALUE;
    exact->out.len = 0;
    exact->status = BM_OK;
    exact->err = err;
    for (size_t i = 0; i < exact->n_paths; i++) {
        follow *f = &exact->follows[i];
        f->on = 0;
        f->hit = f->wanted = f->in_out = false;
        f->all = (gathered){0};
        f->text.len = 0;
        fields[i] = (bm_json_field){.kind = BM_JSON_MISSING};
    }
    if (exact->n_paths > 0 && text.len <= COPY_MAX)
        BM_TRY(bm_buf_reserve(&exact->out, text.len + BM_JSON_COPY_MORE, err));
    *broken_why = read_text(exact) ? NULL : exact->reason;
    if (exact->status != BM_OK)
        return exact->status;
    for (size_t i = 0; i < exact->n_paths; i++) {
        const follow *f = &exact->follows[i];
        if (f->begun != NULL)
            fields[i] = all_of(f);
        else if (fields[i].kind == BM_JSON_STRING && f->in_out)
            fields[i].value.data = exact->out.data + f->out_offset;
        if (fields[i].value.data == NULL)
            fields[i].value.data = "";
    }
    const size_t n = exact->n_paths - exact->n_keys;
    for (size_t i = 0; i < exact->n_keys; i++)
        if (fields[n + i].kind != BM_JSON_MISSING)
            fields[exact->key_of[i]] = fields[n + i];
    if (exact->n_keys > 0)
        memcpy(asked, fields, n * sizeof *asked);
    return BM_OK;
}

static bm_status run_as(bm_json_exact *exact, string_form form, bm_str text, bm_json_field *fields,
                        bm_error *err)
{
    const char *broken_why;
    exact->form = form;
    const bm_status status = bm_json_exact_run(exact, text, fields, &broken_why, err);
    exact->form = FORM_REPAIRED;
    return status;
}

bm_status bm_json_exact_run_as_read(bm_json_exact *exact, bm_str text, bm_json_field *fields,
                                    bm_error *err)
{
    return run_as(exact, FORM_AS_READ, text, fields, err);
}

bm_status bm_json_exact_run_places(bm_json_exact *exact, bm_str text, bm_json_field *fields,
                                   bm_error *err)
{
    return run_as(exact, FORM_SPANS, text, fields, err);
}
