/* page_html_run.c -- where the time went, on what, with which settings, and the command that makes it again.
 *
 * What report.json says is walked as it stands there: a setting of a later version is shown too.
 *
 * Tests: tests/reference/test_report.py */
#include "pipeline/page/page_sections.h"

#include <string.h>

#include "base/memory.h"
#include "io/json/json_scan.h"
#include "pipeline/output/svg_plot.h"

#define COMMAND_MAX 4000u /* bytes that are shown */

/* Of a string what it says, of others the text as it stands. */
static void put_plain(bm_page_writer *w, bm_str value)
{
    bm_buf text = {0};
    if (w->m.status != BM_OK)
        return;
    if (value.len > 0 && value.data[0] == '"') {
        w->m.status = bm_json_scan_string(value, &text, w->m.err);
        bm_markup_name(&w->m, (bm_str){text.data, text.len});
    } else {
        bm_markup_name(&w->m, value);
    }
    bm_buf_reset(&text);
}

/* The text of a JSON value: of a list its elements. */
static void put_value(bm_page_writer *w, bm_str value)
{
    bm_str element;
    size_t at = 0;
    if (value.len == 0 || value.data[0] != '[') {
        put_plain(w, value);
        return;
    }
    for (bool first = true; bm_json_scan_element(value, &at, &element); first = false) {
        bm_markup_put(&w->m, first ? "" : ", ");
        put_plain(w, element);
    }
}

/* --- time --- */

/* A number as JSON has it, to the millisecond; less is said to be less. */
static void put_seconds(bm_page_writer *w, bm_str value)
{
    const char *dot = memchr(value.data, '.', value.len);
    size_t len = dot != NULL ? (size_t)(dot - value.data) + 4 : value.len, zeros = 0;
    if (len > value.len)
        len = value.len;
    while (zeros < len && (value.data[zeros] == '0' || value.data[zeros] == '.'))
        zeros++;
    if (zeros == len || memchr(value.data, 'e', value.len) != NULL)
        bm_markup_put(&w->m, "&lt; 0.001");
    else
        put_value(w, (bm_str){value.data, len});
}

static void put_stages(bm_page_writer *w)
{
    bm_str stages, stage, name, seconds;
    size_t at = 0;
    bm_markup *m = &w->m;
    if (!bm_json_scan_find(w->content->facts.run, "stages", &stages))
        return;
    bm_page_begin_table(w, "Where the time went", "stages");
    bm_markup_put(m, "<th scope=\"col\">Stage</th><th scope=\"col\" "
                     "class=\"n\">Seconds</th></tr></thead><tbody>\n");
    while (m->status == BM_OK && bm_json_scan_element(stages, &at, &stage)) {
        if (!bm_json_scan_find(stage, "stage", &name) ||
            !bm_json_scan_find(stage, "seconds", &seconds))
            continue;
        bm_markup_put(m, "<tr><td>");
        put_value(w, name);
        bm_markup_put(m, "</td><td class=\"n\">");
        put_seconds(w, seconds);
        bm_markup_put(m, "</td></tr>\n");
    }
    bm_page_end_table(w);
}

static void put_devices(bm_page_writer *w)
{
    static const char *const keys[] = {"device", "name", "platform", "driver", "documents"};
    bm_str devices, device, value;
    uint64_t n;
    size_t at = 0;
    bm_markup *m = &w->m;
    if (!bm_json_scan_find(w->content->facts.run, "devices", &devices) || devices.len <= 2)
        return;
    bm_page_begin_table(w, "Devices that signed", "devices");
    bm_markup_put(
        m, "<th scope=\"col\">Device</th><th scope=\"col\">Name</th><th scope=\"col\">Platform</th>"
           "<th scope=\"col\">Driver</th><th scope=\"col\" "
           "class=\"n\">Documents</th></tr></thead><tbody>\n");
    while (m->status == BM_OK && bm_json_scan_element(devices, &at, &device)) {
        bm_markup_put(m, "<tr>");
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
            bm_markup_put(m, i == 4 ? "<td class=\"n\">" : "<td>");
            if (bm_json_scan_find(device, keys[i], &value) && bm_json_scan_uint(value, &n))
                bm_markup_put(m, bm_svg_count(n).text);
            else if (bm_json_scan_find(device, keys[i], &value))
                put_value(w, value);
            bm_markup_put(m, "</td>");
        }
        bm_markup_put(m, "</tr>\n");
    }
    bm_page_end_table(w);
}

/* Bytes in MiB, from the run. */
static uint64_t mib(const bm_page_writer *w, const char *key)
{
    bm_str value;
    uint64_t bytes = 0;
    if (!bm_json_scan_find(w->content->facts.run, key, &value) || !bm_json_scan_uint(value, &bytes))
        return 0;
    return (bytes + (1u << 19)) >> 20;
}

