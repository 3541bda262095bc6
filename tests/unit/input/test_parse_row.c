/* SPDX-License-Identifier: Apache-2.0 */
/* The cells of CSV and TSV rows. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "input/record_rules.h"
#include "tests/world/world_text.h"

/* Writes the cells of a row, each in <>, and "!" where the row is broken. */
static void cells(const char *text, bool csv, char *out)
{
    bm_row row = bm_row_begin(world_str(text), (bm_row_syntax){csv ? ',' : '\t', csv});
    bm_cell cell;
    bm_buf buf = {0};
    *out = '\0';
    while (bm_row_next(&row, &cell)) {
        bm_str value = cell.value;
        if (cell.doubled)
            cr_assert_eq(bm_cell_plain(&cell, &buf, &value, NULL), BM_OK);
        sprintf(out + strlen(out), "<%.*s>", (int)value.len, value.data);
    }
    if (row.broken != NULL)
        strcat(out, "!");
    cr_assert(!bm_row_next(&row, &cell));
    bm_buf_reset(&buf);
}

Test(parse_row, cells_of_csv_and_tsv)
{
    static const struct {
        bool csv;
        const char *row, *cells;
    } cases[] = {
        {true, "", "<>"},
        {true, ",", "<><>"},
        {true, "a,b", "<a><b>"},
        {true, "a,b,", "<a><b><>"},
        {true, "\"\"", "<>"},
        {true, "\"\"\"\"", "<\">"},
        {true, "\"a\"\"b\"\"\",c", "<a\"b\"><c>"},
        {true, "\"a,b\n\",\"\"", "<a,b\n><>"},
        {true, "\"a", "!"},
        {true, "x,\"a\"\"", "<x>!"},
        {true, "\"a\" ,b", "!"},
        {true, "a\"b", "!"},
        {true, "a,b\"", "<a>!"},
        {true, "a\tb", "<a\tb>"},
        {false, "", "<>"},
        {false, "a\t\tb\t", "<a><><b><>"},
        {false, "\"a\tb\",c", "<\"a><b\",c>"},
    };
    char got[100];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cells(cases[i].row, cases[i].csv, got);
        cr_assert_str_eq(got, cases[i].cells, "%s", cases[i].row);
    }
}
