/* page_html.c -- the frame of the page: head, contents, sections, foot.
 *
 * The policy in its head forbids everything but this one style sheet and this one script, each by its SHA-256: there is
 * nothing to load, and nothing in a text could run even if it came through.
 *
 * Tests: tests/cli/cases/report.sh, tests/reference/test_report.py */
#include "pipeline/page/page_write.h"

#include <string.h>

#include <bandmill/version.h>

#include "model/file_heads.h"
#include "pipeline/output/assets.h"
#include "pipeline/output/svg_plot.h"
#include "pipeline/page/page_sections.h"

/* --- the head --- */

/* A SHA-256 in hex as base64, as policies have it. */
static void put_hash(bm_page_writer *w, const char *hex)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0, n_bits = 0;
    char out[48];
    size_t n = 0;
    for (; *hex != '\0'; hex++) {
        const char c = *hex;
        bits = bits << 4 | (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
        n_bits += 4;
        if (n_bits >= 6) {
            n_bits -= 6;
            out[n++] = digits[bits >> n_bits & 63];
        }
    }
    if (n_bits > 0)
        out[n++] = digits[bits << (6 - n_bits) & 63];
    while (n % 4 != 0)
        out[n++] = '=';
    out[n] = '\0';
    bm_markup_put(&w->m, "'sha256-");
    bm_markup_put(&w->m, out);
    bm_markup_put(&w->m, "'");
}

static void put_head(bm_page_writer *w)
{
    bm_markup *m = &w->m;
    bm_markup_put(m, BM_HEAD_PAGE
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src ");
    put_hash(w, bm_assets[BM_ASSET_PAGE].sha256);
    bm_markup_put(m, "; script-src ");
    put_hash(w, bm_assets[BM_ASSET_SCRIPT].sha256);
    bm_markup_put(m, "; base-uri 'none'; form-action 'none'\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"referrer\" content=\"no-referrer\">\n"
                     "<meta name=\"color-scheme\" content=\"light dark\">\n"
                     "<title>Duplicates: ");
    bm_page_put_number(w, w->content->facts.counts.removed, "document");
    bm_markup_put(m, " removed</title>\n<style>");
    bm_markup_put(m, bm_assets[BM_ASSET_PAGE].text);
    bm_markup_put(m, "</style>\n</head>\n<body>\n");
}

static void put_title(bm_page_writer *w)
{
    const bm_counts *counts = &w->content->facts.counts;
    bm_markup *m = &w->m;
    bm_markup_put(m, "<header>\n<p class=\"kicker\">bandmill report</p>\n<h1>");
    if (counts->removed == 0) {
        bm_markup_put(m,
                      counts->documents == 0 ? "There were no documents" : "Nothing was removed");
    } else {
        bm_markup_format(m, "%s of ", bm_svg_count(counts->removed).text);
        bm_page_put_number(w, counts->documents, "document");
        bm_markup_put(m, counts->removed == 1 ? " was removed" : " were removed");
    }
    bm_markup_put(m, "</h1>\n<nav aria-label=\"Contents\"><ul>"
                     "<li><a href=\"#what\">What happened</a></li>"
                     "<li><a href=\"#similarities\">Similarities</a></li>"
                     "<li><a href=\"#groups\">Groups</a></li>"
                     "<li><a href=\"#texts\">Texts side by side</a></li>"
                     "<li><a href=\"#chain\">The largest chained group</a></li>"
                     "<li><a href=\"#choices\">Other choices</a></li>"
                     "<li><a href=\"#run\">The run</a></li></ul></nav>\n</header>\n<main>\n");
}

static void put_foot(bm_page_writer *w)
{
    bm_markup *m = &w->m;
    bm_markup_format(m, "</main>\n<footer><p>Made by bandmill %s from what bandmill ",
                     bm_version()->version);
    const char *version = bm_manifest_version(w->content->manifest);
    bm_markup_name(m, (bm_str){version, strlen(version)});
    bm_markup_put(
        m, " dedup wrote. This file is whole in itself and loads nothing.</p></footer>\n<script>");
    bm_markup_put(m, bm_assets[BM_ASSET_SCRIPT].text);
    bm_markup_put(m, "</script>\n</body>\n</html>\n");
}

bm_status bm_page_write_html(const bm_page_content *content, bm_rows *rows, uint64_t *n_bytes,
                             bm_error *err)
{
    bm_page_writer w = {.content = content, .m = {.rows = rows, .err = err}};
    put_head(&w);
    put_title(&w);
    bm_page_put_summary(&w);
    bm_page_put_similarities(&w);
    bm_page_put_groups(&w);
    bm_page_put_texts(&w);
    bm_page_put_graph(&w);
    bm_page_put_what_if(&w);
    bm_page_put_run(&w);
    put_foot(&w);
    bm_markup_flush(&w.m, true);
    *n_bytes = w.m.n_bytes;
    return w.m.status;
}
