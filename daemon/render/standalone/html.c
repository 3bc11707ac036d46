/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `html`: one file that opens offline: the viewer of web/, assembled when flamed is built,
 * with the profile as compact JSON in a <script type="application/json">.
 */
#include "base/text.h"
#include "render/standalone/pages.h"
#include "render/standalone/viewer_data.h"

int render_html(const struct view *v, const struct render_opts *o, struct buf *out,
                struct error *err)
{
    _cleanup_buf_ struct buf title = BUF_UPTO(RENDER_MAX_BYTES);
    int r;

    render_add_title(v, o, &title);
    buf_add_span(out, VIEWER_HEAD);
    text_add_html(out, buf_span(&title));
    buf_add_span(out, VIEWER_BODY);
    r = viewer_data_add(v, o, NULL, out);
    buf_add_str(out, "}\n");
    buf_add_span(out, VIEWER_TAIL);
    if (r == 0)
        r = title.error;
    if (r < 0)
        return error_code(err, r, "cannot render the profile");
    return render_result(out, err);
}
