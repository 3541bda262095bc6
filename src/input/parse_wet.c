/* parse_wet.c -- records of Common Crawl's text files (WARC, of which WET are the ones of type `conversion`): where one
 * ends, and its id and text.
 *
 *     FIRST --line--> FIELDS --empty line--> BODY --so many bytes--> ENDING --two line ends--> the next record
 *
 * Content-Length says how many bytes of text follow the header, whatever they are. A record without it, or that begins with
 * something else than "WARC/", ends with its header: it is bad, and so is what stands where the next should begin, up to
 * the next empty line, which is where reading finds its way again. Other types are no documents; the first record of a file,
 * if it is of type `warcinfo`, is copied like the header of a table.
 *
 * Limits: a field's line is not continued on the next.
 *
 * Tests: tests/unit/input/test_parser.c, tests/reference/test_records.py */
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "input/parser_state.h"

enum { FIRST, FIELDS, BODY, ENDING };

#define WARC "WARC/"

/* The value, without blanks around it, of a line "NAME: VALUE"; data NULL: of another name. */
static bm_str value_of(bm_str line, const char *name)
{
    const size_t n = strlen(name);
    if (line.len <= n || line.data[n] != ':' || strncasecmp(line.data, name, n) != 0)
        return (bm_str){0};
    bm_str value = {line.data + n + 1, line.len - n - 1};
    for (; value.len > 0 && (*value.data == ' ' || *value.data == '\t'); value.len--)
        value.data++;
    while (value.len > 0 && (value.data[value.len - 1] == ' ' || value.data[value.len - 1] == '\t'))
        value.len--;
    return value;
}

static bool begins_record(bm_str line)
{
    return line.len >= strlen(WARC) && memcmp(line.data, WARC, strlen(WARC)) == 0;
}

static bool read_length(bm_str value, uint64_t *out)
{
    uint64_t length = 0;
    for (size_t i = 0; i < value.len; i++)
        if (value.data[i] < '0' || value.data[i] > '9' ||
            __builtin_mul_overflow(length, 10, &length) ||
            __builtin_add_overflow(length, (uint64_t)(value.data[i] - '0'), &length))
            return false;
    *out = length;
    return value.len > 0;
}

static size_t end_record(bm_scan *scan, size_t at)
{
    scan->state = FIRST;
    scan->wet = (bm_wet_scan){0};
    return at;
}

/* A line of the header is complete. False: it is the last of a record that has nothing behind its header. */
static bool take_line(bm_scan *scan)
{
    bm_wet_scan *w = &scan->wet;
    const bm_str line = bm_without_line_end((bm_str){w->line, w->line_len});
    w->line_len = 0;
    if (line.len == 0) {
        scan->state = w->left > 0 ? BODY : ENDING;
        return w->begun && w->has_length;
    }
    const bm_str length = value_of(line, BM_WET_LENGTH);
    if (scan->state == FIRST)
        w->begun = begins_record(line);
    else if (length.data != NULL && !(w->has_length = read_length(length, &w->left)))
        w->left = 0;
    scan->state = FIELDS;
    return true;
}

size_t bm_wet_end(bm_scan *scan, const char *data, size_t from, size_t to)
{
    bm_wet_scan *w = &scan->wet;
    for (size_t at = from; at < to;) {
        if (scan->state == BODY) {
            const size_t n = w->left < to - at ? (size_t)w->left : to - at;
            at += n;
            w->left -= n;
            if (w->left == 0)
                scan->state = ENDING;
        } else if (scan->state == ENDING) { /* line_len counts line ends */
            if (data[at] != '\n' && data[at] != '\r')
                return end_record(scan, at);
            if (data[at++] == '\n' && ++w->line_len == 2)
                return end_record(scan, at);
        } else {
            const char *newline = memchr(data + at, '\n', to - at);
            const size_t n = newline != NULL ? (size_t)(newline - data) + 1 - at : to - at;
            const size_t room = sizeof w->line - w->line_len;
            memcpy(w->line + w->line_len, data + at, n < room ? n : room);
            w->line_len += n < room ? n : room;
            at += n;
            if (newline != NULL && !take_line(scan))
                return end_record(scan, at);
        }
    }
    return BM_SCAN_MORE;
}

