/* record_maker.h -- what every way of making records shares: the verdict on a bad one, the id of a
 * record that has none of its own, and the rules for UTF-8. A maker a thread. */
#ifndef BM_IO_FORMATS_RECORD_MAKER_H
#define BM_IO_FORMATS_RECORD_MAKER_H

#include "base/memory.h"
#include "input/record.h"
#include "input/record_rules.h"

typedef struct bm_record_maker {
    const bm_record_rules *rules; /* borrowed */
    bool all_valid;               /* whatever comes is known to be valid UTF-8 */
    const char *file_name;        /* of the records that come now; set by the owner, borrowed */
    bm_buf place;                 /* "FILE:" of place_name, then room for the line */
    size_t place_len;             /* of "FILE:" */
    const char *place_name;       /* the file_name of which `place` was made; NULL: none yet */
    char reason[640];
} bm_record_maker; /* {0}, then rules */

void bm_record_maker_reset(bm_record_maker *maker);
/* The record is bad: a reason in the maker's buffer. */
void bm_record_bad(bm_record_maker *maker, bm_record *record, const char *format, ...)
    BM_PRINTF(3, 4);
/* id = FILE:LINE; id = FILE. A view of the maker's buffer until the next call of either. */
bm_status bm_record_place_id(bm_record_maker *maker, bm_record *record, bm_error *err);
bm_status bm_record_file_id(bm_record_maker *maker, bm_record *record, bm_error *err);
/* A record whose id is longer than readers of our files take is bad. */
void bm_record_check_id(bm_record_maker *maker, bm_record *record);
/* Count n invalid bytes that were found in `what` ("text"). False: the record is bad, for that or
 * already. */
bool bm_record_count_invalid(bm_record_maker *maker, bm_record *record, uint64_t n,
                             const char *what);
/* Make *value valid UTF-8: it stays as it is, or becomes a view of its repaired copy in `buf`
 * (emptied before); what was replaced is counted. */
typedef struct bm_utf8_value {
    const char *what; /* "text", "id" */
    bm_buf *buf;
    bm_str *value;
} bm_utf8_value;
bm_status bm_record_make_valid(bm_record_maker *maker, bm_record *record,
                               const bm_utf8_value *field, bm_error *err);

#endif
