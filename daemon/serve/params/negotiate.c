/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/params/negotiate.h"

#include <strings.h>

/* One element of an Accept-like header: its value and its q in thousandths. */
struct wish {
    struct span value, version;
    unsigned q;
};

static bool equal_nocase(struct span a, struct span b)
{
    return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

/* Parses a qvalue, such as "0.7", into thousandths; false if @text is none. */
static bool take_q(struct span text, unsigned *ret)
{
    unsigned q, scale = 100;

    text = span_trim(text);
    if (text.n == 0 || text.n > 5 || (text.p[0] != '0' && text.p[0] != '1'))
        return false;
    q = (unsigned)(text.p[0] - '0') * 1000;
    if (text.n > 1 && text.p[1] != '.')
        return false;
    for (size_t i = 2; i < text.n; i++, scale /= 10) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        q += (unsigned)(text.p[i] - '0') * scale;
    }
    *ret = MIN(q, 1000u);
    return true;
}

/* Takes the next element of @header; parameters other than q and version are ignored. */
static bool take_wish(struct span *header, struct wish *ret)
{
    struct span element, part;

    if (!span_take_until(header, ',', &element))
        return false;
    *ret = (struct wish){ .q = 1000 };
    if (!span_take_until(&element, ';', &part))
        return true;
    ret->value = span_trim(part);
    while (span_take_until(&element, ';', &part)) {
        part = span_trim(part);
        if (part.n > 2 && (part.p[0] == 'q' || part.p[0] == 'Q') && part.p[1] == '=' &&
            !take_q(span_from(part, 2), &ret->q))
            ret->q = 0;
        if (part.n > 8 && strncasecmp(part.p, "version=", 8) == 0)
            ret->version = span_from(part, 8);
    }
    return true;
}

/* Returns how closely the media range @range matches @type: 3 exactly, 2 "text/ *", 1 "* / *", 0 no
 * match. */
static unsigned range_fits(struct span range, struct span type)
{
    size_t slash = span_find(range, '/');

    if (span_eq_str(range, "*/*") || span_eq_str(range, "*"))
        return 1;
    if (equal_nocase(range, type))
        return 3;
    if (slash + 2 == range.n && range.p[slash + 1] == '*' && slash < type.n &&
        equal_nocase((struct span){ range.p, slash + 1 }, (struct span){ type.p, slash + 1 }))
        return 2;
    return 0;
}

/* Returns how much @accept prefers @type: by q, then by closeness of the match, then by position in
 * the header. 0: not accepted. */
static unsigned format_score(struct span accept, struct span type)
{
    unsigned best_fit = 0, score = 0, place = 0;
    struct wish w;

    while (take_wish(&accept, &w)) {
        unsigned fit = range_fits(w.value, type);

        place = MIN(place + 1, 255u);
        if (fit > best_fit) {
            best_fit = fit;
            score = w.q ? w.q << 12 | fit << 8 | (255 - place) : 0;
        }
    }
    return score;
}

const struct render_format *negotiate_format(struct span accept,
                                             const struct render_format *formats, size_t count)
{
    const struct render_format *best = NULL;
    unsigned best_score = 0;

    if (span_trim(accept).n == 0)
        return count ? &formats[0] : NULL;
    for (size_t i = 0; i < count; i++) {
        struct span type = span_of(formats[i].content_type);
        unsigned score;

        type.n = span_find(type, ';');
        score = format_score(accept, span_trim(type));
        if (score > best_score) {
            best = &formats[i];
            best_score = score;
        }
    }
    return best;
}

bool negotiate_events(struct span accept)
{
    struct wish w;

    while (take_wish(&accept, &w)) {
        if (w.q && equal_nocase(w.value, SPAN("text/event-stream")))
            return true;
    }
    return false;
}

bool negotiate_text(struct span accept)
{
    unsigned text = format_score(accept, SPAN("text/plain"));

    return (text >> 8 & 3) == 3 && text > format_score(accept, SPAN("application/json"));
}

bool negotiate_html(struct span accept)
{
    unsigned html = format_score(accept, SPAN("text/html"));

    return (html >> 8 & 3) == 3 && html > format_score(accept, SPAN("text/plain"));
}

bool negotiate_openmetrics(struct span accept)
{
    unsigned openmetrics = 0, text = 0;
    struct wish w;

    while (take_wish(&accept, &w)) {
        if (equal_nocase(w.value, SPAN("application/openmetrics-text")) &&
            span_eq_str(w.version, "1.0.0"))
            openmetrics = MAX(openmetrics, w.q);
        else if (equal_nocase(w.value, SPAN("text/plain")))
            text = MAX(text, w.q);
    }
    return openmetrics && openmetrics >= text;
}

enum content_coding negotiate_coding(struct span accept_encoding)
{
    unsigned gzip = 0, deflate = 0, any = 0, identity = 1;
    bool gzip_named = false, deflate_named = false;
    struct wish w;

    while (take_wish(&accept_encoding, &w)) {
        if (equal_nocase(w.value, SPAN("gzip")) || equal_nocase(w.value, SPAN("x-gzip"))) {
            gzip = w.q;
            gzip_named = true;
        } else if (equal_nocase(w.value, SPAN("deflate"))) {
            deflate = w.q;
            deflate_named = true;
        } else if (equal_nocase(w.value, SPAN("identity"))) {
            identity = w.q;
        } else if (span_eq_str(w.value, "*")) {
            any = w.q;
        }
    }
    if (!gzip_named)
        gzip = any;
    if (!deflate_named)
        deflate = any;
    if (gzip && gzip >= deflate && gzip >= identity)
        return CODING_GZIP;
    if (deflate && deflate >= identity)
        return CODING_DEFLATE;
    return CODING_IDENTITY;
}