static void put_time(bm_page_writer *w)
{
    bm_str value;
    bm_markup *m = &w->m;
    const double seconds = w->content->facts.seconds;
    bm_markup_format(m, "<p>It took %s.%02u seconds", bm_svg_count((uint64_t)seconds).text,
                     (unsigned)((seconds - (double)(uint64_t)seconds) * 100));
    if (bm_json_scan_find(w->content->facts.run, "threads", &value)) {
        bm_markup_put(m, " with ");
        put_value(w, value);
        bm_markup_put(m, " threads");
    }
    if (bm_json_scan_find(w->content->facts.run, "processor", &value)) {
        bm_markup_put(m, " of ");
        put_value(w, value);
    }
    bm_markup_format(m, ", at most %s MiB resident",
                     bm_svg_count(mib(w, "peak_resident_bytes")).text);
    bm_markup_format(m, " of %s MiB allowed", bm_svg_count(mib(w, "memory_limit_bytes")).text);
    if (bm_json_scan_find(w->content->facts.run, "date", &value)) {
        bm_markup_put(m, "; it began at ");
        put_value(w, value);
    }
    bm_markup_put(m, ".</p>\n");
}

/* --- settings --- */

static void put_members(bm_page_writer *w, bm_str object)
{
    bm_str key, value;
    size_t at = 0;
    while (w->m.status == BM_OK && bm_json_scan_member(object, &at, &key, &value)) {
        bm_markup_put(&w->m, "<tr><th scope=\"row\">");
        put_value(w, key);
        bm_markup_put(&w->m, "</th><td><span class=\"name\">");
        put_value(w, value);
        bm_markup_put(&w->m, "</span></td></tr>\n");
    }
}

static void put_settings(bm_page_writer *w, const char *label, bm_str object)
{
    bm_page_begin_table(w, label, "settings");
    bm_markup_put(
        &w->m, "<th scope=\"col\">Setting</th><th scope=\"col\">Value</th></tr></thead><tbody>\n");
    put_members(w, object);
    bm_page_end_table(w);
}

/* --- the command --- */

static bool is_plain(bm_str word)
{
    for (size_t i = 0; i < word.len; i++) {
        const char c = word.data[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              (c != '\0' && strchr("_-./:,=+@%", c) != NULL)))
            return false;
    }
    return word.len > 0;
}

/* As a shell takes it. */
static void put_word(bm_page_writer *w, bm_str word)
{
    bm_markup *m = &w->m;
    if (is_plain(word)) {
        bm_markup_text(m, word);
        return;
    }
    bm_markup_put(m, "&#39;");
    for (size_t at = 0; at < word.len;) {
        const char *quote = memchr(word.data + at, '\'', word.len - at);
        const size_t end = quote != NULL ? (size_t)(quote - word.data) : word.len;
        bm_markup_text(m, (bm_str){word.data + at, end - at});
        if (quote != NULL)
            bm_markup_put(m, "&#39;\\&#39;&#39;");
        at = end + (quote != NULL);
    }
    bm_markup_put(m, "&#39;");
}

static void put_command(bm_page_writer *w)
{
    bm_str command, word;
    size_t at = 0, n_bytes = 0;
    bm_markup *m = &w->m;
    if (!bm_json_scan_find(w->content->facts.run, "command", &command))
        return;
    bm_markup_put(m, "<h3>The command that makes it again</h3>\n<pre><code>");
    while (m->status == BM_OK && bm_json_scan_element(command, &at, &word)) {
        bm_buf text = {0};
        m->status = bm_json_scan_string(word, &text, m->err);
        n_bytes += text.len;
        if (m->status != BM_OK || n_bytes > COMMAND_MAX) {
            bm_buf_reset(&text);
            bm_markup_put(m, " \xE2\x80\xA6");
            break;
        }
        bm_markup_put(m, n_bytes > text.len ? " " : "");
        put_word(w, (bm_str){text.data, text.len});
        bm_buf_reset(&text);
    }
    bm_markup_put(m, "</code></pre>\n");
}

void bm_page_put_run(bm_page_writer *w)
{
    const bm_page_facts *facts = &w->content->facts;
    bm_markup_put(&w->m, "<section id=\"run\" aria-labelledby=\"h-run\">\n"
                         "<h2 id=\"h-run\">The run</h2>\n");
    put_time(w);
    put_stages(w);
    put_devices(w);
    put_command(w);
    bm_markup_put(&w->m, "<details class=\"more\"><summary>Parameters and provenance</summary>\n");
    put_settings(w, "Parameters", facts->parameters);
    put_settings(w, "Provenance: how documents were read, cut and signed", facts->provenance);
    bm_markup_put(&w->m, "</details>\n</section>\n");
}
