/* SPDX-License-Identifier: Apache-2.0 */
/* Routes of one JVM: thread dump, and perf map. */
#include "profile/thread_dump.h"
#include "render/threads.h"
#include "serve/routes/handlers.h"

/* Answers HEAD: finds the JVM, without reading or loading anything. */
static int head_of_jvm(struct request *req, struct error *err)
{
    const struct api_backend *be = &req->serve->be;
    const struct document_query q = { .viewer = &req->who.subject.viewer,
                                      .host_pid = req->path_pid };
    json_t *jvm = NULL;
    int r = be->document(be->ctx, DOCUMENT_JVM, &q, &jvm, err);

    req->answer.no_body = r == 0;
    json_decref(jvm);
    return r;
}

/* Begins the answer of a thread dump in the requested format. */
static void begin_threads(struct request *req)
{
    struct answer *a = &req->answer;
    bool text = req->wants.text;

    a->status = 200;
    a->content_type = text ? "text/plain; charset=utf-8" : "application/json";
    answer_header(a, "Content-Disposition", "inline; filename=\"threads-%d.%s\"", req->path_pid,
                  text ? "txt" : "json");
}

/* Appends @d in the requested format. 0 or -errno with @err. */
static int write_threads(struct request *req, const struct thread_dump *d, struct error *err)
{
    const struct threads_opts o = { .grouped = req->params.list.grouped };
    struct answer *a = &req->answer;
    int r;

    begin_threads(req);
    answer_flow(a);
    r = req->wants.text ? render_threads_text(d, &o, &a->body)
                        : render_threads_json(d, &o, &a->body);
    if (r == 0)
        r = answer_flow_end(a);
    if (r == -EFBIG) {
        error_set(err, r, "the dump is larger than an answer may be");
        error_remedy(err, "use group=1, or raise answer_max_bytes in the configuration");
    }
    return r;
}

bool handle_threads(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    struct error err = ERROR_NULL;
    struct thread_dump *d = NULL;
    int r;

    if (req->wants.head) {
        r = head_of_jvm(req, &err);
        if (r == 0)
            begin_threads(req);
    } else {
        r = be->threads(be->ctx, &req->who.subject.viewer, req->path_pid, &d, &err);
        if (r == 0)
            r = write_threads(req, d, &err);
        thread_dump_free(d);
    }
    if (r == 0)
        return true;
    answer_reset(&req->answer);
    answer_outcome(&req->answer, r, &err, 1);
    return true;
}

bool handle_perf_map(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    const struct params *p = &req->params;
    struct answer *a = &req->answer;
    struct error err = ERROR_NULL;
    int r;

    r = req->wants.head ? head_of_jvm(req, &err)
                        : be->perf_map(be->ctx, &req->who.subject.viewer, req->path_pid,
                                       p->map_symbols, p->list.unfold, &a->body, &err);
    if (r == 0 && !a->body.error) {
        a->status = 200;
        a->content_type = "text/plain; charset=utf-8";
        answer_header(a, "Content-Disposition", "inline; filename=\"perf-%d.map\"", req->path_pid);
        return true;
    }
    answer_reset(a);
    answer_outcome(a, r ? r : -EFBIG, &err, 1);
    return true;
}
