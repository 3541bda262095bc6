/* scheme.c -- the table of schemes, and what does not depend on the scheme: agreement of two
 * signatures. A new scheme is a new file and a row here. */
#include "sketch/scheme.h"

#include <string.h>

static const bm_scheme_ops *const schemes[] = {&bm_scheme_affine32};

const bm_scheme_ops *bm_scheme_find(const char *name)
{
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (strcmp(schemes[i]->name, name) == 0)
            return schemes[i];
    return NULL;
}

double bm_signature_agreement(const uint32_t *x, const uint32_t *y, uint32_t perms)
{
    uint32_t same = 0;
    for (uint32_t i = 0; i < perms; i++)
        same += x[i] == y[i];
    return perms == 0 ? 0.0 : (double)same / (double)perms;
}
