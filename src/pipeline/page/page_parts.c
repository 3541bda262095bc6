/* page_parts.c -- see the header.
 *
 * Tests: tests/reference/test_report.py */
#include "pipeline/page/page_parts.h"

#include "pipeline/output/svg_plot.h"

void bm_page_put_number(bm_page_writer *w, uint64_t n, const char *noun)
{
    bm_markup_format(&w->m, "%s %s%s", bm_svg_count(n).text, noun, n == 1 ? "" : "s");
}

void bm_page_put_id(bm_page_writer *w, uint32_t doc)
{
    bm_markup_put(&w->m, "<span class=\"name\">");
    bm_markup_name(&w->m, bm_page_id(w->content, doc));
    bm_markup_put(&w->m, "</span>");
}

void bm_page_begin_table(bm_page_writer *w, const char *label, const char *class_names)
{
    bm_markup_format(&w->m,
                     "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"%s\">"
                     "<table class=\"%s\">\n<caption>%s</caption>\n<thead><tr>",
                     label, class_names, label);
}

void bm_page_end_table(bm_page_writer *w)
{
    bm_markup_put(&w->m, "</tbody></table></div>\n");
}
