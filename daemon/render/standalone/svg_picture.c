/* SPDX-License-Identifier: Apache-2.0 */
/* Draws pictures with the elements and ids of FlameGraph's. */
#include "render/standalone/svg_picture.h"

#include "base/text.h"
#include "render/standalone/pages.h"

#define BOX_HEIGHT 16
#define HEAD_HEIGHT 64
#define FOOT_HEIGHT 36
#define SIDE 10
#define CELL 7.3 /* width of a character in 12 px monospace, rounded up */

double svg_least(size_t width, double minwidth)
{
    double px = (double)(width ? width : SVG_WIDTH_DEFAULT) - 2 * SIDE;

    return MAX(SVG_LEAST_PX / MAX(px, 1), minwidth / 100);
}

void svg_add_count(struct buf *out, uint64_t n)
{
    char text[32];
    int digits = snprintf(text, sizeof(text), "%llu", (unsigned long long)n);

    for (int i = 0; i < digits; i++) {
        if (i && (digits - i) % 3 == 0)
            buf_add_char(out, ',');
        buf_add_char(out, text[i]);
    }
}

static double height_of(const struct svg_picture *p)
{
    return HEAD_HEIGHT + BOX_HEIGHT * (double)p->levels + FOOT_HEIGHT;
}

/* Adds a text that works as a button. */
static void add_button(const struct svg_picture *p, const char *id, double x, const char *anchor,
                       const char *text)
{
    buf_printf(p->out,
               "<text id=\"%s\" class=\"button\" role=\"button\" tabindex=\"0\" x=\"%.0f\" "
               "y=\"24\" text-anchor=\"%s\">%s</text>\n",
               id, x, anchor, text);
}

void svg_begin(const struct svg_picture *p, struct span title, struct span note, struct span about)
{
    double height = height_of(p);

    buf_add_str(p->out, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n");
    buf_printf(p->out,
               "<svg version=\"1.1\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
               "xmlns=\"http://www.w3.org/2000/svg\">\n",
               p->width, height, p->width, height);
    buf_add_str(p->out, "<title>");
    text_add_html(p->out, title);
    buf_add_str(p->out, "</title>\n<style>\n"
                        "text { font: 12px ui-monospace, Menlo, Consolas, \"DejaVu Sans Mono\", "
                        "monospace; fill: #161616; }\n"
                        "#title { font-size: 17px; font-family: system-ui, sans-serif; }\n"
                        "#note { fill: #585d64; }\n"
                        "#unzoom { display: none; }\n"
                        ".button { cursor: pointer; }\n"
                        ".button:hover, .button:focus { text-decoration: underline; }\n"
                        "#frames > g { cursor: pointer; }\n"
                        "#frames > g:hover rect { stroke: #161616; stroke-width: 0.5; }\n"
                        "#frames text { pointer-events: none; }\n"
                        ".parent { opacity: 0.5; }\n"
                        "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    buf_printf(p->out, "<text id=\"title\" x=\"%.0f\" y=\"25\" text-anchor=\"middle\">",
               p->width / 2);
    text_add_html(p->out, title);
    buf_printf(p->out, "</text>\n<g><title>");
    text_add_html(p->out, about);
    buf_printf(p->out, "</title><text id=\"note\" x=\"%.0f\" y=\"46\" text-anchor=\"middle\">",
               p->width / 2);
    text_add_html(p->out, note);
    buf_add_str(p->out, "</text></g>\n");
    add_button(p, "unzoom", SIDE, "start", "Reset Zoom");
    add_button(p, "search", p->width - SIDE, "end", "Search");
    buf_printf(p->out,
               "<text id=\"details\" x=\"%d\" y=\"%.0f\"> </text>\n"
               "<text id=\"matched\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\"> </text>\n"
               "<g id=\"frames\">\n",
               SIDE, height - 14, p->width - SIDE, height - 14);
}

/* Adds as much of a name as fits, in whole characters. */
static void add_label(const struct svg_picture *p, double x, double y, double w, struct span name)
{
    size_t fits = w > 2 * CELL ? (size_t)((w - 6) / CELL) : 0, characters = 0, at = 0, cut = 0;

    while (at < name.n && characters <= fits) {
        if (characters + 2 == fits)
            cut = at;
        for (at++; at < name.n && ((unsigned char)name.p[at] & 0xc0) == 0x80; at++)
            ;
        characters++;
    }
    if (fits < 3)
        return;
    buf_printf(p->out, "<text x=\"%.1f\" y=\"%.0f\">", x + 3, y + 11.5);
    if (characters <= fits) {
        text_add_html(p->out, name);
    } else {
        text_add_html(p->out, (struct span){ name.p, cut });
        buf_add_str(p->out, "..");
    }
    buf_add_str(p->out, "</text>");
}

void svg_add_box(const struct svg_picture *p, uint32_t depth, double left, double part,
                 struct span name, struct span facts, uint32_t colour)
{
    double row = (double)(p->inverted ? depth : p->levels - 1 - depth),
           x = SIDE + left * (p->width - 2 * SIDE), w = part * (p->width - 2 * SIDE),
           y = HEAD_HEIGHT + row * BOX_HEIGHT;

    buf_add_str(p->out, "<g><title>");
    text_add_html(p->out, name);
    buf_add_str(p->out, " (");
    text_add_html(p->out, facts);
    buf_printf(p->out,
               ")</title><rect x=\"%.3f\" y=\"%.0f\" width=\"%.3f\" height=\"%d\" "
               "fill=\"#%06x\"/>",
               x, y, w, BOX_HEIGHT - 1, colour);
    add_label(p, x, y, w, name);
    buf_add_str(p->out, "</g>\n");
}

void svg_end(const struct svg_picture *p)
{
    buf_add_str(p->out, "</g>\n<script><![CDATA[");
    buf_add_span(p->out, SVG_SCRIPT);
    buf_add_str(p->out, "]]></script>\n</svg>\n");
}
