/* long_gate.c -- how many words a record can have, told from its bytes alone.
 *
 * Tests: tests/unit/input/test_long_gate.c */
#include "input/long_gate.h"

uint64_t bm_long_words(const char *data, size_t len)
{
    uint64_t breaks = 0, high = 0;
    for (size_t i = 0; i < len; i++) {
        const unsigned char c = (unsigned char)data[i];
        const unsigned char letter = (unsigned char)((c | 0x20) - 'a'),
                            digit = (unsigned char)(c - '0');
        high += c >= 0x80;
        breaks += c < 0x80 && letter >= 26 && digit >= 10;
    }
    return breaks + (2 * high + 2) / 3 + 1;
}
