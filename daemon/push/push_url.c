/* SPDX-License-Identifier: Apache-2.0 */
#include "push/push_url.h"

#define PORT_HTTP 80
#define PORT_HTTPS 443
#define PORT_PROXY 1080 /* libcurl's port for a proxy with http:// */

struct push_url {
    struct span host; /* points into the text; without the brackets of IPv6 */
    uint16_t port;    /* 0: the text names none */
    bool tls;
};

/* Parses @url, which is http:// or https:// with a host. Returns false if the port is invalid. */
static bool parse(struct span url, struct push_url *ret)
{
    struct span rest = url, authority;
    uint64_t port = 0;
    size_t n;

    *ret = (struct push_url){ .tls = span_take_str(&rest, "https://") };
    if (!ret->tls && !span_take_str(&rest, "http://"))
        return false;
    authority = (struct span){ rest.p, span_find(rest, '/') };
    rest = authority;
    if (span_take_char(&rest, '[')) {
        n = span_find(rest, ']');
        if (n == rest.n)
            return false;
        ret->host = (struct span){ rest.p, n };
        rest = span_from(rest, n + 1);
    } else {
        n = span_find(rest, ':');
        ret->host = (struct span){ rest.p, n };
        rest = span_from(rest, n);
    }
    if (!ret->host.n)
        return false;
    if (!rest.n)
        return true;
    if (!span_take_char(&rest, ':') || !span_parse_dec(rest, &port) || !port || port > UINT16_MAX)
        return false;
    ret->port = (uint16_t)port;
    return true;
}

bool push_url_is_address(struct span *url)
{
    struct push_url parts;

    while (url->n && url->p[url->n - 1] == '/')
        url->n--;
    for (size_t i = 0; i < url->n; i++) {
        if ((unsigned char)url->p[i] <= ' ' || url->p[i] == 0x7f || strchr("@?#", url->p[i]))
            return false;
    }
    return parse(*url, &parts);
}

void push_url_shown(const struct push_target *t, char ret[PUSH_URL_MAX + 1])
{
    struct span url = span_of(t->url), rest = url;

    if (t->protocol == PUSH_WEBHOOK &&
        (span_take_str(&rest, "https://") || span_take_str(&rest, "http://")))
        url.n -= rest.n - span_find(rest, '/');
    span_copy(url, ret, PUSH_URL_MAX + 1);
}

static size_t add_port(const char *text, uint16_t plain, uint16_t ports[PUSHER_PORTS_MAX], size_t n)
{
    struct push_url url;
    uint16_t port;

    if (!text[0] || n == PUSHER_PORTS_MAX || !parse(span_of(text), &url))
        return n;
    port = url.port ? url.port : url.tls ? PORT_HTTPS : plain;
    for (size_t i = 0; i < n; i++) {
        if (ports[i] == port)
            return n;
    }
    ports[n] = port;
    return n + 1;
}

size_t push_ports(const struct push_config *config, uint16_t ret[PUSHER_PORTS_MAX])
{
    size_t n = 0;

    _Static_assert(2 * PUSH_TARGETS_MAX <= PUSHER_PORTS_MAX, "a url and a proxy for each");
    _Static_assert(PUSH_TARGETS_MAX <= PUSHER_TARGETS_MAX, "flamed-push has a place for each");
    for (size_t i = 0; i < config->count; i++) {
        n = add_port(config->targets[i].url, PORT_HTTP, ret, n);
        n = add_port(config->targets[i].proxy, PORT_PROXY, ret, n);
    }
    return n;
}

bool push_shows_secret(const struct push_target *t)
{
    struct push_url url;

    if (!parse(span_of(t->url), &url) || url.tls ||
        (!t->user[0] && !t->password[0] && !t->paths[PUSH_FILE_PASSWORD][0] && !t->credentials[0] &&
         !t->paths[PUSH_FILE_CREDENTIALS][0] && !t->header_count))
        return false;
    return !span_starts_with(url.host, "127.") && !span_eq_str(url.host, "::1") &&
           !span_eq_str(url.host, "localhost");
}
