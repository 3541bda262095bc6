/* split_json.c -- where an element of one top-level array ends: strict between elements, by brackets
 * and strings within them.
 *
 *     START --[--> FIRST --]--> END                    white space is passed over in all of these
 *                    '--element--> AFTER --]--> END
 *                        '-- NEXT <--,--'
 *
 * An element whose brackets and quotes fit is a record whatever else is wrong with it: the parser
 * says what (parse_jsonl.c), and reading goes on behind it. Where they do not fit nobody can say
 * where the next element begins, so the file is broken there. Limits: of the levels deeper than
 * BM_JSON_DEPTH_MAX only the number of brackets counts; such a record is bad anyway.
 *
 * Tests: tests/unit/input/test_split_json.c, tests/unit/input/test_reader.c */
#include <string.h>

#include "input/record_format.h"

enum { START, FIRST, NEXT, AFTER, END, SCALAR, INSIDE, STRING, ESCAPE };

#define ONES  UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

static void broken(bm_scan *scan, size_t at, const char *why)
{
    scan->broken = why;
    scan->at = at;
}

/* Not 0 where some byte is 0. */
static uint64_t has_zero(uint64_t word)
{
    return (word - ONES) & ~word & HIGHS;
}

/* The next quote or backslash, eight bytes at a time; `to`: none. */
static size_t skip_plain(const char *data, size_t pos, size_t to)
{
    for (uint64_t word; to - pos >= sizeof word; pos += sizeof word) {
        memcpy(&word, data + pos, sizeof word);
        if ((has_zero(word ^ ONES * '"') | has_zero(word ^ ONES * '\\')) != 0)
            break;
    }
    while (pos < to && data[pos] != '"' && data[pos] != '\\')
        pos++;
    return pos;
}

static void open_bracket(bm_scan *scan, bool object)
{
    uint32_t level = scan->depth++;
    if (level >= BM_JSON_DEPTH_MAX)
        return;
    uint8_t bit = (uint8_t)(1u << (level % 8));
    uint8_t *objects = &scan->objects[level / 8];
    *objects = (uint8_t)(object ? *objects | bit : *objects & ~bit);
}

/* False: another bracket was open. */
static bool close_bracket(bm_scan *scan, bool object)
{
    uint32_t level = --scan->depth;
    return level >= BM_JSON_DEPTH_MAX ||
           ((scan->objects[level / 8] >> (level % 8) & 1) != 0) == object;
}

static void begin_element(bm_scan *scan, size_t pos, char byte)
{
    if (memchr("}:,]", byte, 4) != NULL) {
        broken(scan, pos, "an element was expected in the array");
        return;
    }
    scan->before = scan->state;
    scan->begin = pos;
    scan->depth = 0;
    scan->state = byte == '"' ? STRING : byte == '{' || byte == '[' ? INSIDE : SCALAR;
    if (scan->state == INSIDE)
        open_bracket(scan, byte == '{');
}

/* One byte outside of elements. */
static void step_between(bm_scan *scan, size_t pos, char byte)
{
    if (is_space(byte))
        return;
    switch (scan->state) {
    case START:
        if (byte == '[')
            scan->state = FIRST;
        else
            broken(scan, pos, "an array was expected (of an object a line: `format` jsonl)");
        break;
    case FIRST:
    case NEXT:
        if (byte == ']' && scan->state == FIRST)
            scan->state = END;
        else
            begin_element(scan, pos, byte);
        break;
    case AFTER:
        if (byte == ',' || byte == ']')
            scan->state = byte == ',' ? NEXT : END;
        else
            broken(scan, pos, "a comma or ] was expected behind an element of the array");
        break;
    default:
        broken(scan, pos, "nothing more was expected behind the array");
    }
}

/* One byte inside of brackets, outside of strings. True: the element ends with it. */
static bool step_inside(bm_scan *scan, size_t pos, char byte)
{
    if (byte == '"')
        scan->state = STRING;
    else if (byte == '{' || byte == '[')
        open_bracket(scan, byte == '{');
    else if ((byte == '}' || byte == ']') && !close_bracket(scan, byte == '}'))
        broken(scan, pos, byte == '}' ? "} where a [ is open" : "] where a { is open");
    if (scan->depth > 0 || scan->broken != NULL)
        return false;
    scan->state = AFTER;
    return true;
}

/* In a string; *pos is moved on. True: the element was that string, and ends. */
static bool step_string(bm_scan *scan, const char *data, size_t *pos, size_t to)
{
    *pos = skip_plain(data, *pos, to);
    if (*pos == to)
        return false;
    if (data[(*pos)++] == '\\') {
        scan->state = ESCAPE;
        return false;
    }
    scan->state = scan->depth == 0 ? AFTER : INSIDE;
    return scan->depth == 0;
}

size_t bm_element_end(bm_scan *scan, const char *data, size_t from, size_t to)
{
    if (scan->state <= END)
        scan->begin = BM_SCAN_MORE;
    for (size_t pos = from; pos < to && scan->broken == NULL;) {
        switch (scan->state) {
        case STRING:
            if (step_string(scan, data, &pos, to))
                return pos;
            break;
        case ESCAPE:
            scan->state = STRING;
            pos++;
            break;
        case INSIDE:
            if (step_inside(scan, pos, data[pos]))
                return pos + 1;
            pos++;
            break;
        case SCALAR:
            if (is_space(data[pos]) || memchr("{}[],:\"", data[pos], 7) != NULL) {
                scan->state = AFTER;
                return pos;
            }
            pos++;
            break;
        default:
            step_between(scan, pos, data[pos]);
            pos++;
        }
    }
    return BM_SCAN_MORE;
}

const char *bm_elements_unclosed(const bm_scan *scan)
{
    switch (scan->state) {
    case END:
        return NULL;
    case START:
        return "the file ends (an array was expected)";
    case FIRST:
    case NEXT:
    case AFTER:
        return "the file ends before the array is closed";
    default:
        return "the file ends within the element that begins here";
    }
}