/* What the header of a record says; data NULL: nothing of it. */
typedef struct wet_record {
    bm_str type, id, uri, text;
    const char *broken; /* why it is none, for people; NULL: nothing is wrong with it */
    uint64_t length;
    bool blank; /* nothing but line ends */
} wet_record;

static wet_record read_record(bm_str all)
{
    wet_record r = {.blank = true};
    bool first = true, ended = false, has_length = false;
    size_t at = 0;
    while (at < all.len && !ended) {
        const char *newline = memchr(all.data + at, '\n', all.len - at);
        const size_t end = newline != NULL ? (size_t)(newline - all.data) + 1 : all.len;
        const bm_str line = bm_without_line_end((bm_str){all.data + at, end - at});
        at = end;
        ended = line.len == 0;
        r.blank = r.blank && ended;
        if (first && !ended && !begins_record(line)) {
            r.broken = "it does not begin with \"" WARC "\" (a record of WARC)";
            return r;
        }
        first = false;
        struct {
            const char *name;
            bm_str *out;
        } const fields[] = {{"WARC-Type", &r.type},
                            {BM_WET_ID, &r.id},
                            {BM_WET_URI, &r.uri},
                            {BM_WET_LENGTH, &r.text}};
        for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
            const bm_str value = value_of(line, fields[i].name);
            if (value.data != NULL)
                *fields[i].out = value;
        }
    }
    has_length = read_length(r.text, &r.length);
    const uint64_t left = all.len - at;
    if (r.type.data == NULL)
        r.broken = "no WARC-Type in its header";
    else if (!has_length)
        r.broken = "no " BM_WET_LENGTH " in its header that is a number";
    else if (!ended || r.length > left)
        r.broken = BM_WET_LENGTH " is more than there is (the file was cut short?)";
    r.text = (bm_str){all.data + at, r.length <= left ? (size_t)r.length : 0};
    return r;
}

static bool is_word(bm_str value, const char *word)
{
    return value.len == strlen(word) && strncasecmp(value.data, word, value.len) == 0;
}

bm_record_role bm_wet_role(bm_str raw)
{
    const wet_record r = read_record(raw);
    if (r.blank)
        return BM_ROLE_NONE;
    if (r.broken != NULL || is_word(r.type, "conversion"))
        return BM_ROLE_DOCUMENT;
    return is_word(r.type, "warcinfo") ? BM_ROLE_HEADER : BM_ROLE_NONE;
}

bm_status bm_parse_wet(struct bm_parser *parser, bm_str content, bm_record *record, bm_error *err)
{
    const char *end = record->raw.data + record->raw.len; /* a line end may be the text's */
    const wet_record r = read_record((bm_str){content.data, (size_t)(end - content.data)});
    const bool by_uri = parser->rules->id != NULL && strcmp(parser->rules->id, "uri") == 0;
    record->id = by_uri ? r.uri : r.id;
    if (r.broken != NULL)
        bm_record_bad(&parser->maker, record, "broken record: %s", r.broken);
    else if (record->id.data == NULL && parser->rules->id_given)
        bm_record_bad(&parser->maker, record, "no %s in the record's header",
                      by_uri ? BM_WET_URI : BM_WET_ID);
    if (record->bad)
        return BM_OK;
    record->text = r.text;
    record->text_bytes = r.text.len;
    const bm_utf8_value text = {"text", &parser->text, &record->text},
                        id = {"id", &parser->repaired_id, &record->id};
    BM_TRY(bm_record_make_valid(&parser->maker, record, &text, err));
    if (record->bad)
        return BM_OK;
    return parser->rules->id == NULL || record->id.data == NULL
               ? bm_record_place_id(&parser->maker, record, err)
               : bm_record_make_valid(&parser->maker, record, &id, err);
}
