/* SPDX-License-Identifier: Apache-2.0 */
/* GET /: for a person who opens the address: the JVMs of this node, each with a link to its flame
 * graph, and the same as curl lines. One static page without a script. */
#include "serve/impl.h"

#include "base/text.h"

static const char PAGE_HEAD[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>flamed</title>\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n<style>\n"
    "body{font:13px/20px system-ui,sans-serif;margin:0 auto;padding:16px 24px;max-width:1200px;"
    "font-variant-numeric:tabular-nums}\n"
    "h1{font-size:16px;margin:0 0 16px}h2{font-size:13px;margin:24px 0 8px}\n"
    "table{border-collapse:collapse;width:100%}\n"
    "th,td{text-align:left;height:24px;padding:0 16px 0 0;border-bottom:1px solid #8884;"
    "white-space:nowrap;overflow:hidden;text-overflow:ellipsis;max-width:480px}\n"
    "th{font-weight:600}td.n,th.n{text-align:right}code,pre,td.m{font-family:ui-monospace,"
    "monospace}\n"
    "pre{margin:0;padding:8px 12px;border:1px solid #8884;overflow:auto}p{margin:8px 0}\n"
    ".q{opacity:.7}\n</style></head><body>\n<h1>flamed</h1>\n";

static void add_text(struct buf *b, const char *text)
{
    text_add_html(b, span_of(text ? text : ""));
}

static void add_row(struct buf *b, const json_t *jvm)
{
    long long pid = (long long)json_integer_value(json_object_get(jvm, "pid"));
    const json_t *container = json_object_get(jvm, "container"), *pod = json_object_get(jvm, "pod");
    const char *where = json_string_value(json_object_get(pod, "name"));
    const char *reason =
        json_string_value(json_object_get(json_object_get(jvm, "profilable"), "reason"));
    char id[13] = "";

    if (!where && json_string_value(json_object_get(container, "id"))) {
        span_copy(span_of(json_string_value(json_object_get(container, "id"))), id, sizeof(id));
        where = id;
    }
    buf_printf(b, "<tr><td class=\"n\">%lld</td><td class=\"m\">", pid);
    add_text(b, json_string_value(json_object_get(jvm, "main")));
    buf_add_str(b, "</td><td>");
    add_text(b, json_string_value(json_object_get(jvm, "java_version")));
    buf_add_str(b, "</td><td class=\"m\">");
    add_text(b, where);
    buf_printf(b, "</td><td><a href=\"/profile?pid=%lld\" title=\"", pid);
    add_text(b, reason);
    buf_printf(b,
               "\">flame graph, 10 s</a> &#183; <a href=\"/profile?pid=%lld&amp;seconds=30&amp;"
               "threads=1\">30 s by thread</a></td></tr>\n",
               pid);
}

bool handle_index(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    struct target_selector everything = { 0 };
    struct buf *b = &req->answer.body;
    struct error err = ERROR_NULL;
    json_t *value = NULL, *list, *jvm;
    int r = be->jvms(be->ctx, &everything, &value, &err);
    long long first = 4242;
    size_t i;

    buf_add_str(b, PAGE_HEAD);
    list = json_object_get(value, "jvms");
    if (r != 0) {
        buf_add_str(b, "<p>The list of JVMs is not available: ");
        add_text(b, err.msg);
        buf_add_str(b, ". <a href=\"/readyz\">What is missing</a></p>\n");
    } else if (json_array_size(list) == 0) {
        buf_add_str(b, "<p>No JVM runs on this node. <a href=\"/profile\">Profile the whole node"
                       "</a>, or start one and load this page again.</p>\n");
    } else {
        first = (long long)json_integer_value(json_object_get(json_array_get(list, 0), "pid"));
        buf_add_str(b,
                    "<table><thead><tr><th class=\"n\">pid</th><th>main class or jar</th>"
                    "<th>Java</th><th>pod or container</th><th>profile</th></tr></thead><tbody>\n");
        json_array_foreach(list, i, jvm) add_row(b, jvm);
        buf_add_str(b, "</tbody></table>\n");
    }
    buf_add_str(b,
                "<p class=\"q\">A profile is sampled while the browser waits; closing the tab ends "
                "it.</p>\n<h2>From a terminal</h2>\n<pre>");
    buf_printf(b,
               "curl -o flame.html     'localhost:7979/profile?pid=%lld&amp;seconds=30'\n"
               "curl                   'localhost:7979/profile?pid=%lld&amp;format=collapsed'\n"
               "curl                   'localhost:7979/profile?pid=%lld&amp;format=json' | jq .\n"
               "curl                   'localhost:7979/api/v1/jvms'</pre>\n",
               first, first, first);
    buf_add_str(
        b, "<p><a href=\"/profile\">The whole node, 10 s</a> &#183; "
           "<a href=\"/api/v1/jvms\">JVMs</a> &#183; <a href=\"/api/v1/events\">events</a> "
           "&#183; <a href=\"/readyz\">readiness</a> &#183; "
           "<a href=\"/openapi.json\">every route and parameter</a></p>\n<p class=\"q\">flamed ");
    add_text(b, req->serve->opts.version);
    buf_add_str(b, "</p>\n</body></html>\n");
    req->answer.status = 200;
    req->answer.content_type = "text/html; charset=utf-8";
    json_decref(value);
    return true;
}
