/* file_heads.c -- a pattern a kind of file; in it # stands for a number.
 *
 * Tests: tests/unit/model/test_file_heads.c, tests/cli/cases/force_file.sh */
#include "model/file_heads.h"

static const char *const patterns[] = {
    BM_HEAD_PAIRS "\n",
    BM_HEAD_CONTAINED "\n",
    BM_HEAD_PAIRS BM_HEAD_EDIT "\n",
    BM_HEAD_CONTAINED BM_HEAD_EDIT "\n",
    BM_HEAD_ANSWERS "\n",
    BM_HEAD_HOLDERS "\n",
    BM_HEAD_THRESHOLDS "\n",
    BM_HEAD_HISTOGRAM "\n",
    BM_HEAD_GRAPH "\n",
    BM_HEAD_PICTURE,
    BM_HEAD_PLANS_PICTURE("#"),
    "{\"group\":#,\"kept\":\"",                         /* groups */
    "{\n  \"schema\": #,\n  \"tool\": \"bandmill\",\n", /* reports */
    "{\"schema\":#,\"kind\":\"cluster\",",
    "{\"schema\":#,\"kind\":\"explain\",",
    "{\"schema\":#,\"kind\":\"report\",",
    BM_HEAD_PAGE,
    "group #: # document", /* explain */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool begins_so(const char *head, size_t len, const char *pattern)
{
    size_t at = 0;
    for (; *pattern != '\0' && at < len; pattern++) {
        if (*pattern != '#') {
            if (head[at++] != *pattern)
                return false;
            continue;
        }
        if (!is_digit(head[at]))
            return false;
        while (at < len && is_digit(head[at]))
            at++;
    }
    return *pattern == '\0';
}

bool bm_file_head_is_ours(const char *head, size_t len)
{
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        if (begins_so(head, len, patterns[i]))
            return true;
    return len == 0;
}
