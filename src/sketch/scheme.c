/* SPDX-License-Identifier: Apache-2.0 */
/* scheme.c -- the table of schemes, and the calls that look up a scheme in it. A new scheme is a
 * new row here. */
#include "sketch/scheme.h"

#include <bandmill/option_names.h>
#include <bandmill/schemes.h>
#include <string.h>

#include "base/error.h"
#include "model/scheme_facts.h"

static const bm_scheme_ops *const schemes[] = {
    &bm_scheme_affine32, &bm_scheme_oph,        &bm_scheme_cws,
    &bm_scheme_legacy,   &bm_scheme_text_dedup, &bm_scheme_nemo,
    &bm_scheme_lance,    &bm_scheme_affine64,   &bm_scheme_datatrove};
enum { N_SCHEMES = sizeof schemes / sizeof schemes[0] };

const bm_scheme_ops *bm_scheme_find(const char *name)
{
    unsigned scheme;
    if (!bm_option_value(BM_OPTION_SCHEME, name, strlen(name), &scheme))
        return NULL;
    return bm_scheme_get((bm_scheme)scheme);
}

const bm_scheme_ops *bm_scheme_get(bm_scheme scheme)
{
    for (size_t i = 0; i < N_SCHEMES; i++)
        if (schemes[i]->scheme == scheme)
            return schemes[i];
    return NULL;
}

const bm_scheme_ops *bm_scheme_at(size_t i)
{
    return i < N_SCHEMES ? schemes[i] : NULL;
}

bm_status bm_scheme_draw(const bm_sketch_options *options, bm_scheme_params *out, bm_error *err)
{
    const bm_scheme_ops *ops = bm_scheme_get(options->scheme);
    if (ops == NULL)
        return bm_fail_field(err, "scheme", "there is no scheme of number %d",
                             (int)options->scheme);
    return ops->draw(options, out, err);
}

bm_status bm_scheme_plan(bm_scheme_params *params, bm_error *err)
{
    return params->ops->plan == NULL ? BM_OK : params->ops->plan(params, &params->plan, err);
}

uint32_t bm_scheme_words(const bm_sketch_options *options, uint32_t wanted)
{
    const bm_scheme_ops *ops = bm_scheme_get(options->scheme);
    return ops != NULL && ops->prefix ? wanted : options->perms;
}

bm_status bm_scheme_weights_check(const bm_sketch_options *options, bool weights, bm_error *err)
{
    const bm_scheme_ops *ops = bm_scheme_get(options->scheme);
    if (ops == NULL || ops->weighted == weights)
        return BM_OK;
    return bm_fail_field(err, "scheme",
                         ops->weighted ? "scheme %s signs weighted documents only"
                                       : "scheme %s does not sign weighted documents (cws)",
                         bm_option_name(BM_OPTION_SCHEME, ops->scheme));
}
