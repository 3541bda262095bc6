/* numbered_id.c -- digits from the end to the '#'. */
#include "model/numbered_id.h"

bool bm_numbered_id(bm_str id, bm_str *base, uint32_t *number)
{
    uint64_t value = 0, unit = 1;
    size_t at = id.len;
    for (; at > 0 && id.data[at - 1] >= '0' && id.data[at - 1] <= '9' && unit < 10000000000u;
         unit *= 10)
        value += unit * (uint64_t)(id.data[--at] - '0');
    if (at == 0 || at == id.len || id.data[at - 1] != '#' || id.data[at] == '0' || value < 2 ||
        value > UINT32_MAX)
        return false;
    *base = (bm_str){id.data, at - 1};
    *number = (uint32_t)value;
    return true;
}
