/* newlines.c -- see the header.
 *
 * Tests: tests/unit/input/test_reader.c */
#include "input/newlines.h"

uint64_t bm_count_newlines(const char *data, size_t len)
{
    uint64_t n = 0;
    size_t i = 0;
    while (len - i >= 64) {
        uint8_t counters[64] = {0};
        size_t blocks = (len - i) / 64 < 255 ? (len - i) / 64 : 255;
        for (size_t b = 0; b < blocks; b++, i += 64)
            for (size_t j = 0; j < 64; j++)
                counters[j] = (uint8_t)(counters[j] + (data[i + j] == '\n'));
        for (size_t j = 0; j < 64; j++)
            n += counters[j];
    }
    for (; i < len; i++)
        n += data[i] == '\n';
    return n;
}
