/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the answer of a route into the result of a tool: short, with its warnings, and with links
 * for people. If it is too long, lists lose their last entries and texts their last lines, and the
 * result says so.
 */
#include "base/list.h"
#include "base/utc_text.h"
#include "serve/mcp/mcp_impl.h"

#include "base/url.h"
#include "serve/params/time_text.h"

#include <time.h>

#define INNER_MOST 4096              /* entries of an inner list in the first round of shortening */
#define INNER_LEAST 4                /* entries of an inner list in the last round */
#define SEVERITY_MAX 3               /* highest severity of a signal */
#define SAID_MAX_BYTES ((size_t)512) /* reserved for "left_out" */

/* ---- pieces ---- */

static void add_block(json_t *content, struct span text)
{
    json_t *value = json_stringn(text.p ? text.p : "", text.n);

    if (!value) /* not UTF-8 */
        value = json_string("The answer is no text.");
    json_array_append_new(content, json_pack("{s:s, s:o}", "type", "text", "text", value));
}

/* Returns the length of the first @max bytes of @text, cut after a whole line, or a whole character
 * if there is no line end. */
static size_t cut_at(struct span text, size_t max)
{
    size_t line;

    if (text.n <= max)
        return text.n;
    text.n = max;
    line = span_rfind(text, '\n');
    if (line < max)
        return line + 1;
    while (max > 0 && ((unsigned char)text.p[max] & 0xc0) == 0x80)
        max--;
    return max;
}

/* ---- links ---- */

/* Appends the scheme and host that @req was sent to. False: it came over a Unix socket, which no
 * link reaches. */
static bool add_base(const struct request *req, struct buf *out)
{
    if (req->client->unix_socket)
        return false;
    buf_printf(out, "%s://%s", req->client->speaks_tls ? "https" : "http",
               req->received.host[0] ? req->received.host : "localhost");
    return true;
}

/* Appends an absolute time in whole seconds, so that the link stays valid later, unlike "-5m". */
static void add_time(struct buf *out, uint64_t time_ns)
{
    char text[UTC_TEXT_BYTES];

    buf_add_str(out, utc_text(time_ns, text));
}

static void add_range(const struct time_range *range, uint64_t now_ns, const char *between,
                      struct buf *out)
{
    add_time(out, range->from_ns);
    buf_add_str(out, between);
    add_time(out, MIN(range->to_ns, now_ns) + NSEC_PER_SEC - 1);
}

/* Appends the value of a parameter, with ranges of a and b made absolute. */
static void add_value(const struct query_item *item, uint64_t now_ns, struct buf *out)
{
    bool side = span_eq_str(item->name, "a") || span_eq_str(item->name, "b");
    struct time_range range;

    if (side && range_parse(item->value, now_ns, &range))
        add_range(&range, now_ns, "..", out);
    else
        url_add_escaped(out, item->value);
}

/* Returns whether a link repeats the parameter @name of the tool's request. A link has a format and
 * a range of its own. */
static bool is_of_link(struct span name)
{
    static const char *const OTHERS[] = { "format", "top", "from", "to", "at", "seconds" };

    return !ANY_OF(i, ARRAY_SIZE(OTHERS), span_eq_str(name, OTHERS[i]));
}

/* Appends the path of the flame graph of the same samples. */
static void add_graph(const struct request *req, struct buf *out)
{
    const struct params *p = &req->params;

    if (req->path_text[0])
        buf_printf(out, "/api/v1/captures/%s/profile?format=html", req->path_text);
    else
        buf_printf(out, "%s?format=html", req->route->path);
    for (size_t i = 0; i < req->query.count; i++) {
        const struct query_item *item = &req->query.items[i];

        if (!is_of_link(item->name))
            continue;
        buf_add_char(out, '&');
        url_add_escaped(out, item->name);
        buf_add_char(out, '=');
        add_value(item, p->now_ns, out);
    }
    if (p->given & PARAMS_RANGE) {
        buf_add_str(out, "&from=");
        add_range(&p->range, p->now_ns, "&to=", out);
    }
}

/* Appends a link to the web page's view of the same data, if there is one. */
static void add_page(const struct request *req, const char *capture, struct buf *out)
{
    const struct params *p = &req->params;
    bool past = p->given & PARAMS_RANGE && p->capture.target.pid_count == 1;

    if (req->client->unix_socket || (!capture && !past))
        return;
    buf_add_str(out, "Page: ");
    add_base(req, out);
    if (capture) {
        buf_printf(out, "/#/capture/%s\n", capture);
        return;
    }
    buf_printf(out, "/#/jvm/%d?from=", (int)p->capture.target.pids[0]);
    add_range(&p->range, p->now_ns, "&to=", out);
    buf_add_char(out, '\n');
}

static const char *header_of(const struct answer *a, const char *name)
{
    for (size_t i = 0; i < a->header_count; i++) {
        if (strcmp(a->headers[i].name, name) == 0)
            return a->headers[i].value;
    }
    return NULL;
}

