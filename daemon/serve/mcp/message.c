/* SPDX-License-Identifier: Apache-2.0 */
/* Parses one message of JSON-RPC, its revision, and the headers that repeat parts of it. */
#include "serve/mcp/mcp_impl.h"

#include "base/base64.h"
#include "serve/request_head.h"

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_CLIENT "io.modelcontextprotocol/clientInfo"
#define HEADER_NAME_MAX 256 /* bytes of Mcp-Name, decoded */

static const char *const LEGACY[] = { MCP_LEGACY, "2025-06-18", "2025-03-26" };

/* ---- revisions ---- */

const char *mcp_legacy_version(const char *wanted)
{
    for (size_t i = 0; wanted && i < ARRAY_SIZE(LEGACY); i++) {
        if (strcmp(wanted, LEGACY[i]) == 0)
            return LEGACY[i];
    }
    return MCP_LEGACY;
}

static bool is_legacy(const char *version)
{
    return strcmp(mcp_legacy_version(version), version) == 0;
}

json_t *mcp_versions(void)
{
    json_t *list = json_pack("[s]", MCP_MODERN);

    for (size_t i = 0; i < ARRAY_SIZE(LEGACY); i++)
        json_array_append_new(list, json_string(LEGACY[i]));
    return list;
}

static int refuse_version(const char *version, struct mcp_fault *fault)
{
    char show[QUERY_SHOW_MAX];

    fault->data = json_pack("{s:o, s:s}", "supported", mcp_versions(), "requested", version);
    return mcp_fault_set(fault, MCP_UNSUPPORTED_VERSION, 400,
                         "flamed does not speak the protocol version '%s'",
                         query_show(span_of(version), show));
}

/* ---- the body ---- */

/* Returns whether objects and arrays nest deeper than MCP_DEPTH_MAX. */
static bool is_deep(struct span text)
{
    bool quoted = false;
    size_t depth = 0;

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (quoted) {
            i += c == '\\';
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (++depth > MCP_DEPTH_MAX)
                return true;
        } else if ((c == '}' || c == ']') && depth) {
            depth--;
        }
    }
    return false;
}

/* Parses the JSON of the body into m->root, an object. */
static int read_json(struct span text, struct mcp_message *m, struct mcp_fault *fault)
{
    char show[QUERY_SHOW_MAX];
    json_error_t e;

    if (!span_trim(text).n)
        return mcp_fault_set(fault, MCP_PARSE_ERROR, 400,
                             "there is no body: send one request of JSON-RPC 2.0");
    if (is_deep(text))
        return mcp_fault_set(fault, MCP_PARSE_ERROR, 400,
                             "more than %d objects and lists are in one another", MCP_DEPTH_MAX);
    m->root = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, &e);
    if (!m->root)
        return mcp_fault_set(fault, MCP_PARSE_ERROR, 400, "the body is no JSON: %s at byte %d",
                             query_show(span_of(e.text), show), e.position);
    if (json_is_array(m->root))
        return mcp_fault_set(fault, MCP_INVALID_REQUEST, 400,
                             "a batch is not taken: send each request by itself");
    return json_is_object(m->root)
               ? 0
               : mcp_fault_set(fault, MCP_INVALID_REQUEST, 400, "the body is JSON, but no object");
}

static int read_members(struct mcp_message *m, struct mcp_fault *fault)
{
    const char *version = json_string_value(json_object_get(m->root, "jsonrpc"));
    const json_t *id = json_object_get(m->root, "id");

    if (json_is_string(id) || json_is_integer(id))
        m->id = id;
    m->params = json_object_get(m->root, "params");
    m->method = json_string_value(json_object_get(m->root, "method"));
    if (id && !m->id)
        return mcp_fault_set(fault, MCP_INVALID_REQUEST, 400,
                             "the id of a request is a text or a whole number");
    if (!version || strcmp(version, "2.0") != 0)
        return mcp_fault_set(fault, MCP_INVALID_REQUEST, 400, "jsonrpc has to be \"2.0\"");
    if (!m->method)
        return mcp_fault_set(fault, MCP_INVALID_REQUEST, 400,
                             "there is no method: a message is a request or a notification");
    if (m->params && !json_is_object(m->params))
        return mcp_fault_set(fault, MCP_INVALID_REQUEST, 400, "params has to be an object");
    return 0;
}

/* ---- headers that repeat the body ---- */

