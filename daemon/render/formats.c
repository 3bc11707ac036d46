/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats, in the order in which errors and documents name them. */
#include "render/formats.h"

static const struct render_format FORMATS[] = {
    { "html", "text/html; charset=utf-8", "html", render_html, .keep_lines = true },
    { "collapsed", "text/plain; charset=utf-8", "collapsed.txt", render_collapsed, .flows = true },
    { "summary", "text/plain; charset=utf-8", "summary.txt", render_summary, .exact = true },
    { "flat", "text/plain; charset=utf-8", "flat.txt", render_flat, .exact = false },
    { "traces", "text/plain; charset=utf-8", "traces.txt", render_traces, .flows = true },
    { "tree", "text/plain; charset=utf-8", "tree.txt", render_tree,
      .render_html = render_tree_html },
    { "svg", "image/svg+xml", "svg", render_svg, .exact = false },
    { "json", "application/json", "json", render_json, .keep_lines = true, .flows = true },
    { "pprof", "application/octet-stream", "pb.gz", render_pprof, .exact = true,
      .every_event = true },
    { "speedscope", "application/json", "speedscope.json", render_speedscope, .exact = true,
      .every_event = true, .flows = true },
    { "jfr", "application/octet-stream", "jfr", render_jfr, .exact = true },
    { "otlp", "application/x-protobuf", "otlp.pb", render_otlp, .exact = true,
      .every_event = true },
    { "heatmap", "text/html; charset=utf-8", "heatmap.html", render_heatmap, .exact = true },
};

const struct render_format *render_formats(size_t *ret_count)
{
    *ret_count = ARRAY_SIZE(FORMATS);
    return FORMATS;
}

const struct render_format *render_format_find(struct span name)
{
    for (size_t i = 0; i < ARRAY_SIZE(FORMATS); i++)
        if (span_eq_str(name, FORMATS[i].name))
            return &FORMATS[i];
    return NULL;
}
