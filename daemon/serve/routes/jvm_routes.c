/* SPDX-License-Identifier: Apache-2.0 */
/* What can be asked of one JVM before it is profiled: what an attach would meet, and its map for
 * other tools. */
#include "serve/routes/handlers.h"

bool handle_preflight(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    struct error err = ERROR_NULL;
    json_t *value = NULL;
    int r;

    if (!be->preflight) {
        answer_missing(req, "the preflight is");
        return true;
    }
    r = be->preflight(be->ctx, &req->subject.viewer, req->path_pid, &value, &err);
    return answer_backend(req, r, value, &err);
}

bool handle_heap(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    struct error err = ERROR_NULL;
    json_t *value = NULL;
    int r;

    if (!be->heap) {
        answer_missing(req, "the heap is");
        return true;
    }
    r = be->heap(be->ctx, &req->subject.viewer, req->path_pid, &value, &err);
    return answer_backend(req, r, value, &err);
}

bool handle_perf_map(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    const struct params *p = &req->params;
    struct answer *a = &req->answer;
    struct error err = ERROR_NULL;
    json_t *jvm = NULL;
    int r;

    if (!be->perf_map) {
        answer_missing(req, "perf maps are");
        return true;
    }
    if (req->head) { /* which loads no agent */
        r = be->jvm(be->ctx, &req->subject.viewer, req->path_pid, &jvm, &err);
        a->no_body = r == 0;
        json_decref(jvm);
    } else {
        r = be->perf_map(be->ctx, &req->subject.viewer, req->path_pid, p->map_symbols, p->unfold,
                         &a->body, &err);
    }
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
