/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `tree`: the call tree, heaviest branch first, of the `top` heaviest frames, as indented
 * text or as a page with branches that open and close. With `reverse` it grows from the leaves,
 * towards the callers of hot functions.
 */
#include "base/cleanup.h"
#include "base/text.h"
#include "render/standalone/calltree.h"
#include "render/standalone/pages.h"

#define TREE_INDENT_MAX 100 /* levels that are indented; deeper levels show their number */
#define TREE_NEST_MAX 200   /* limit of nested elements: browsers stop at 512 */

static int tree_of(const struct view *v, const struct render_opts *o, struct calltree *t,
                   struct error *err)
{
    struct calltree_opts c = { .reverse = o && o->reverse, .top = report_top(o) };

    if (calltree_init(t, v, &c) < 0)
        return error_set(err, -ENOMEM, "no memory to render the profile");
    return 0;
}

static double share_of(const struct view *v, struct view_sum w)
{
    return report_percent(report_weigh(v, w), report_weigh(v, report_whole(v)));
}

/* ---- text ---- */

static void print_node(const struct view *v, const struct calltree_node *node, struct buf *out)
{
    buf_printf(out, "%7.2f%%  %6.2f%%  %9llu  %*s[%u] ", share_of(v, node->total),
               share_of(v, node->self), (unsigned long long)node->total.samples,
               (int)(2 * MIN(node->depth, (uint32_t)TREE_INDENT_MAX)), "", node->depth);
    buf_add_span(out, view_string(v, node->name));
    buf_add_char(out, '\n');
}

int render_tree(const struct view *v, const struct render_opts *o, struct buf *out,
                struct error *err)
{
    _cleanup_(calltree_deinit) struct calltree t = { 0 };
    int r = tree_of(v, o, &t, err);

    if (r < 0)
        return r;
    report_add_head(v, o, out);
    buf_add_str(out, "\n   total     self    samples  frame\n");
    buf_add_str(out, " -------  -------  ---------  -----\n");
    for (uint32_t i = t.first; i != CALLTREE_NONE; i = calltree_next(&t, i))
        print_node(v, &t.nodes[i], out);
    if (t.left_out)
        buf_printf(out, "%28s[%zu lighter frames are left out: top=%zu]\n", "", t.left_out,
                   report_top(o));
    return render_result(out, err);
}

/* ---- page ---- */

static void add_line(const struct view *v, const struct calltree_node *node, struct buf *out)
{
    buf_printf(
        out,
        "<span class=\"n\">%.2f%%</span> <span class=\"n\">%.2f%%</span> "
        "<span class=\"n s\">%llu</span> <span class=\"l\">[%u]</span> <span class=\"f %s\">",
        share_of(v, node->total), share_of(v, node->self), (unsigned long long)node->total.samples,
        node->depth, render_kind_name(node->kind));
    text_add_html(out, view_string(v, node->name));
    buf_add_str(out, "</span>");
}

/* Returns whether a branch is open at first: down to its first fork, and two levels more. */
static bool opens(const struct calltree *t, const struct calltree_node *node)
{
    uint32_t parted = 0;

    for (uint32_t i = node->parent; i != CALLTREE_NONE && parted < 3; i = t->nodes[i].parent) {
        uint32_t child = t->nodes[i].child;

        parted += t->nodes[child].sibling != CALLTREE_NONE;
    }
    return parted < 3;
}

static bool nests(const struct calltree_node *node)
{
    return node->child != CALLTREE_NONE && node->depth < TREE_NEST_MAX;
}

static void add_node(const struct view *v, const struct calltree *t, uint32_t at, struct buf *out)
{
    const struct calltree_node *node = &t->nodes[at];
    uint32_t next = calltree_next(t, at), depth = next == CALLTREE_NONE ? 0 : t->nodes[next].depth;

    if (nests(node)) {
        buf_add_str(out, opens(t, node) ? "<details open><summary>" : "<details><summary>");
        add_line(v, node, out);
        buf_add_str(out, "</summary>\n");
        return;
    }
    buf_add_str(out, "<div>");
    add_line(v, node, out);
    buf_add_str(out, "</div>\n");
    /* Closes the elements that end here: those of ancestors without further children. */
    for (uint32_t d = MIN(node->depth, (uint32_t)TREE_NEST_MAX);
         d > MIN(depth, (uint32_t)TREE_NEST_MAX); d--)
        buf_add_str(out, "</details>");
}

int render_tree_html(const struct view *v, const struct render_opts *o, struct buf *out,
                     struct error *err)
{
    _cleanup_(calltree_deinit) struct calltree t = { 0 };
    _cleanup_buf_ struct buf text = BUF_UPTO(RENDER_MAX_BYTES);
    int r = tree_of(v, o, &t, err);

    if (r < 0)
        return r;
    render_add_title(v, o, &text);
    buf_add_span(out, TREE_HEAD);
    text_add_html(out, buf_span(&text));
    buf_add_span(out, TREE_BODY);
    buf_clear(&text);
    report_add_head(v, o, &text);
    buf_add_str(out, "<pre>");
    text_add_html(out, buf_span(&text));
    buf_add_str(out, "</pre>\n<div id=\"tree\">\n<div class=\"h\"><span class=\"n\">total</span> "
                     "<span class=\"n\">self</span> <span class=\"n s\">samples</span> "
                     "<span class=\"f\">frame</span></div>\n");
    for (uint32_t i = t.first; i != CALLTREE_NONE; i = calltree_next(&t, i))
        add_node(v, &t, i, out);
    buf_add_str(out, "</div>\n");
    if (t.left_out)
        buf_printf(out, "<p>%zu lighter frames are left out: top=%zu</p>\n", t.left_out,
                   report_top(o));
    buf_add_span(out, TREE_TAIL);
    if (text.error && !out->error)
        out->error = text.error;
    return render_result(out, err);
}
