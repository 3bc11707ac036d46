/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET / and its files: the web page, embedded in the program. Its policy permits only the page's
 * own script, and connections to this service alone.
 */
#include "serve/routes/page.h"
#include "serve/routes/handlers.h"

#define PAGE_POLICY                                                                                \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
#define PAGE_CACHE_PAGE "no-cache"
#define PAGE_CACHE_FILE "public, max-age=31536000, immutable"

static void send_file(struct request *req, const struct page_file *f)
{
    bool gzip = req->wants.coding == CODING_GZIP;

    answer_fixed(&req->answer, f->content_type, gzip ? *f->gzip : *f->plain);
    req->answer.coding = gzip ? "gzip" : NULL;
    req->answer.policy = PAGE_POLICY;
}

/* Sends the page to browsers, which name text/html, and text to curl and others. */
bool handle_page(struct request *req)
{
    if (!req->wants.html)
        return handle_index(req);
    send_file(req, &PAGE_FILES[0]);
    req->answer.cache = PAGE_CACHE_PAGE;
    return true;
}

bool handle_page_file(struct request *req)
{
    struct error err = ERROR_NULL;

    for (size_t i = 1; i < PAGE_FILES_COUNT; i++) {
        if (strcmp(req->received.path, PAGE_FILES[i].path) != 0)
            continue;
        send_file(req, &PAGE_FILES[i]);
        req->answer.cache = PAGE_CACHE_FILE;
        return true;
    }
    error_set(&err, -ENOENT, "the page has no such file: it is of another version of flamed");
    error_remedy(&err, "load the page again");
    answer_outcome(&req->answer, BACKEND_NOT_FOUND, &err, 0);
    return true;
}
