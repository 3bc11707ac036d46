/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/origin.h"

#include "access/session.h"
#include "base/list.h"
#include "serve/params/query.h"
#include "serve/serve.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <strings.h>

#define PORT_HTTP 80
#define PORT_HTTPS 443

static bool take_port(struct span s, uint64_t *ret)
{
    return s.n <= 5 && span_parse_dec(s, ret) && *ret <= 65535;
}

/* Splits "host:port", "host" or "[v6]:port". *ret_port is @standard if there is no port. False:
 * none of these forms. */
static bool split_authority(struct span authority, uint64_t standard, struct span *ret_host,
                            uint64_t *ret_port)
{
    struct span host = authority, port;
    size_t end;

    if (authority.n && authority.p[0] == '[') {
        end = span_find(authority, ']');
        if (end == authority.n)
            return false;
        host = (struct span){ authority.p + 1, end - 1 };
        port = span_from(authority, end + 1);
    } else {
        end = span_find(authority, ':');
        host.n = end;
        port = span_from(authority, end);
    }
    *ret_port = standard;
    if (port.n && (port.p[0] != ':' || !take_port(span_from(port, 1), ret_port)))
        return false;
    *ret_host = host;
    return host.n != 0;
}

/* Returns true for a name that flamed --login prints: SESSION_NAME_DIGITS digits below
 * "localhost". Browsers look for such names on this machine only, and nobody can register one. */
static bool is_login_name(struct span host)
{
    static const char BELOW[] = ".localhost";

    return host.n == SESSION_NAME_DIGITS + strlen(BELOW) &&
           strncasecmp(host.p + SESSION_NAME_DIGITS, BELOW, strlen(BELOW)) == 0 &&
           ALL_OF(i, SESSION_NAME_DIGITS, isxdigit((unsigned char)host.p[i]));
}

/* Returns true if only this machine can assign the name @host: "localhost", a name for logins, a
 * loopback address, or the address that the client connected to. */
static bool host_is_ours(struct span host, const char *local_address)
{
    char text[INET6_ADDRSTRLEN];
    unsigned char wanted[16], ours[16];

    if (host.n == strlen("localhost") && strncasecmp(host.p, "localhost", host.n) == 0)
        return true;
    if (is_login_name(host))
        return true;
    if (host.n >= sizeof(text))
        return false;
    span_copy(host, text, sizeof(text));
    if (inet_pton(AF_INET, text, wanted) == 1) {
        if (wanted[0] == 127 && wanted[1] == 0 && wanted[2] == 0 && wanted[3] == 1)
            return true;
        return local_address && inet_pton(AF_INET, local_address, ours) == 1 &&
               memcmp(wanted, ours, 4) == 0;
    }
    if (inet_pton(AF_INET6, text, wanted) == 1) {
        if (memcmp(wanted, &in6addr_loopback, 16) == 0)
            return true;
        return local_address && inet_pton(AF_INET6, local_address, ours) == 1 &&
               memcmp(wanted, ours, 16) == 0;
    }
    return false;
}

/* Returns whether @name of a certificate matches @host; "*." matches one label. */
static bool certificate_is_for(const char *name, struct span host)
{
    if (strncmp(name, "*.", 2) == 0) {
        size_t label = span_find(host, '.');

        if (label == 0 || label == host.n)
            return false;
        host = span_from(host, label + 1);
        name += 2;
    }
    return host.n && host.n == strlen(name) && strncasecmp(host.p, name, host.n) == 0;
}

/* Returns whether the configuration lists @host as a name used by a reverse proxy. */
static bool host_is_proxied(struct span host, const struct origin_facts *f)
{
    return ANY_OF(i, f->allowed_count,
                  host.n == strlen(f->allowed[i]) &&
                      strncasecmp(host.p, f->allowed[i], host.n) == 0);
}

/* Returns whether the configuration or the certificate has @host as one of our names. */
static bool host_is_allowed(struct span host, const struct origin_facts *f)
{
    for (size_t i = 0; i < f->certificate_count; i++) {
        if (certificate_is_for(f->certificate[i], host))
            return true;
    }
    return host_is_proxied(host, f);
}

