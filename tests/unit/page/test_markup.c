#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "pipeline/page/markup.h"

typedef void (*put_fn)(bm_markup *m, bm_str text);

static void expect_text(put_fn put, const char *text, size_t len, const char *wanted)
{
    bm_rows rows = {0};
    bm_markup m = {.rows = &rows};
    put(&m, (bm_str){text, len});
    cr_assert_eq(m.status, BM_OK);
    cr_assert_eq(bm_buf_end(&rows.buf, NULL), BM_OK);
    cr_expect_str_eq(rows.buf.data, wanted);
    bm_rows_reset(&rows);
}

#define EXPECT(put, text, wanted) expect_text(put, text, sizeof text - 1, wanted)

Test(markup, markup_of_a_text_is_escaped)
{
    EXPECT(bm_markup_text, "a<b>&amp;\"'", "a&lt;b&gt;&amp;amp;&quot;&#39;");
    EXPECT(bm_markup_text, "", "");
    EXPECT(bm_markup_text, "\xC3\xA9\xF0\x9F\x99\x82", "\xC3\xA9\xF0\x9F\x99\x82");
}

Test(markup, hidden_characters_are_shown_by_their_numbers)
{
    EXPECT(bm_markup_text, "a\0\x01z", "a<span class=\"u\">U+0000 U+0001</span>z");
    EXPECT(bm_markup_text, "\xE2\x80\xAE", "<span class=\"u\">U+202E</span>");
    EXPECT(bm_markup_text, "\xC2\x9B\xEF\xBF\xBF\xF3\xA0\x81\x81",
           "<span class=\"u\">U+009B U+FFFF U+E0041</span>");
    EXPECT(bm_markup_text, "\xFF", "<span class=\"u\">\\xff</span>");
    EXPECT(bm_markup_plain_name, "x\x1bz", "xU+001Bz");
}

Test(markup, lines_stay_in_texts_and_are_shown_in_names)
{
    EXPECT(bm_markup_text, "a\n\tb\r\nc\rd", "a\n\tb\nc<span class=\"u\">U+000D</span>d");
    EXPECT(bm_markup_name, "a\nb", "a<span class=\"u\">U+000A</span>b");
}

Test(markup, a_long_name_shows_both_ends)
{
    char name[1000];
    bm_rows rows = {0};
    bm_markup m = {.rows = &rows};
    memset(name, 'n', sizeof name);
    name[0] = 'A';
    name[sizeof name - 1] = 'Z';
    bm_markup_name(&m, (bm_str){name, sizeof name});
    cr_assert_eq(bm_buf_end(&rows.buf, NULL), BM_OK);
    cr_expect_lt(rows.buf.len, 250u);
    cr_expect_eq(rows.buf.data[0], 'A');
    cr_expect_eq(rows.buf.data[rows.buf.len - 1], 'Z');
    cr_expect_not_null(strstr(rows.buf.data, "(840 bytes)"));
    bm_rows_reset(&rows);
}

Test(markup, similarities_have_six_decimals)
{
    bm_rows rows = {0};
    bm_markup m = {.rows = &rows};
    bm_markup_similarity(&m, .8);
    bm_markup_similarity(&m, 1);
    bm_markup_similarity(&m, NAN);
    cr_assert_eq(bm_buf_end(&rows.buf, NULL), BM_OK);
    cr_expect_str_eq(rows.buf.data, "0.8000001.000000not known");
    bm_rows_reset(&rows);
}
