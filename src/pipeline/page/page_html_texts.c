/* page_html_texts.c -- two texts side by side: what both have, what each has alone.
 *
 * Long stretches that both have are folded to their ends, in both texts alike, so that the differences come within the
 * bytes that are shown of each.
 *
 * Tests: tests/cli/cases/report.sh, tests/reference/test_report.py */
#include "pipeline/page/page_sections.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "pipeline/output/svg_plot.h"
#include "pipeline/page/word_diff.h"

#define OPEN_PAIRS 2u  /* of each kind: the others are folded */
#define AROUND     12u /* words that stay at both ends of a stretch that is folded */
#define FOLD_AT    40u /* words, from which on a stretch is folded */

/* --- one text --- */

static bm_str words_of(const bm_diff_text *t, size_t from, size_t to)
{
    return (bm_str){t->text.data + t->words[from].begin,
                    t->words[to - 1].end - t->words[from].begin};
}

/* As many of the words from … to-1 as fit into *left bytes, which are taken off: the first that does not. A single word
 * that is too long is cut. */
static size_t put_words(bm_page_writer *w, const bm_diff_text *t, size_t from, size_t to,
                        size_t *left)
{
    size_t at = from;
    while (at < to && t->words[at].end - t->words[from].begin <= *left)
        at++;
    if (at > from) {
        const bm_str text = words_of(t, from, at);
        bm_markup_text(&w->m, text);
        *left -= text.len;
    }
    if (at<to && * left> 0) { /* the beginning of the word that does not fit */
        size_t n = *left;
        const char *data = t->text.data + t->words[at].begin;
        while (n > 0 && ((unsigned char)data[n] & 0xC0) == 0x80)
            n--;
        bm_markup_text(&w->m, (bm_str){data, n});
        *left = 0;
    }
    return at;
}

static void put_gap(bm_page_writer *w, size_t n, bool at_begin)
{
    bm_markup_format(
        &w->m, "%s<span class=\"gap\">[\xE2\x80\xA6 %s words that both have \xE2\x80\xA6]</span>",
        at_begin ? "" : " ", bm_svg_count(n).text);
}

/* What is written of a text, and how. */
typedef struct side {
    const bm_page_doc *doc;
    const bm_diff_text *words;
    const char *element; /* of what it has alone */
    bool folds;          /* long stretches that both have */
    size_t left;         /* bytes that may still be shown */
} side;

/* A stretch that both have. False: there is no more room. */
static bool put_common(bm_page_writer *w, side *s, size_t from, size_t to)
{
    const bm_diff_text *t = s->words;
    const bool at_begin = from == 0, at_end = to == t->n;
    const size_t first = at_begin ? 0 : AROUND, last = at_end ? 0 : AROUND;
    if (!s->folds || to - from < FOLD_AT || (at_begin && at_end))
        return put_words(w, t, from, to, &s->left) == to;
    if (put_words(w, t, from, from + first, &s->left) != from + first)
        return false;
    put_gap(w, to - from - first - last, at_begin);
    return put_words(w, t, to - last, to, &s->left) == to;
}

/* A stretch that it has alone; white space before it is not marked. */
static bool put_alone(bm_page_writer *w, side *s, size_t from, size_t to)
{
    bm_diff_word *word = &s->words->words[from];
    const size_t space = word->word - word->begin;
    if (space < s->left) {
        bm_markup_text(&w->m, (bm_str){s->words->text.data + word->begin, space});
        s->left -= space;
        word->begin = word->word;
    }
    bm_markup_format(&w->m, "<%s>", s->element);
    const bool room = put_words(w, s->words, from, to, &s->left) == to;
    bm_markup_format(&w->m, "</%s>", s->element);
    return room;
}

static void put_side(bm_page_writer *w, side *s)
{
    const bm_diff_text *t = s->words;
    bm_markup *m = &w->m;
    size_t at = 0;
    bool room = true;
    bm_markup_put(m, "<div class=\"side\" dir=\"auto\">");
    while (room && at < t->n) {
        size_t to = at + 1;
        while (to < t->n && t->words[to].common == t->words[at].common)
            to++;
        room = t->words[at].common ? put_common(w, s, at, to) : put_alone(w, s, at, to);
        at = to;
    }
    if (!room || s->doc->held < s->doc->text_bytes)
        bm_markup_put(m, " <span class=\"gap\">[\xE2\x80\xA6 and more]</span>");
    bm_markup_put(m, "</div>\n");
}

