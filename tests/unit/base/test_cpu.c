/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/system.h"

Test(cpu, the_best_set_is_available_and_has_a_name_that_chooses_it)
{
    bm_isa chosen;
    cr_assert(bm_isa_available(bm_isa_best()));
    cr_assert_eq(bm_isa_choose(NULL, &chosen, NULL), BM_OK);
    cr_assert_eq(chosen, bm_isa_best());
    cr_assert_eq(bm_isa_choose(bm_isa_name(bm_isa_best()), &chosen, NULL), BM_OK);
    cr_assert_eq(chosen, bm_isa_best());
    cr_assert_eq(bm_isa_choose("scalar", &chosen, NULL), BM_OK);
    cr_assert_eq(chosen, BM_ISA_SCALAR);
}

Test(cpu, a_name_that_is_none_and_a_set_that_is_missing_are_usage_errors)
{
    bm_isa chosen;
    bm_error err = {0};
    cr_assert_eq(bm_isa_choose("sse9", &chosen, &err), BM_ERR_USAGE);
    cr_assert_not_null(strstr(err.message, "sse9"));
    bm_isa missing = bm_isa_available(BM_ISA_NEON) ? BM_ISA_AVX2 : BM_ISA_NEON;
    cr_assert_eq(bm_isa_choose(bm_isa_name(missing), &chosen, &err), BM_ERR_USAGE);
}

Test(cpu, there_is_a_processor_with_a_name)
{
    char name[128];
    bm_cpu_name(name, sizeof name);
    cr_assert_gt(strlen(name), 0);
    cr_assert_geq(bm_cpu_count(), 1);
}
