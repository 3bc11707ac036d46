/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the envelope of a reply. */
#include "serve/mcp/mcp_impl.h"

#include "base/text.h"

#include <stdarg.h>

int mcp_fault_set(struct mcp_fault *fault, enum mcp_code code, unsigned status, const char *fmt,
                  ...)
{
    va_list ap;

    fault->code = code;
    fault->status = status;
    fault->err.code = -EINVAL;
    va_start(ap, fmt);
    vsnprintf(fault->err.msg, sizeof(fault->err.msg), fmt, ap);
    va_end(ap);
    return -EINVAL;
}

/* Replies with @value, which it takes, as the member @name. */
static void reply(struct request *req, unsigned status, const char *name, json_t *value)
{
    json_t *members = json_pack("{s:s}", "jsonrpc", "2.0");

    if (req->mcp.id)
        json_object_set(members, "id", (json_t *)(uintptr_t)req->mcp.id);
    json_object_set_new(members, name, value);
    answer_reset(&req->answer);
    answer_json(&req->answer, status, members, JSON_COMPACT);
    json_decref(members);
}

/* Returns the sentence and the remedy, cleaned for display; owned by the caller. */
static json_t *sentence(const struct error *err)
{
    _cleanup_buf_ struct buf raw = BUF_UPTO(sizeof(*err)), clean = BUF_UPTO(4 * sizeof(*err));

    buf_add_str(&raw, err->msg);
    if (err->remedy[0])
        buf_printf(&raw, "; %s", err->remedy);
    text_clean(buf_span(&raw), TEXT_UTF8, sizeof(*err), &clean);
    return json_stringn(clean.p ? clean.p : "", clean.n);
}

void mcp_reply_fault(struct request *req, struct mcp_fault *fault)
{
    json_t *error =
        json_pack("{s:i, s:o}", "code", (int)fault->code, "message", sentence(&fault->err));

    if (fault->data)
        json_object_set_new(error, "data", fault->data);
    fault->data = NULL;
    reply(req, fault->status, "error", error);
}

void mcp_reply_result(struct request *req, json_t *result)
{
    struct mcp_fault fault = { .data = NULL };

    if (result && req->mcp.modern) {
        json_object_set_new(result, "resultType", json_string("complete"));
        json_object_set_new(result, "_meta",
                            json_pack("{s:{s:s, s:s}}", "io.modelcontextprotocol/serverInfo",
                                      "name", "flamed", "version", req->serve->opts.version));
    }
    if (result) {
        reply(req, 200, "result", result);
        return;
    }
    mcp_fault_set(&fault, MCP_INTERNAL_ERROR, 500, "out of memory while writing the answer");
    mcp_reply_fault(req, &fault);
}
