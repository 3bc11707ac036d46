/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/pod.h"

#include "base/text.h"
#include "discover/container.h"

#include <jansson.h>

/* Keys of a fact. The first existing key counts. */
struct keys {
    const char *name, *pod_name, *pod_namespace, *pod_uid;
    const char *image;   /* a reference to the image of the container */
    const char *runtime; /* the runtime that writes these keys; NULL: several */
};

/* Keys of "annotations" in an OCI config.json, and of docker's "Labels". */
static const struct keys CONTAINERD = {
    .name = "io.kubernetes.cri.container-name",
    .pod_name = "io.kubernetes.cri.sandbox-name",
    .pod_namespace = "io.kubernetes.cri.sandbox-namespace",
    .pod_uid = "io.kubernetes.cri.sandbox-uid",
    .image = "io.kubernetes.cri.image-name",
    .runtime = "containerd",
};
static const struct keys KUBELET = {
    .name = "io.kubernetes.container.name",
    .pod_name = "io.kubernetes.pod.name",
    .pod_namespace = "io.kubernetes.pod.namespace",
    .pod_uid = "io.kubernetes.pod.uid",
};
static const char NERDCTL_NAME[] = "nerdctl/name";
static const char CRIO_MARK[] = "io.kubernetes.cri-o.ContainerID";
/* CRI-O's references to an image, by tag and by digest. */
static const char *const CRIO_IMAGES[] = { "io.kubernetes.cri-o.ImageName",
                                           "io.kubernetes.cri-o.ImageRef" };

#define DIGEST "sha256:"
#define DIGEST_BYTES (strlen(DIGEST) + 12) /* as many digits as docker shows of an id */

/* Returns whether brackets outside of strings nest few levels deep. This bounds the recursion of
 * the parser. */
static bool json_is_shallow(struct span s)
{
    bool in_string = false;
    size_t depth = 0;

    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > POD_CONFIG_MAX_DEPTH)
                return false;
        } else if ((c == '}' || c == ']') && depth) {
            depth--;
        }
    }
    return true;
}

/* Copies @s as clean text into @field, if that is still empty. */
static void fill(struct span s, char *field, size_t size)
{
    _cleanup_buf_ struct buf clean = BUF_UPTO(size - 1);

    if (field[0] || s.n == 0)
        return;
    text_clean(s, TEXT_UTF8, size - 1, &clean);
    if (!clean.error && clean.n)
        span_copy(buf_span(&clean), field, size);
}

static struct span string_at(const json_t *object, const char *key)
{
    const json_t *v = key ? json_object_get(object, key) : NULL;

    if (!json_is_string(v))
        return SPAN_NULL;
    return (struct span){ json_string_value(v), json_string_length(v) };
}

/* Takes the version of an image from a reference: "host:5000/shop:1.4", "shop@sha256:0123", or
 * "sha256:0123", which has no name. The tag "latest" is no version. */
static void take_image(struct span reference, struct container *c)
{
    struct span rest = span_base_name(reference), digest = SPAN_NULL, tag;

    if (!span_starts_with(rest, DIGEST)) {
        digest = span_from(rest, span_find(rest, '@') + 1);
        rest.n = span_find(rest, '@');
        tag = span_from(rest, span_find(rest, ':') + 1);
        if (!span_eq_str(tag, "latest"))
            fill(tag, c->image_version, sizeof(c->image_version));
    } else {
        digest = rest;
    }
    if (span_starts_with(digest, DIGEST))
        fill((struct span){ digest.p, MIN(digest.n, DIGEST_BYTES) }, c->image_version,
             sizeof(c->image_version));
}

static void take_keys(const json_t *map, const struct keys *k, struct container *c)
{
    struct span pod = string_at(map, k->pod_name);

    fill(string_at(map, k->name), c->name, sizeof(c->name));
    fill(pod, c->pod_name, sizeof(c->pod_name));
    fill(string_at(map, k->pod_namespace), c->pod_namespace, sizeof(c->pod_namespace));
    fill(string_at(map, k->pod_uid), c->pod_uid, sizeof(c->pod_uid));
    take_image(string_at(map, k->image), c);
    if (pod.n && k->runtime)
        fill(span_of(k->runtime), c->runtime, sizeof(c->runtime));
}

static void take_oci(const json_t *root, struct container *c)
{
    const json_t *annotations = json_object_get(root, "annotations");

    if (!json_is_object(annotations))
        return;
    if (json_object_get(annotations, CRIO_MARK))
        fill(SPAN("cri-o"), c->runtime, sizeof(c->runtime));
    take_keys(annotations, &CONTAINERD, c);
    take_keys(annotations, &KUBELET, c);
    fill(string_at(annotations, NERDCTL_NAME), c->name, sizeof(c->name));
    for (size_t i = 0; i < ARRAY_SIZE(CRIO_IMAGES); i++)
        take_image(string_at(annotations, CRIO_IMAGES[i]), c);
}

static void take_docker(const json_t *root, struct container *c)
{
    const json_t *config = json_object_get(root, "Config");
    const json_t *labels = json_is_object(config) ? json_object_get(config, "Labels") : NULL;
    struct span name = string_at(root, "Name");

    if (!json_is_object(config))
        return;
    fill(SPAN("docker"), c->runtime, sizeof(c->runtime));
    if (json_is_object(labels))
        take_keys(labels, &KUBELET, c);
    span_take_char(&name, '/');
    fill(name, c->name, sizeof(c->name));
    take_image(string_at(config, "Image"), c);
    take_image(string_at(root, "Image"), c);
}

int pod_parse_config(struct span json, struct container *c)
{
    json_error_t where;
    json_t *root;

    if (json.n > POD_CONFIG_MAX_BYTES || !json_is_shallow(json))
        return -EFBIG;
    root = json_loadb(json.p ? json.p : "", json.n, JSON_ALLOW_NUL, &where);
    if (!root)
        return json_error_code(&where) == json_error_out_of_memory ? -ENOMEM : -EBADMSG;
    if (!json_is_object(root)) {
        json_decref(root);
        return -EBADMSG;
    }
    take_oci(root, c);
    take_docker(root, c);
    json_decref(root);
    return 0;
}

/* Parses from the end: the id has a fixed length, and names of containers and namespaces have no
 * '_'. */
bool pod_parse_log_name(struct span name, struct container *c)
{
    struct span id, pod, ns, container;
    size_t at;

    if (!span_ends_with(name, ".log"))
        return false;
    name.n -= strlen(".log");
    at = span_rfind(name, '-');
    id = span_from(name, at + 1);
    if (!container_id_is_hex(id) || !span_eq_str(id, c->id))
        return false;
    name.n = at;
    at = span_rfind(name, '_');
    container = span_from(name, at + 1);
    if (at == name.n || container.n == 0)
        return false;
    name.n = at;
    at = span_rfind(name, '_');
    ns = span_from(name, at + 1);
    pod = (struct span){ name.p, at };
    if (at == name.n || ns.n == 0 || pod.n == 0)
        return false;
    fill(container, c->name, sizeof(c->name));
    fill(ns, c->pod_namespace, sizeof(c->pod_namespace));
    fill(pod, c->pod_name, sizeof(c->pod_name));
    return true;
}

bool pod_parse_log_names(struct span names, struct container *c)
{
    struct span name;

    while (span_take_until(&names, '\0', &name)) {
        if (pod_parse_log_name(name, c))
            return true;
    }
    return false;
}