int origin_host_check(const char *host, struct error *err)
{
    static const char LETTERS[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    unsigned char v6[16];

    if (host[0] && (host[strspn(host, LETTERS)] == '\0' || inet_pton(AF_INET6, host, v6) == 1))
        return 0;
    return error_set(err, -EINVAL,
                     "allowed_hosts does not take '%.64s': it takes a host name alone, such as "
                     "flamed.example.com, without scheme, port and path",
                     host);
}

static int check_host(const struct origin_facts *f, struct error *err)
{
    char show[QUERY_SHOW_MAX];
    struct span host;
    uint64_t port;

    if (f->unix_socket || (f->probes_health && !f->host_count && !f->host.p))
        return 0;
    error_remedy(err, "use http://localhost, http://127.0.0.1 or the Unix socket. From elsewhere, "
                      "forward a port: ssh -L 7979:localhost:7979. Behind a reverse proxy, put the "
                      "name into allowed_hosts of flamed.yaml");
    if (!f->host.p) {
        error_remedy(err,
                     "send one, by HTTP/1.0 too, such as Host: localhost; the Unix socket needs "
                     "none");
        return error_set(err, -EACCES,
                         "the request has no Host header. By that header flamed recognises foreign "
                         "web pages (DNS rebinding), and a proxy may have removed it");
    }
    if (!split_authority(f->host, PORT_HTTP, &host, &port) ||
        (!host_is_ours(host, f->local_address) && !host_is_allowed(host, f)))
        return error_set(err, -EACCES,
                         "'%s' is not a name of this service: a web page may have had its own name "
                         "point here (DNS rebinding)",
                         query_show(f->host, show));
    return 0;
}

/* Refuses repeated headers, which a proxy and flamed could read differently. */
static int check_once(const struct origin_facts *f, struct error *err)
{
    const struct {
        const char *name;
        size_t count;
    } headers[] = {
        { "Host", f->host_count },
        { "Origin", f->origin_count },
        { "Referer", f->referer_count },
        { "Sec-Fetch-Site", f->fetch_site_count },
    };

    for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
        if (headers[i].count > 1) {
            error_remedy(err, "send each of them once, or not at all");
            return error_set(err, -EACCES, "the request has %zu %s headers: send one",
                             headers[i].count, headers[i].name);
        }
    }
    return 0;
}

/* Returns whether @url has the scheme, host and port of the Host header. A reverse proxy may have
 * terminated TLS or changed that header, so a name of allowed_hosts also matches with the default
 * port of the scheme. */
static bool url_is_ours(const struct origin_facts *f, struct span url)
{
    bool https = span_take_str(&url, "https://");
    uint64_t standard = https ? PORT_HTTPS : PORT_HTTP, url_port, port;
    struct span url_host, host;
    size_t n = 0;
    bool proxied;

    if (!https && !span_take_str(&url, "http://"))
        return false;
    while (n < url.n && url.p[n] != '/' && url.p[n] != '?' && url.p[n] != '#')
        n++;
    url.n = n;
    if (!split_authority(url, standard, &url_host, &url_port))
        return false;
    proxied = host_is_proxied(url_host, f);
    if (!f->host.p || !split_authority(f->host, standard, &host, &port) || url_host.n != host.n ||
        strncasecmp(url_host.p, host.p, host.n) != 0)
        return proxied && url_port == standard;
    return url_port == port && (https == f->tls || proxied || f->unix_socket);
}

/* Checks the page that sent the request. Browsers name it in Origin, or in Referer for a GET
 * without Origin. Return: 0 for a page of this service, or without such a header; else -EACCES with
 * @err. */
static int check_page(const struct origin_facts *f, struct error *err)
{
    bool has_referer = span_trim(f->referer).n > 0;
    struct span foreign;
    char show[QUERY_SHOW_MAX];

    if (f->origin.p && !url_is_ours(f, f->origin))
        foreign = f->origin;
    else if (has_referer && !url_is_ours(f, f->referer))
        foreign = f->referer;
    else
        return 0;
    error_remedy(err, "open the service's own page, or fetch the profile with curl. Behind a "
                      "reverse proxy, put the name of the address bar into allowed_hosts of "
                      "flamed.yaml, and let it pass on Host with the port");
    return error_set(err, -EACCES, "a web page of '%s' asked for this: only this service's own may",
                     query_show(foreign, show));
}

/* Refuses what a browser fetches before the user asks for it. A page of another site may request
 * that by speculation rules, and Chromium then sends Sec-Fetch-Site: none. */
static int check_purpose(const struct origin_facts *f, struct error *err)
{
    if (!f->purpose.p)
        return 0;
    error_remedy(err, "open the address: the browser then asks for it again");
    return error_set(err, -EACCES,
                     "the browser fetches this in advance (Sec-Purpose), and may do so for a page "
                     "of another site");
}

int origin_check(const struct origin_facts *f, struct error *err)
{
    char show[QUERY_SHOW_MAX];
    int r = check_once(f, err) ?: check_purpose(f, err) ?: check_host(f, err) ?: check_page(f, err);

    if (r < 0)
        return r;
    if (f->fetch_site.p && !span_eq_str(f->fetch_site, "same-origin") &&
        !span_eq_str(f->fetch_site, "none")) {
        error_remedy(err, "open the address yourself: paste it into the address bar, or use curl");
        return error_set(err, -EACCES,
                         "the browser says that another site's page led here (Sec-Fetch-Site: %s), "
                         "and no other site may start anything",
                         query_show(f->fetch_site, show));
    }
    return 0;
}
