/* split_csv.c -- where a row of RFC 4180 ends: at a newline that no quotes enclose.
 *
 *     state     byte: "         ,        newline   other      (the comma, or what else splits rows)
 *     FIELD     -> QUOTED    FIELD    end       PLAIN      at the beginning of a field
 *     PLAIN     PLAIN        FIELD    end       PLAIN      in a field without quotes
 *     QUOTED    -> AFTER     QUOTED   QUOTED    QUOTED
 *     AFTER     QUOTED       FIELD    end       PLAIN      a quote was seen inside quotes
 *
 * A quote in the middle of a plain field and text behind a closing quote are errors of the row
 * (parse_row.c says so); here they only must not move the bounds of the rows around it. The place
 * of the next newline is remembered until it is passed, so that each byte is searched by memchr a
 * bounded number of times.
 *
 * Tests: tests/unit/input/test_reader.c */
#include <string.h>

#include "input/record_format.h"

enum { FIELD, PLAIN, QUOTED, AFTER };

static size_t find(const char *data, size_t from, size_t to, char byte)
{
    const char *found = from < to ? memchr(data + from, byte, to - from) : NULL;
    return found == NULL ? to : (size_t)(found - data);
}

size_t bm_csv_end(bm_scan *scan, const char *data, size_t from, size_t to)
{
    unsigned state = scan->state;
    size_t pos = from, newline = from;
    bool newline_known = false;
    while (pos < to) {
        if (state == QUOTED) {
            pos = find(data, pos, to, '"');
            if (pos < to) {
                pos++;
                state = AFTER;
            }
        } else if (state == AFTER && data[pos] == '"') {
            pos++;
            state = QUOTED;
        } else {
            if (state == AFTER)
                state = PLAIN; /* a comma or a newline is found below */
            if (!newline_known || newline < pos)
                newline = find(data, pos, to, '\n');
            newline_known = true;
            size_t quote = find(data, pos, newline, '"');
            if (quote == newline && newline < to) {
                scan->state = FIELD;
                return newline + 1;
            }
            bool at_field =
                quote == pos ? state == FIELD : bm_row_splits_at(scan->syntax, data[quote - 1]);
            if (quote == to) { /* no quote and no newline: in which state do the bytes end? */
                state = bm_row_splits_at(scan->syntax, data[to - 1]) ? FIELD : PLAIN;
                pos = to;
            } else {
                state = at_field ? QUOTED : PLAIN;
                pos = quote + 1;
            }
        }
    }
    scan->state = state;
    return BM_SCAN_MORE;
}