static int refuse_header(struct mcp_fault *fault, const char *name, struct span value,
                         const char *in_body)
{
    char shown[QUERY_SHOW_MAX], body[QUERY_SHOW_MAX];

    return mcp_fault_set(fault, MCP_HEADER_MISMATCH, 400,
                         "the header %s is '%s', and the body has '%s'", name,
                         query_show(value, shown), query_show(span_of(in_body), body));
}

/* Decodes a value of the form =?base64?...?= into @buf; returns other values unchanged. */
static struct span decoded(struct span value, char *buf, size_t size)
{
    struct span inner = value;
    size_t n;

    if (!span_take_str(&inner, "=?base64?") || !span_ends_with(inner, "?="))
        return value;
    inner.n -= strlen("?=");
    return base64_decode(inner, buf, size, &n) ? (struct span){ buf, n } : value;
}

/* Checks that the header was sent once and equals @in_body. NULL: the body lacks the value, which
 * is refused. */
static int check_header(const char *name, struct span value, size_t count, const char *in_body,
                        struct mcp_fault *fault)
{
    char text[HEADER_NAME_MAX];
    struct span said = decoded(span_trim(value), text, sizeof(text));

    if (count == 0)
        return mcp_fault_set(fault, MCP_HEADER_MISMATCH, 400,
                             "the header %s is missing, which revision " MCP_MODERN " needs", name);
    if (count > 1)
        return mcp_fault_set(fault, MCP_HEADER_MISMATCH, 400, "the header %s is there twice", name);
    return in_body && span_eq_str(said, in_body) ? 0 : refuse_header(fault, name, value, in_body);
}

/* Checks the headers and members that the revision without sessions requires. */
static int check_modern(const struct mcp_message *m, const struct request_head *h,
                        const char *version, struct mcp_fault *fault)
{
    const json_t *meta = json_object_get(m->params, "_meta"),
                 *client = json_object_get(meta, META_CLIENT);
    int r;

    if (!json_object_get(meta, META_VERSION))
        return mcp_fault_set(fault, MCP_INVALID_PARAMS, 400,
                             "params._meta has no \"" META_VERSION "\"");
    r = check_header("MCP-Protocol-Version", h->mcp_version.value, h->mcp_version.count, version,
                     fault);
    if (r == 0)
        r = check_header("Mcp-Method", h->mcp_method.value, h->mcp_method.count, m->method, fault);
    if (r == 0 && strcmp(m->method, "tools/call") == 0)
        r = check_header("Mcp-Name", h->mcp_name.value, h->mcp_name.count,
                         json_string_value(json_object_get(m->params, "name")), fault);
    if (r != 0)
        return r;
    if (!json_is_object(json_object_get(meta, META_CAPABILITIES)))
        return mcp_fault_set(fault, MCP_INVALID_PARAMS, 400,
                             "params._meta has no object \"" META_CAPABILITIES "\"");
    return !client || json_is_object(client)
               ? 0
               : mcp_fault_set(fault, MCP_INVALID_PARAMS, 400,
                               "\"" META_CLIENT "\" has to be an object");
}

/* Checks the revision: that of the body, else that of the header. Without both it is one from
 * before the header existed. */
static int check_version(struct mcp_message *m, const struct request_head *h,
                         struct mcp_fault *fault)
{
    const json_t *in_body = json_object_get(json_object_get(m->params, "_meta"), META_VERSION);
    const char *body = json_string_value(in_body);
    struct span header = span_trim(h->mcp_version.value);
    char version[QUERY_SHOW_MAX];

    if (in_body && !body)
        return mcp_fault_set(fault, MCP_INVALID_PARAMS, 400,
                             "\"" META_VERSION "\" has to be a text");
    if (body && h->mcp_version.count && !span_eq_str(header, body))
        return refuse_header(fault, "MCP-Protocol-Version", header, body);
    query_show(body ? span_of(body) : header, version);
    m->modern = strcmp(version, MCP_MODERN) == 0;
    if (m->modern)
        return check_modern(m, h, body, fault);
    return !version[0] || is_legacy(version) ? 0 : refuse_version(version, fault);
}

int mcp_message_parse(struct span text, struct mcp_message *ret, struct mcp_fault *fault)
{
    int r;

    *ret = (struct mcp_message){ .root = NULL };
    r = read_json(text, ret, fault);
    return r == 0 ? read_members(ret, fault) : r;
}

int mcp_message_read(struct request *req, struct mcp_fault *fault)
{
    struct mcp_message *m = &req->mcp;
    struct request_head h = { 0 };
    int r = mcp_message_parse(buf_span(&req->received.body), m, fault);

    if (r != 0)
        return r;
    request_head_read(req, &h);
    return m->id ? check_version(m, &h, fault) : 0;
}