/* --- a pair --- */

static void put_who(bm_page_writer *w, uint32_t number, const char *role)
{
    const bm_page_doc *doc = bm_page_doc_of(w->content, number);
    bm_markup *m = &w->m;
    bm_markup_format(m, "<p class=\"who\"><b>%s</b> ",
                     (number & BM_PAGE_KNOWN) != 0 ? "Known" : role);
    bm_page_put_id(w, number);
    if (doc->found) {
        bm_markup_format(m, " \xC2\xB7 %s bytes, line %" PRIu64, bm_svg_count(doc->text_bytes).text,
                         doc->line);
        if (doc->counted)
            bm_markup_format(m, ", %s shingles", bm_svg_count(doc->n_hashes).text);
        if (bm_manifest_n_inputs(w->content->manifest) > 1) {
            const char *file = bm_manifest_input_at(w->content->manifest, doc->file)->file;
            bm_markup_put(m, " of <span class=\"name\">");
            bm_markup_name(m, (bm_str){file, strlen(file)});
            bm_markup_put(m, "</span>");
        }
    }
    bm_markup_put(m, "</p>\n");
}

/* One of the two. */
static void put_one(bm_page_writer *w, uint32_t number, const char *role, side *s)
{
    bm_markup_put(&w->m, "<div>");
    put_who(w, number, role);
    if (s->doc->found)
        put_side(w, s);
    else
        bm_markup_format(&w->m, "<p class=\"gap\">The text is not shown: %s.</p>\n",
                         (number & BM_PAGE_KNOWN) != 0 ? "it is not in the inputs"
                                                       : "its input is gone, or not what it was");
    bm_markup_put(&w->m, "</div>\n");
}

static void put_both(bm_page_writer *w, const bm_page_pair *pair, const char *role_a,
                     const char *role_b)
{
    const bm_page_doc *a = bm_page_doc_of(w->content, pair->a),
                      *b = bm_page_doc_of(w->content, pair->b);
    const size_t most = w->content->options->text_bytes;
    const bool folds = a->text_bytes > most || b->text_bytes > most;
    bm_diff_text x = {.text = {a->text, a->held}}, y = {.text = {b->text, b->held}};
    bm_markup *m = &w->m;
    if (m->status == BM_OK)
        m->status = bm_word_diff(&x, &y, m->err);
    bm_markup_put(m, "<div class=\"two\">\n");
    put_one(w, pair->a, role_a, &(side){a, &x, "del", folds, most});
    put_one(w, pair->b, role_b, &(side){b, &y, "ins", folds, most});
    bm_markup_put(m, "</div>\n");
    bm_diff_text_reset(&x);
    bm_diff_text_reset(&y);
}

static void put_pair(bm_page_writer *w, const bm_page_pair *pair, const char *role_a,
                     const char *role_b, bool open)
{
    const bm_page_content *c = w->content;
    bm_markup *m = &w->m;
    size_t shared;
    bm_markup_format(m, "<details class=\"pair\"%s><summary><span class=\"value\">",
                     open ? " open" : "");
    bm_markup_similarity(m, pair->jaccard);
    bm_markup_put(m, "</span>");
    bm_page_put_id(w, pair->a);
    bm_markup_put(m, " and ");
    bm_page_put_id(w, pair->b);
    bm_markup_put(m, "</summary>\n");
    if (bm_page_shared(c, pair->a, pair->b, &shared)) {
        const size_t n_a = bm_page_doc_of(c, pair->a)->n_hashes,
                     n_b = bm_page_doc_of(c, pair->b)->n_hashes;
        bm_markup_format(m, "<p class=\"note\">They share %s of %s distinct shingles",
                         bm_svg_count(shared).text, bm_svg_count(n_a + n_b - shared).text);
        bm_markup_put(m, c->weighted ? " (counted without their weights).</p>\n" : ".</p>\n");
    }
    put_both(w, pair, role_a, role_b);
    bm_markup_put(m, "</details>\n");
    bm_markup_flush(m, false);
}

/* --- the sections --- */

static void put_pairs(bm_page_writer *w, const bm_page_pairs *pairs, const char *role_a,
                      const char *role_b)
{
    for (size_t i = 0; i < pairs->n; i++)
        put_pair(w, &pairs->rows[i], role_a, role_b, i < OPEN_PAIRS);
}