/* Appends lines with the id of the capture of @req, and links for people. */
static void add_links(const struct request *req, const struct mcp_tool *tool, struct buf *out)
{
    const char *capture = header_of(&req->answer, "X-Flamed-Capture");

    if (!capture && tool->acts)
        return; /* the capture was not kept */
    if (capture)
        buf_printf(out, "Capture: %s\n", capture);
    buf_add_str(out, "Graph: ");
    add_base(req, out);
    if (capture)
        buf_printf(out, "/api/v1/captures/%s/profile?format=html", capture);
    else
        add_graph(req, out);
    buf_add_char(out, '\n');
    add_page(req, capture, out);
}

/* Appends the counts and warnings that are in headers alone. */
static void add_counts(const struct answer *a, struct buf *out)
{
    const char *samples = header_of(a, "X-Flamed-Samples");

    if (samples)
        buf_printf(out, "Samples: %s\n", samples);
    for (size_t i = 0; i < a->header_count; i++) {
        if (strcmp(a->headers[i].name, "X-Flamed-Warning") == 0)
            buf_printf(out, "Warning: %s\n", a->headers[i].value);
    }
}

/* ---- texts ---- */

/* Copies the first @max bytes of the body of @a into @to. Returns the length of the whole body;
 * *ret_n: the number of copied bytes. */
static size_t first_bytes(struct answer *a, char *to, size_t max, size_t *ret_n)
{
    struct span body = a->fixed.p ? a->fixed : buf_span(&a->body);
    ssize_t n;

    *ret_n = 0;
    if (!a->packed) {
        *ret_n = MIN(body.n, max);
        memcpy(to, body.p ? body.p : "", *ret_n);
        return body.n;
    }
    while (*ret_n < max && (n = zstd_buf_read(a->packed, to + *ret_n, max - *ret_n)) > 0)
        *ret_n += (size_t)n;
    return zstd_buf_bytes(a->packed);
}

/* Shortens each run of blanks in @text to two: a tree is indented by blanks. Returns the new
 * length. */
static size_t squeeze(char *text, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (text[i] != ' ' || kept < 2 || text[kept - 1] != ' ' || text[kept - 2] != ' ')
            text[kept++] = text[i];
    }
    return kept;
}

/* Appends the text of the answer to @content. Returns whether it is complete. */
static bool add_text(struct answer *a, const struct mcp_tool *tool, json_t *content)
{
    size_t n, all, shown, room = tool->squeezes ? MCP_TREE_MAX_BYTES : MCP_ANSWER_MAX_BYTES;
    char *text = malloc(room);
    bool whole;

    if (!text)
        return false;
    all = first_bytes(a, text, room, &n);
    whole = n == all;
    if (tool->squeezes)
        n = squeeze(text, n);
    shown = whole && n <= MCP_ANSWER_MAX_BYTES
                ? n
                : cut_at((struct span){ text, n }, MIN(n - (n > 0), MCP_ANSWER_MAX_BYTES));
    add_block(content, (struct span){ text, shown });
    free(text);
    return shown == n && whole;
}

static json_t *result_of_text(struct request *req, const struct mcp_tool *tool)
{
    _cleanup_buf_ struct buf more = BUF_UPTO(MCP_ANSWER_MAX_BYTES);
    json_t *content = json_array();

    if (!add_text(&req->answer, tool, content))
        buf_printf(&more,
                   "Cut: these are the first %zu KiB. Ask for less, such as by a smaller top, or "
                   "by include.\n",
                   MCP_ANSWER_MAX_BYTES >> 10);
    if (tool->counts)
        add_counts(&req->answer, &more);
    add_links(req, tool, &more);
    add_block(content, buf_span(&more));
    return json_pack("{s:o, s:b}", "content", content, "isError", false);
}

/* ---- JSON ---- */

static size_t bytes_of(const json_t *value)
{
    return json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
}

/* Returns the list in @object with the most bytes, and its name. */
static json_t *longest_list(json_t *object, const char **ret_name)
{
    json_t *found = NULL, *value;
    size_t most = 0;
    const char *name;

    json_object_foreach(object, name, value)
    {
        size_t n = json_is_array(value) && json_array_size(value) ? bytes_of(value) : 0;

        if (n > most) {
            most = n;
            found = value;
            *ret_name = name;
        }
    }
    return found;
}

/* Drops the last entries of @list until *n, the bytes of the answer, is at most @max; keeps the
 * first @least entries. Adds the number of dropped entries to @left_out. */
static void drop_last(json_t *list, size_t least, size_t max, size_t *n, json_t *left_out,
                      const char *name)
{
    json_int_t before = json_integer_value(json_object_get(left_out, name));
    size_t count = json_array_size(list), kept = count;

    while (*n > max && kept > least) {
        *n -= MIN(*n, bytes_of(json_array_get(list, --kept)) + 1);
        json_array_remove(list, kept);
    }
    if (kept < count)
        json_object_set_new(left_out, name, json_integer(before + (json_int_t)(count - kept)));
}

/* Returns whether the inner list @name may be shortened: any list with @all, else only lists on the
 * past of a service. */
