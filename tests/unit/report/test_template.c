/* SPDX-License-Identifier: Apache-2.0 */
/* test_template.c -- holes, blocks and escaping; and a check that the page template is well-formed
 * and writes every member it names. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "model/file_names.h"
#include "job/assets.h"
#include "report/page.h"
#include "tests/world/world_text.h"

/* Writes the objects {"i":0}, {"i":1} and so on of the stream "three"; other streams are empty. */
static bm_status three(void *ctx, bm_str name, size_t i, bm_json *json, bool *more, bm_error *err)
{
    (void)ctx;
    (void)err;
    *more = i < 3 && name.len == 7 && memcmp(name.data, "\"three\"", 7) == 0;
    bm_json_begin_object(json);
    bm_json_key_uint(json, "i", i);
    bm_json_end_object(json);
    return BM_OK;
}

static bm_status fill(const char *text, bm_str values, bm_rows *rows)
{
    uint64_t n_bytes;
    const bm_template page = {.text = text, .values = values, .stream = three};
    return bm_template_fill(&page, rows, &n_bytes, NULL);
}

static int gather(void *ctx, const char *data, size_t len)
{
    return bm_buf_add(ctx, data, len, NULL) == BM_OK ? 0 : 1;
}

static void expect_filled(const char *text, bm_str values, const char *wanted)
{
    bm_buf out = {0};
    bm_rows rows = {.write = gather, .write_ctx = &out};
    cr_assert_eq(fill(text, values, &rows), BM_OK, "%s", text);
    cr_assert_eq(bm_buf_end(&out, NULL), BM_OK);
    cr_expect_str_eq(out.data, wanted, "%s: %s", text, out.data);
    bm_rows_reset(&rows);
    bm_buf_reset(&out);
}

static void expect(const char *text, const char *values, const char *wanted)
{
    expect_filled(text, world_str(values), wanted);
}

/* Expects a value of untrusted text, written through a filter, to give `wanted`. */
static void expect_value(const char *text, const char *value, size_t len, const char *wanted)
{
    bm_json json = {0};
    bm_json_begin_object(&json);
    bm_json_key(&json, "v");
    bm_json_string(&json, (bm_str){value, len});
    bm_json_end_object(&json);
    cr_assert_eq(bm_json_finish(&json, NULL), BM_OK);
    expect_filled(text, (bm_str){json.buf.data, json.buf.len}, wanted);
    bm_buf_reset(&json.buf);
}

#define EXPECT(filter, value, wanted)                                                              \
    expect_value("{{" filter "v}}", value, sizeof value - 1, wanted)

Test(template, markup_of_a_value_is_escaped)
{
    static const char value[] = "a<b>&amp;\"'</script>",
                      wanted[] = "a&lt;b&gt;&amp;amp;&quot;&#39;&lt;/script&gt;";
    EXPECT("", value, wanted);
    EXPECT("text ", value, wanted);
    EXPECT("name ", value, wanted);
    EXPECT("count ", value, wanted);
    EXPECT("text ", "", "");
    EXPECT("text ", "\xC3\xA9\xF0\x9F\x99\x82", "\xC3\xA9\xF0\x9F\x99\x82");
    EXPECT("text ", "{{raw v}} {{v}}", "{{raw v}} {{v}}"); /* values are not expanded */
    expect("{{name @key}}", "{}", "null");
    expect("{{#each .}}{{name @key}}={{name .}};{{/each}}", "{\"<b>\":[1,\"<i>\"],\"x\":\"&\"}",
           "&lt;b&gt;=1, &lt;i&gt;;x=&amp;;");
}

Test(template, hidden_characters_are_shown_by_their_numbers)
{
    EXPECT("text ", "a\0\x01z", "a<span class=\"u\">U+0000 U+0001</span>z");
    EXPECT("text ", "\xE2\x80\xAE", "<span class=\"u\">U+202E</span>");
    EXPECT("text ", "\xC2\x9B\xEF\xBF\xBF\xF3\xA0\x81\x81",
           "<span class=\"u\">U+009B U+FFFF U+E0041</span>");
    EXPECT("text ", "\xE2\x80\xA8\xE2\x80\xA9", "<span class=\"u\">U+2028 U+2029</span>");
    EXPECT("text ", "\xFF", "<span class=\"u\">\\xff</span>");
    EXPECT("", "x\x1bz", "xU+001Bz");
}