static void put_near(bm_page_writer *w)
{
    const bm_page_content *c = w->content;
    bm_markup *m = &w->m;
    bm_markup_format(m, "<section id=\"near\"><h3>Just above the threshold of %s</h3>\n",
                     bm_svg_share(c->facts.threshold).text);
    if (c->near.n == 0) {
        bm_markup_put(m, "<p>There are none.</p>\n</section>\n");
        return;
    }
    bm_markup_put(m, "<p>The least similar of ");
    bm_page_put_number(w, c->near.of, "pair");
    bm_markup_format(m, " that were joined%s. Would you call them duplicates?</p>\n",
                     c->similarities_of_pairs ? "" : ", each with the one kept of its group");
    bm_markup_put(m, "<div class=\"tools\"></div>\n");
    put_pairs(w, &c->near, c->similarities_of_pairs ? "A" : "Kept",
              c->similarities_of_pairs ? "B" : "Removed");
    bm_markup_put(m, "</section>\n");
}

static void put_chained(bm_page_writer *w)
{
    const bm_page_content *c = w->content;
    bm_markup *m = &w->m;
    bm_markup_put(m, "<section id=\"chained\"><h3>Most chained</h3>\n");
    if (c->chained.n == 0) {
        bm_markup_put(m, "<p>No document is chained.</p>\n</section>\n");
        return;
    }
    bm_markup_put(m, "<p>");
    bm_page_put_number(w, c->facts.counts.chained, "document");
    bm_markup_put(m, c->facts.counts.chained == 1 ? " was removed though it is"
                                                  : " were removed though they are");
    bm_markup_put(m, " less similar than the threshold to the one kept: others join the two. The "
                     "least similar come "
                     "first.</p>\n");
    bm_markup_put(m, "<div class=\"tools\"></div>\n");
    put_pairs(w, &c->chained, "Kept", "Removed");
    bm_markup_put(m, "</section>\n");
}

static void put_of_groups(bm_page_writer *w)
{
    const bm_page_content *c = w->content;
    bm_markup *m = &w->m;
    size_t n = 0;
    if (c->groups.n == 0)
        return;
    bm_markup_put(m, "<section id=\"of-groups\"><h3>One pair of each of the largest groups</h3>\n"
                     "<p>The document kept, and the member least like it.</p>\n"
                     "<div class=\"tools\"></div>\n");
    for (size_t i = 0; i < c->groups.n; i++) {
        const bm_page_group *group = &c->groups.rows[i];
        const bm_page_pair pair = {group->kept, group->least_doc, group->least};
        if (group->least_doc != BM_PAGE_NO_DOC)
            put_pair(w, &pair, "Kept", "Removed", n++ < OPEN_PAIRS);
    }
    bm_markup_put(m, "</section>\n");
}

static void put_gone(bm_page_writer *w)
{
    const bm_page_content *c = w->content;
    bm_markup *m = &w->m;
    if (!c->has_texts) {
        bm_markup_put(m,
                      "<p>The documents are arrays of hashes: there are no texts to show.</p>\n");
    } else if (c->no_texts != NULL) {
        bm_markup_put(m, "<p>The texts could not be read: <span class=\"name\">");
        bm_markup_name(m, (bm_str){c->no_texts, strlen(c->no_texts)});
        bm_markup_put(m, "</span></p>\n");
    } else if (c->n_gone > 0) {
        bm_markup_format(
            m,
            "<p>%s of %s inputs %s gone, or not what dedup has read: the table of inputs "
            "says which. Their texts are not shown.</p>\n",
            bm_svg_count(c->n_gone).text, bm_svg_count(bm_manifest_n_inputs(c->manifest)).text,
            c->n_gone == 1 ? "is" : "are");
    }
}

void bm_page_put_texts(bm_page_writer *w)
{
    bm_markup *m = &w->m;
    bm_markup_put(m, "<section id=\"texts\" aria-labelledby=\"h-texts\">\n"
                     "<h2 id=\"h-texts\">Texts side by side</h2>\n");
    put_gone(w);
    if (w->content->near.n + w->content->chained.n + w->content->groups.n == 0) {
        bm_markup_put(m, "<p>There are no pairs to show.</p>\n</section>\n");
        return;
    }
    bm_markup_put(
        m, "<p class=\"key\">Plain: both have it. <del>Dotted</del>: only the left one. "
           "<ins>Underlined</ins>: only the right one. <span class=\"u\">U+202E</span>: a hidden "
           "character, by its number.</p>\n");
    put_near(w);
    put_chained(w);
    put_of_groups(w);
    bm_markup_put(m, "</section>\n");
}