static bool gives_way(const char *name, bool all)
{
    return all || strcmp(name, "ended") == 0 || strcmp(name, "marks") == 0;
}

/* Shortens the inner lists in the entries of @list to @most entries each, as drop_last(). */
static void shorten_inner(json_t *list, const char *of, bool all, size_t most, size_t max,
                          size_t *n, json_t *left_out)
{
    json_t *entry, *inner;
    const char *name;
    char path[128];
    size_t i;

    json_array_foreach(list, i, entry)
    {
        json_object_foreach(entry, name, inner)
        {
            if (!json_is_array(inner) || !gives_way(name, all))
                continue;
            snprintf(path, sizeof(path), "%s.%s", of, name);
            drop_last(inner, most, max, n, left_out, path);
        }
    }
}

/* Shortens the inner lists of all lists in @object, the longest first, as drop_last(). */
static void shorten_entries(json_t *object, bool all, size_t max, size_t *n, json_t *left_out)
{
    const char *name;
    json_t *list;

    for (size_t most = INNER_MOST; *n > max && most >= INNER_LEAST; most /= 2) {
        json_object_foreach(object, name, list)
            shorten_inner(list, name, all, most, max, n, left_out);
    }
}

/* Sorts signals by severity, highest first, so that the mildest ones are dropped first. */
static void sort_signals(json_t *object)
{
    json_t *list = json_object_get(object, "signals"), *sorted = json_array(), *one;
    size_t i;

    for (json_int_t severity = SEVERITY_MAX; severity >= 0; severity--) {
        json_array_foreach(list, i, one)
        {
            if (json_integer_value(json_object_get(one, "severity")) == severity)
                json_array_append(sorted, one);
        }
    }
    if (list && json_array_size(sorted) == json_array_size(list))
        json_object_set(object, "signals", sorted);
    json_decref(sorted);
}

/* Shortens the lists of @object until it has at most @max bytes, and adds the number of entries
 * that each list lost. Inner lists come first, then the signals that are over, then the longest
 * list. False: @object exceeds @max even with empty lists. */
static bool shorten(json_t *object, size_t max)
{
    json_t *left_out = json_object(), *list;
    size_t n = bytes_of(object);
    const char *name;

    max -= MIN(max, SAID_MAX_BYTES);
    if (n > max)
        sort_signals(object);
    shorten_entries(object, /* all= */ false, max, &n, left_out);
    shorten_entries(object, /* all= */ true, max, &n, left_out);
    list = json_object_get(object, "past");
    if (json_is_array(list))
        drop_last(list, 0, max, &n, left_out, "past");
    while (n > max && (list = longest_list(object, &name)))
        drop_last(list, 0, max, &n, left_out, name);
    if (json_object_size(left_out))
        json_object_set(object, "left_out", left_out);
    json_decref(left_out);
    return n <= max;
}

static json_t *error_result(struct span sentence)
{
    json_t *content = json_array();

    add_block(content, sentence);
    return json_pack("{s:o, s:b}", "content", content, "isError", true);
}

static json_t *result_of_json(struct request *req)
{
    struct span body = req->answer.fixed.p ? req->answer.fixed : buf_span(&req->answer.body);
    json_auto_t *value =
        body.n <= MCP_JSON_MAX_BYTES ? json_loadb(body.p ? body.p : "", body.n, 0, NULL) : NULL;
    _cleanup_buf_ struct buf base = BUF_UPTO(PATH_TEXT_MAX + 16);
    json_t *content = json_array();
    char *text;

    if (value && add_base(req, &base))
        json_object_set_new(value, "links_begin_with", json_stringn(base.p, base.n));
    text = value && shorten(value, MCP_ANSWER_MAX_BYTES) ? json_dumps(value, JSON_COMPACT) : NULL;
    if (!text) {
        json_decref(content);
        return error_result(SPAN("The answer is too long for a tool. Name a pid or a service."));
    }
    add_block(content, span_of(text));
    free(text);
    return json_pack("{s:o, s:O, s:b}", "content", content, "structuredContent", value, "isError",
                     false);
}

/* ---- problems ---- */

/* Returns the sentence of a problem and its remedy. */
static json_t *result_of_problem(const struct answer *a)
{
    struct span body = buf_span(&a->body);
    json_auto_t *problem = json_loadb(body.p ? body.p : "", body.n, 0, NULL);
    const char *detail = json_string_value(json_object_get(problem, "detail")),
               *remedy = json_string_value(json_object_get(problem, "remedy"));
    _cleanup_buf_ struct buf text = BUF_UPTO(MCP_ANSWER_MAX_BYTES);

    buf_add_str(&text, detail ? detail : "the request failed");
    if (remedy)
        buf_printf(&text, "; %s", remedy);
    return error_result(buf_span(&text));
}

json_t *mcp_tool_result(struct request *req)
{
    const struct mcp_tool *tool = mcp_tool_find(req->mcp.tool);

    if (req->answer.status >= 400 || !tool)
        return result_of_problem(&req->answer);
    return tool->json ? result_of_json(req) : result_of_text(req, tool);
}