Test(template, lines_stay_in_texts_and_are_shown_in_names)
{
    EXPECT("text ", "a\n\tb\r\nc\rd", "a\n\tb\nc<span class=\"u\">U+000D</span>d");
    EXPECT("name ", "a\nb", "a<span class=\"u\">U+000A</span>b");
}

Test(template, a_long_name_shows_both_ends)
{
    char name[1000], wanted[300] = "A";
    memset(name, 'n', sizeof name);
    memset(wanted + 1, 'n', 119);
    strcat(wanted, " \xE2\x80\xA6 (840 bytes) \xE2\x80\xA6 ");
    memset(wanted + strlen(wanted), 'n', 39);
    strcat(wanted, "Z");
    name[0] = 'A';
    name[sizeof name - 1] = 'Z';
    expect_value("{{name v}}", name, sizeof name, wanted);
    /* between characters: each end is a byte shorter than it may be */
    memcpy(name + 119, "\xC3\xA9", 2);
    memcpy(name + sizeof name - 41, "\xC3\xA9", 2);
    memset(wanted + 119, 0, sizeof wanted - 119);
    strcat(wanted, " \xE2\x80\xA6 (842 bytes) \xE2\x80\xA6 ");
    memset(wanted + strlen(wanted), 'n', 38);
    strcat(wanted, "Z");
    expect_value("{{name v}}", name, sizeof name, wanted);
}

Test(template, filters_write_numbers)
{
    expect("{{fixed6 a}} {{fixed6 b}} {{fixed6 c}} {{fixed2 a}} {{share a}}",
           "{\"a\":0.8,\"b\":1,\"c\":null}", "0.800000 1.000000 not known 0.80 0.8");
    expect("{{count a}} {{n a pair}} {{n b further pair}}", "{\"a\":1234567,\"b\":1}",
           "1,234,567 1,234,567 pairs 1 further pair");
    expect("{{percent a b}} {{percent a none}} {{minus b a}} {{mib c}}",
           "{\"a\":1,\"b\":8000,\"c\":1572864}", "0 % 0 % 7,999 2");
    expect("{{percent a b}}", "{\"a\":1,\"b\":8}", "12.5 %");
    expect("{{seconds a}} {{seconds b}} {{seconds c}} {{seconds d}}",
           "{\"a\":12.34567,\"b\":0.0004,\"c\":1e-05,\"d\":3}", "12.345 &lt; 0.001 &lt; 0.001 3");
}

Test(template, paths_go_from_the_element_at_hand_outward)
{
    expect("{{a.b.c}} {{a.x}} {{x}}", "{\"a\":{\"b\":{\"c\":\"deep\"}},\"x\":7}", "deep null 7");
    expect("{{#each l}}{{n}}{{x}}{{#has .x}}!{{/has}} {{/each}}",
           "{\"x\":0,\"l\":[{\"n\":1},{\"n\":2,\"x\":9}]}", "10 29! ");
}

