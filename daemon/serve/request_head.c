/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the headers of a request. */
#include "serve/request_head.h"

#include "serve/body.h"

#include <strings.h>

/* Returns whether @name is a token and @value is a single line: RFC 9110, section 5. The library
 * also accepts others, such as "Content-Length : 5". */
static bool is_header(const char *name, const char *value)
{
    static const char WORD[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

    return name[0] && !name[strspn(name, WORD)] && !value[strcspn(value, "\r\n")];
}

/* Returns whether only blanks separate @name and @value. For a continuation line (RFC 9112, section
 * 5.2), the library before its release 1.0 appends the line to @name, which it moves.
 * "Transfer-Encoding:", " chunked" would thus become an unknown header. */
static bool is_in_one_line(const char *name, const char *value)
{
    uintptr_t at = (uintptr_t)(name + strlen(name) + 1);

    return (uintptr_t)value >= at &&
           at + strspn(name + strlen(name) + 1, " \t") >= (uintptr_t)value;
}

static enum MHD_Result head_header(void *cookie, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct request_head *h = cookie;
    struct span v = span_of(value ? value : "");

    (void)kind;
    if (!is_header(name, v.p) || !value || !is_in_one_line(name, value))
        h->malformed = true;
    else
        h->bytes += (size_t)(value - name) + v.n + strlen("\r\n");
    if (strcasecmp(name, "Host") == 0) {
        h->access.host = v;
        h->access.host_count++;
    } else if (strcasecmp(name, "Origin") == 0) {
        h->access.origin = v;
        h->access.origin_count++;
    } else if (strcasecmp(name, "Sec-Fetch-Site") == 0) {
        h->access.fetch_site = v;
        h->access.fetch_site_count++;
    } else if (strcasecmp(name, "Sec-Purpose") == 0 || strcasecmp(name, "Purpose") == 0) {
        h->access.purpose = v;
    } else if (strcasecmp(name, "Referer") == 0) {
        h->access.referer = v;
        h->access.referer_count++;
    } else if (strcasecmp(name, "Authorization") == 0) {
        h->authorization = v;
        h->authorization_count++;
    } else if (strcasecmp(name, "Cookie") == 0) {
        h->cookie = v;
    } else if (strcasecmp(name, "Accept") == 0) {
        h->accept = v;
    } else if (strcasecmp(name, "Accept-Encoding") == 0) {
        h->accept_encoding = v;
    } else if (strcasecmp(name, "Content-Length") == 0) {
        h->content_length = v;
        h->length_count++;
    } else if (strcasecmp(name, "Content-Type") == 0) {
        h->content_type = v;
    } else if (strcasecmp(name, "Expect") == 0) {
        h->expect = v;
    } else if (strcasecmp(name, "Service-Worker") == 0) {
        h->is_worker = true;
    } else if (strcasecmp(name, "MCP-Protocol-Version") == 0) {
        h->mcp_version.value = v;
        h->mcp_version.count++;
    } else if (strcasecmp(name, "Mcp-Method") == 0) {
        h->mcp_method.value = v;
        h->mcp_method.count++;
    } else if (strcasecmp(name, "Mcp-Name") == 0) {
        h->mcp_name.value = v;
        h->mcp_name.count++;
    } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
        h->transfer_encoding = v;
        h->encoding_count++;
    }
    return MHD_YES;
}

bool request_head_has_body(const struct request_head *h)
{
    return h->transfer_encoding.p ||
           (h->content_length.p && !span_eq_str(span_trim(h->content_length), "0"));
}

bool request_head_drains_body(const struct request_head *h)
{
    uint64_t length;

    return !h->expect.p && !h->transfer_encoding.p &&
           span_parse_dec(span_trim(h->content_length), &length) && length <= BODY_DRAIN_MAX_BYTES;
}

void request_head_read(struct request *req, struct request_head *ret)
{
    MHD_get_connection_values(req->connection, MHD_HEADER_KIND, head_header, ret);
}

/* Returns whether the body has a coding other than chunked. The library reads such a body until the
 * connection ends. HTTP/1.0 has no codings. */
static bool is_other_coding(const struct request_head *h, const struct request *req)
{
    static const char CHUNKED[] = "chunked";
    struct span coding = span_trim(h->transfer_encoding);

    return h->encoding_count && (req->received.http_1_0 || coding.n != strlen(CHUNKED) ||
                                 strncasecmp(coding.p, CHUNKED, coding.n) != 0);
}

/* A proxy before us may have seen another end of the body, and another request in the bytes after
 * it: RFC 9112, sections 5.1, 6.1 and 6.3. False: the answer says so, and the connection ends. */
bool request_head_has_one_length(const struct request_head *h, struct request *req)
{
    bool other_coding = is_other_coding(h, req);
    struct error err = ERROR_NULL;

    if (!h->malformed && !other_coding && h->length_count + h->encoding_count <= 1)
        return true;
    if (other_coding) {
        error_set(&err, -EINVAL, "the body has a Transfer-Encoding that is not understood");
        error_remedy(&err, "send a Content-Length, or by HTTP/1.1 Transfer-Encoding: chunked");
    } else if (h->malformed) {
        error_set(&err, -EINVAL, "the request has a header that is none of HTTP");
        error_remedy(&err, "send each as Name: value, on one line and without space in the name");
    } else {
        error_set(&err, -EINVAL,
                  "the request says more than once where its body ends (Content-Length, "
                  "Transfer-Encoding)");
        error_remedy(&err, "send one Content-Length, or Transfer-Encoding: chunked alone");
    }
    answer_problem(&req->answer, 400, &err, SPAN_NULL);
    answer_header(&req->answer, "Connection", "close");
    return false;
}

/* Accepts the form "http://host/path", as sent to proxies: servers accept it too, and its host
 * takes precedence over Host. */
void request_head_take_authority(struct request_head *h, struct request *req)
{
    struct origin_facts *a = &h->access;
    struct span rest = span_of(req->received.uri);
    size_t n = 0;

    if (!span_take_str(&rest, "http://") && !span_take_str(&rest, "https://"))
        return;
    while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?')
        n++;
    span_copy((struct span){ rest.p, n }, req->received.host, sizeof(req->received.host));
    a->host = span_of(req->received.host);
    a->host_count = MAX(a->host_count, (size_t)1);
    rest = span_from(rest, n);
    req->received.uri[0] = '/'; /* if the path is empty; the scheme left room */
    n = rest.n && rest.p[0] == '/' ? 0 : 1;
    memmove(req->received.uri + n, rest.p, rest.n + 1);
}