Test(template, blocks_are_filled_where_their_value_says_so)
{
    static const char text[] = "{{#if v}}yes{{else}}no{{/if}}";
    static const char *const truths[] = {"{\"v\":1}", "{\"v\":\"a\"}", "{\"v\":[0]}",
                                         "{\"v\":{\"k\":0}}", "{\"v\":true}"};
    static const char *const falsehoods[] = {"{\"v\":0}",  "{\"v\":\"\"}",  "{\"v\":[]}",  "{}",
                                             "{\"v\":{}}", "{\"v\":false}", "{\"v\":null}"};
    for (size_t i = 0; i < sizeof truths / sizeof truths[0]; i++)
        expect(text, truths[i], "yes");
    for (size_t i = 0; i < sizeof falsehoods / sizeof falsehoods[0]; i++)
        expect(text, falsehoods[i], "no");
    expect("{{#has v}}0 is there{{/has}}", "{\"v\":0}", "0 is there");
    expect("{{#is v star}}a{{else}}b{{/is}}{{#is n 1}}c{{else}}d{{/is}}",
           "{\"v\":\"star\",\"n\":12}", "ad");
    expect("{{#if a}}{{#if b}}ab{{else}}a{{/if}}{{else}}none{{/if}}", "{\"a\":1}", "a");
    expect("{{#each l}}{{.}},{{else}}empty{{/each}}", "{\"l\":[1,2]}", "1,2,");
    expect("{{#each l}}{{.}},{{else}}empty{{/each}}", "{\"l\":[]}", "empty");
    expect("{{#stream s}}{{i}}{{/stream}}{{#stream t}}{{else}} none{{/stream}}",
           "{\"s\":\"three\",\"t\":\"other\"}", "012 none");
}

Test(template, a_tag_alone_in_its_line_takes_the_line_along)
{
    expect("a\n{{#each l}}\n<{{.}}>\n{{/each}}\nb {{#if l}}c{{/if}}\n", "{\"l\":[1,2]}",
           "a\n<1>\n<2>\nb c\n");
}

Test(template, a_broken_template_is_refused)
{
    static const char *const broken[] = {
        "{{a",      "{{#if a}}",   "{{#if a}}{{/is}}",     "{{/if}}",
        "{{else}}", "{{shout a}}", "{{#what a}}{{/what}}", "{{#if a}}{{#each b}}{{/if}}"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        bm_rows rows = {0};
        cr_expect_eq(fill(broken[i], (bm_str){"{\"a\":1}", 7}, &rows), BM_ERR_FORMAT, "%s",
                     broken[i]);
        bm_rows_reset(&rows);
    }
}

/* Takes both branches of each block: replaces the word of every block by a condition that holds,
 * then by one that does not. */
Test(template, the_page_is_whole_whatever_its_values_are)
{
    const char *page = bm_assets[BM_ASSET_TEMPLATE].text;
    cr_expect_eq(strncmp(page, BM_HEAD_PAGE, strlen(BM_HEAD_PAGE)), 0);
    for (int filled = 0; filled < 2; filled++) {
        bm_buf text = {0}, out = {0};
        for (const char *at = page; *at != '\0';) {
            static const char *const words[] = {"#is ", "#has ", "#each ", "#stream ", "#if "};
            size_t used = 0;
            for (size_t i = 0; used == 0 && i < 5; i++)
                if (strncmp(at, words[i], strlen(words[i])) == 0 && at[-1] == '{')
                    used = strlen(words[i]);
            cr_assert_eq(used == 0 ? bm_buf_add(&text, at, 1, NULL)
                                   : bm_buf_add_text(&text, filled ? "#if yes " : "#if no ", NULL),
                         BM_OK);
            at += used > 0 ? used : 1;
            static const char *const ends[] = {"{{/is}}", "{{/has}}", "{{/each}}", "{{/stream}}"};
            for (size_t i = 0; i < 4; i++)
                if (strncmp(at, ends[i], strlen(ends[i])) == 0) {
                    cr_assert_eq(bm_buf_add_text(&text, "{{/if}}", NULL), BM_OK);
                    at += strlen(ends[i]);
                    i = SIZE_MAX; /* restart the loop: another end may follow */
                }
        }
        cr_assert_eq(bm_buf_end(&text, NULL), BM_OK);
        bm_rows rows = {.write = gather, .write_ctx = &out};
        static const char values[] = "{\"yes\":1,\"style\":\"\",\"script\":\"\","
                                     "\"similarities_plot\":\"\",\"sizes_plot\":\"\"}";
        cr_expect_eq(fill(text.data, (bm_str){values, sizeof values - 1}, &rows), BM_OK);
        cr_expect_eq(memcmp(out.data + out.len - 8, "</html>\n", 8), 0);
        bm_rows_reset(&rows);
        bm_buf_reset(&text);
        bm_buf_reset(&out);
    }
}
