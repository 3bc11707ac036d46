/* SPDX-License-Identifier: Apache-2.0 */
/* discover/: containers out of cgroup paths, names out of what runtimes leave on disk. */
#include "suite.h"

#include "discover/container.h"
#include "discover/pod.h"
#include "discover/pod_cache.h"

#include <fcntl.h>

#define ID "3f4e9f3a1c7b5d2e8a6f0b9c4d1e7f2a5b8c3d6e9f0a1b2c3d4e5f60718293a4"
#define ID2 "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define UID_DASH "0a1b2c3d-1111-2222-3333-444455556666"
#define UID_OTHER "ffffffff-1111-2222-3333-444455556666"
#define UID_LINE "0a1b2c3d_1111_2222_3333_444455556666"

static const struct {
    const char *cgroup;
    const char *id, *runtime, *pod_uid, *name;
    bool nested;
} CGROUP_CASES[] = {
    /* docker: cgroupfs, systemd, version 1 and hybrid */
    { "0::/docker/" ID "\n", ID, "docker", "", "", true },
    { "0::/system.slice/docker-" ID ".scope\n", ID, "docker", "", "", true },
    { "12:memory:/docker/" ID "\n1:name=systemd:/docker/" ID "\n", ID, "docker", "", "", true },
    { "4:memory:/docker/" ID "\n1:name=systemd:/\n0::/\n", ID, "docker", "", "", true },
    { "0::/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope\n", ID,
      "docker", "", "", true },
    /* an init system inside the container */
    { "0::/docker/" ID "/system.slice/app.service\n", ID, "docker", "", "", true },
    { "0::/system.slice/docker-" ID ".scope/init.scope\n", ID, "docker", "", "", true },
    /* a container in a container: the inner one */
    { "0::/docker/" ID2 "/docker/" ID "\n", ID, "docker", "", "", true },
    { "0::/docker/" ID2 "/kubelet/kubepods/besteffort/pod" UID_DASH "/" ID "\n", ID, "", UID_DASH,
      "", true },
    /* containerd */
    { "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_LINE
      ".slice/cri-containerd-" ID ".scope\n",
      ID, "containerd", UID_DASH, "", true },
    { "0::/kubepods.slice/kubepods-pod" UID_LINE ".slice/cri-containerd-" ID ".scope\n", ID,
      "containerd", UID_DASH, "", true }, /* guaranteed: no middle slice */
    { "0::/kubepods/burstable/pod" UID_DASH "/" ID "\n", ID, "", UID_DASH, "", true },
    { "0::/kubepods/pod" UID_DASH "/" ID "\n", ID, "", UID_DASH, "", true },
    { "5:pids:/system.slice/containerd.service/kubepods-besteffort-pod" UID_LINE
      ".slice:cri-containerd:" ID "\n0::/\n",
      ID, "containerd", UID_DASH, "", true },
    { "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_LINE
      ".slice/cri-containerd-" ID ".scope\n",
      ID, "containerd", UID_DASH, "", true },
    { "0::/system.slice/nerdctl-" ID ".scope\n", ID, "containerd", "", "", true },
    { "0::/k8s.io/" ID "\n", ID, "containerd", "", "", true },
    { "0::/default/" ID "\n", ID, "", "", "", true },
    /* a static pod: the digits of a hash */
    { "0::/kubepods/burstable/pod0123456789abcdef0123456789abcdef/" ID "\n", ID, "",
      "0123456789abcdef0123456789abcdef", "", true },
    /* seen from another cgroup namespace */
    { "0::/../../kubepods-burstable-pod" UID_LINE ".slice/cri-containerd-" ID ".scope\n", ID,
      "containerd", UID_DASH, "", true },
    { "0::/../cri-containerd-" ID ".scope\n", ID, "containerd", "", "", true },
    /* CRI-O, and its monitor */
    { "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_LINE
      ".slice/crio-" ID ".scope\n",
      ID, "cri-o", UID_DASH, "", true },
    { "0::/kubepods.slice/kubepods-pod" UID_LINE ".slice/crio-" ID ".scope/container\n", ID,
      "cri-o", UID_DASH, "", true },
    { "0::/kubepods.slice/kubepods-pod" UID_LINE ".slice/crio-conmon-" ID ".scope\n", NULL, "", "",
      "", false },
    /* podman: systemd, rootless, cgroupfs, and its monitor */
    { "0::/machine.slice/libpod-" ID ".scope/container\n", ID, "podman", "", "", true },
    { "0::/machine.slice/libpod-" ID ".scope\n", ID, "podman", "", "", true },
    { "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container\n",
      ID, "podman", "", "", true },
    { "5:pids:/libpod_parent/libpod-" ID "\n", ID, "podman", "", "", true },
    { "0::/machine.slice/machine-libpod_pod_" ID2 ".slice/libpod-" ID ".scope\n", ID, "podman", "",
      "", true },
    { "0::/machine.slice/machine-libpod_pod_" ID2 ".slice\n", NULL, "", "", "", false },
    { "0::/machine.slice/libpod-conmon-" ID ".scope\n", NULL, "", "", "", false },
    /* systemd-nspawn, and itself; a virtual machine */
    { "0::/machine.slice/machine-web.scope/payload\n", "web", "systemd-nspawn", "", "web", true },
    { "0::/machine.slice/machine-my\\x2dweb.scope/payload/system.slice/x.service\n", "my-web",
      "systemd-nspawn", "", "my-web", true },
    { "0::/machine.slice/systemd-nspawn@web.service/payload\n", "web", "systemd-nspawn", "", "web",
      true },
    { "0::/machine.slice/machine-web.scope/supervisor\n", NULL, "", "", "", false },
    { "0::/machine.slice/machine-qemu\\x2d1\\x2dvm.scope\n", NULL, "", "", "", false },
    { "0::/other.slice/machine-web.scope\n", NULL, "", "", "", true },
    /* lxc, its monitor, and libvirt's */
    { "4:memory:/lxc/web\n", "web", "lxc", "", "web", true },
    { "0::/lxc.payload.web\n", "web", "lxc", "", "web", true },
    { "0::/lxc.payload.web/init.scope\n", "web", "lxc", "", "web", true },
    { "0::/lxc.payload/web\n", "web", "lxc", "", "web", true },
    { "0::/lxc.monitor.web\n", NULL, "", "", "", false },
    { "0::/machine.slice/machine-lxc\\x2d12\\x2dweb.scope\n", "12-web", "lxc", "", "12-web", true },
    /* docker in lxc */
    { "0::/lxc.payload.web/docker/" ID "\n", ID, "docker", "", "", true },
    /* runc, crun: as this machine shows them, and with systemd */
    { "9:name=systemd:/web_1\n8:pids:/web_1\n4:memory:/own/47de3ac824192bf8967969f5ad573a29/web_1\n"
      "0::/web_1\n",
      "web_1", "runc", "", "web_1", true },
    { "9:name=systemd:/" ID "\n0::/" ID "\n", ID, "", "", "", true },
    { "0::/system.slice/runc-web.scope\n", "web", "runc", "", "web", true },
    { "0::/user.slice/crun-web.scope\n", "web", "crun", "", "web", true },
    { "0::/system.slice/runc-" ID ".scope\n", ID, "runc", "", "", true },
    /* in no container: services, sessions, bare names without a namespace of their own */
    { "0::/system.slice/tomcat.service\n", NULL, "", "", "", false },
    { "0::/system.slice/tomcat.service\n", NULL, "", "", "", true },
    { "0::/user.slice/user-1000.slice/session-3.scope\n", NULL, "", "", "", true },
    { "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-x-" ID2 "0.scope\n", NULL, "",
      "", "", true },
    { "0::/init.scope\n", NULL, "", "", "", true },
    { "0::/\n", NULL, "", "", "", true },
    { "0::/web_1\n", NULL, "", "", "", false },
    { "4:memory:/own/47de3ac824192bf8967969f5ad573a29\n1:name=systemd:/\n0::/\n", NULL, "", "", "",
      true },
    { "0::/..\n", NULL, "", "", "", true },
    /* what only looks like an id */
    { "0::/docker/" ID "a\n", NULL, "", "", "", false },
    { "0::/x" ID "\n", NULL, "", "", "", false },
    { "0::/docker-" ID ".slice\n", NULL, "", "", "", false },
    { "0::/docker/3F4E9F3A1C7B5D2E8A6F0B9C4D1E7F2A5B8C3D6E9F0A1B2C3D4E5F60718293A4\n", NULL, "", "",
      "", false },
    { "0::/kubepods/podx-1111-2222-3333-444455556666/" ID "\n", ID, "", "", "", true },
    { "0::/kubepods/pod0a1b2c3d-11112222-3333-444455556666/" ID "\n", ID, "", "", "", true },
    { "0::/lxc/bad\\xzz\n", NULL, "", "", "", true },
    { "0::/lxc/bad name\n", NULL, "", "", "", true },
    { "", NULL, "", "", "", true },
};

START_TEST(reads_a_container_off_cgroups)
{
    struct container c;
    bool found = container_parse(span_of(CGROUP_CASES[_i].cgroup), CGROUP_CASES[_i].nested, &c);

    ck_assert_msg(found == (CGROUP_CASES[_i].id != NULL), "%s", CGROUP_CASES[_i].cgroup);
    ck_assert_str_eq(c.id, CGROUP_CASES[_i].id ? CGROUP_CASES[_i].id : "");
    ck_assert_str_eq(c.runtime, CGROUP_CASES[_i].runtime);
    ck_assert_str_eq(c.pod_uid, CGROUP_CASES[_i].pod_uid);
    ck_assert_str_eq(c.name, CGROUP_CASES[_i].name);
}
END_TEST

START_TEST(tells_what_is_around_it)
{
    static const struct {
        const char *cgroup, *outer;
    } CASES[] = {
        { "0::/docker/" ID "\n", "" },
        { "0::/kubepods/pod" UID_DASH "/" ID "\n", "" },
        { "0::/docker/" ID2 "/docker/" ID "\n", ID2 },
        { "0::/docker/" ID2 "/docker/" ID2 "/docker/" ID "\n", ID2 },
        { "0::/kubepods/pod" UID_DASH "/" ID2 "/kubepods/pod" UID_DASH "/" ID "\n", ID2 },
        { "0::/lxc.payload.web/docker/" ID "\n", "web" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct container c;

        ck_assert(container_parse(span_of(CASES[i].cgroup), true, &c));
        ck_assert_str_eq(c.id, ID);
        ck_assert_str_eq(c.outer, CASES[i].outer);
    }
}
END_TEST

/* A container may nest cgroups of its own, as deep as a path can be, and end with a name of
 * another container. */
START_TEST(looks_at_all_parts_of_a_deep_path)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    struct container c;

    buf_init(&b, 1 << 20);
    buf_add_str(&b, "0::/docker/" ID2);
    for (int i = 0; i < 1000; i++)
        buf_add_str(&b, "/x");
    buf_add_str(&b, "/docker/" ID);
    ck_assert(container_parse(buf_span(&b), true, &c));
    ck_assert_str_eq(c.runtime, "docker");
    ck_assert_str_eq(c.id, ID);
    ck_assert_str_eq(c.outer, ID2);
}
END_TEST

/* These names are a container's own choice. */
START_TEST(takes_no_name_from_within_a_container)
{
    static const char *const CASES[] = { "0::/docker/" ID "/lxc/orders\n",
                                         "0::/docker/" ID "/lxc.payload.orders\n",
                                         "0::/docker/" ID "/runc-orders.scope\n",
                                         "0::/docker/" ID "/machine.slice/machine-orders.scope\n" };
    struct container c;

    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        ck_assert(container_parse(span_of(CASES[i]), true, &c));
        ck_assert_str_eq(c.outer, ID);
        ck_assert_str_eq(c.name, "");
    }
    ck_assert(container_parse(span_of("0::/docker/" ID "/pod" UID_DASH "/x\n"), true, &c));
    ck_assert_str_eq(c.id, ID);
    ck_assert_str_eq(c.pod_uid, "");
}
END_TEST

/* The pod of a nested container is known twice: the innermost, which a container may have made, and
 * the one around the outermost. */
START_TEST(finds_the_pod_around_all)
{
    static const struct {
        const char *cgroup, *pod_uid, *outer, *outer_pod_uid;
    } CASES[] = {
        { "0::/kubepods/pod" UID_DASH "/" ID "/pod" UID_OTHER "/" ID2 "\n", UID_OTHER, ID,
          UID_DASH },
        { "0::/kubepods/pod" UID_DASH "/" ID "/a/" ID2 "/pod" UID_OTHER "/" ID2 "\n", UID_OTHER, ID,
          UID_DASH },
        { "0::/docker/" ID "/kubepods/pod" UID_DASH "/" ID2 "\n", UID_DASH, ID, "" },
        { "0::/kubepods/pod" UID_DASH "/" ID "\n", UID_DASH, "", "" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct container c;

        ck_assert(container_parse(span_of(CASES[i].cgroup), true, &c));
        ck_assert_str_eq(c.pod_uid, CASES[i].pod_uid);
        ck_assert_str_eq(c.outer, CASES[i].outer);
        ck_assert_str_eq(c.outer_pod_uid, CASES[i].outer_pod_uid);
    }
}
END_TEST

/* ---- what runtimes wrote ---- */

static const struct {
    const char *file;
    int r;
    const char *runtime, *name, *pod_name, *pod_namespace, *pod_uid, *image_version;
} CONFIG_CASES[] = {
    { "containerd-config.json", 0, "containerd", "orders", "orders-7d9c6b5f4-x2x7q", "shop",
      UID_DASH, "1.4" },
    { "crio-config.json", 0, "cri-o", "orders", "orders-0", "shop", UID_DASH,
      "sha256:0123456789ab" },
    { "dockershim-config.v2.json", 0, "docker", "orders", "orders-0", "shop", UID_DASH, "" },
    { "docker-config.v2.json", 0, "docker", "brave_turing", "", "", "", "24.04" },
    { "nerdctl-config.json", 0, "", "web-1", "", "", "", "" },
};

static void read_fixture(const char *name, struct buf *b)
{
    _cleanup_close_ int dir =
        open(FLAMED_TEST_DATA "/container", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    buf_init(b, POD_CONFIG_MAX_BYTES + 1);
    ck_assert_int_eq(buf_read_at(b, dir, name), 0);
}

START_TEST(reads_what_a_runtime_wrote)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    struct container c = { 0 };

    read_fixture(CONFIG_CASES[_i].file, &b);
    ck_assert_int_eq(pod_parse_config(buf_span(&b), &c), CONFIG_CASES[_i].r);
    ck_assert_str_eq(c.runtime, CONFIG_CASES[_i].runtime);
    ck_assert_str_eq(c.name, CONFIG_CASES[_i].name);
    ck_assert_str_eq(c.pod_name, CONFIG_CASES[_i].pod_name);
    ck_assert_str_eq(c.pod_namespace, CONFIG_CASES[_i].pod_namespace);
    ck_assert_str_eq(c.pod_uid, CONFIG_CASES[_i].pod_uid);
    ck_assert_str_eq(c.image_version, CONFIG_CASES[_i].image_version);
}
END_TEST

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
    const char *image, *id; /* of docker's Config.Image and Image */
    const char *version;
} IMAGE_CASES[] = {
    { "host:5000/team/shop:1.4", "sha256:" HEX, "1.4" },
    { "shop:1.4@sha256:" HEX, "", "1.4" },
    { "host:5000/shop@sha256:" HEX, "", "sha256:0123456789ab" },
    { "shop:latest@sha256:" HEX, "", "sha256:0123456789ab" },
    { "host:5000/shop:latest", "sha256:" HEX, "sha256:0123456789ab" },
    { "host:5000/shop", "", "" },
    { "sha256:" HEX, "", "sha256:0123456789ab" },
    { "shop:\\u001b[31m", "", "\xef\xbf\xbd[31m" },
    { "", "", "" },
};

START_TEST(takes_a_version_from_an_image)
{
    struct container c = { 0 };
    char json[512];

    snprintf(json, sizeof(json), "{\"Config\": {\"Image\": \"%s\"}, \"Image\": \"%s\"}",
             IMAGE_CASES[_i].image, IMAGE_CASES[_i].id);
    ck_assert_int_eq(pod_parse_config(span_of(json), &c), 0);
    ck_assert_str_eq(c.image_version, IMAGE_CASES[_i].version);
}
END_TEST

/* The runtime knows the container ID alone. */
static int config_of_one(struct broker *ctx, const char *id, int *ret_fd, struct error *err)
{
    (void)ctx, (void)err;
    if (strcmp(id, ID) != 0)
        return BROKER_ABSENT;
    *ret_fd = open(FLAMED_TEST_DATA "/container/crio-config.json", O_RDONLY | O_CLOEXEC);
    return *ret_fd >= 0 ? 0 : -errno;
}

static int no_logs(struct broker *ctx, int *ret_fd, struct error *err)
{
    (void)ctx, (void)ret_fd, (void)err;
    return BROKER_ABSENT;
}

/* Within a container of this node, neither an id nor a pod counts. */
START_TEST(believes_no_pod_within_a_container)
{
    static const struct discover_source source = { .container_config = config_of_one,
                                                   .container_logs = no_logs };
    static const struct {
        const char *cgroup, *pod_uid, *pod_name;
    } CASES[] = {
        { "0::/kubepods/pod" UID_DASH "/" ID "\n", UID_DASH, "orders-0" },
        { "0::/kubepods/pod" UID_DASH "/" ID "/pod" UID_OTHER "/" ID2 "\n", UID_DASH, "" },
        { "0::/docker/" ID "/pod" UID_OTHER "/" ID2 "\n", "", "" },
        { "0::/docker/" ID "/pod" UID_OTHER "/runc-a.scope\n", "", "" },
        { "0::/lxc/web/pod" UID_OTHER "/" ID2 "\n", "", "" },
        { "0::/docker/" ID2 "/pod" UID_OTHER "/" ID "\n", UID_OTHER, "orders-0" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct pod_cache *pods;
        struct container c;

        ck_assert_int_eq(pod_cache_new(&source, NULL, &pods), 0);
        ck_assert(container_parse(span_of(CASES[i].cgroup), true, &c));
        pod_cache_fill(pods, &c, 1);
        ck_assert_str_eq(c.pod_uid, CASES[i].pod_uid);
        ck_assert_str_eq(c.pod_name, CASES[i].pod_name);
        pod_cache_free(pods);
    }
}
END_TEST

START_TEST(keeps_what_the_cgroup_said)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    struct container c = { .runtime = "cri-o", .pod_uid = "other" };

    read_fixture("containerd-config.json", &b);
    ck_assert_int_eq(pod_parse_config(buf_span(&b), &c), 0);
    ck_assert_str_eq(c.runtime, "cri-o");
    ck_assert_str_eq(c.pod_uid, "other");
    ck_assert_str_eq(c.name, "orders");
}
END_TEST

START_TEST(cleans_and_cuts_names)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    struct container c = { 0 };

    read_fixture("hostile-config.json", &b);
    ck_assert_int_eq(pod_parse_config(buf_span(&b), &c), 0);
    ck_assert_str_eq(c.name, "<script>\xef\xbf\xbd[31m\xef\xbf\xbd");
    ck_assert_uint_eq(strlen(c.pod_name), sizeof(c.pod_name) - 1);
    ck_assert(span_ends_with(span_of(c.pod_name), "..."));
    ck_assert_str_eq(c.pod_namespace, ""); /* a number is no name */
    ck_assert_uint_eq(strlen(c.pod_uid), sizeof(c.pod_uid) - 1);
}
END_TEST

START_TEST(refuses_what_is_too_deep_or_no_object)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    struct container c = { 0 };

    ck_assert_int_eq(pod_parse_config(SPAN("[1]"), &c), -EBADMSG);
    ck_assert_int_eq(pod_parse_config(SPAN("{\"a\":"), &c), -EBADMSG);
    ck_assert_int_eq(pod_parse_config(SPAN_NULL, &c), -EBADMSG);
    ck_assert_int_eq(pod_parse_config(SPAN("{\"annotations\":7,\"Config\":[],\"Name\":1}"), &c), 0);
    ck_assert_int_eq(pod_parse_config(SPAN("{\"a\\\"\":\"[[[[\"}"), &c), 0);
    buf_init(&b, POD_CONFIG_MAX_BYTES * 2);
    for (int i = 0; i <= POD_CONFIG_MAX_DEPTH; i++)
        buf_add_char(&b, '[');
    ck_assert_int_eq(pod_parse_config(buf_span(&b), &c), -EFBIG);
    buf_clear(&b);
    while (b.n <= POD_CONFIG_MAX_BYTES)
        buf_add_str(&b, "                                                                ");
    ck_assert_int_eq(pod_parse_config(buf_span(&b), &c), -EFBIG);
    ck_assert_str_eq(c.runtime, "");
}
END_TEST

static const struct {
    const char *name, *pod, *ns, *container;
} LOG_CASES[] = {
    { "orders-7d9c6b5f4-x2x7q_shop_orders-" ID ".log", "orders-7d9c6b5f4-x2x7q", "shop", "orders" },
    { "a.b-0_kube-system_side-car-" ID ".log", "a.b-0", "kube-system", "side-car" },
    { "p_n_c-" ID2 ".log", NULL, NULL, NULL }, /* another container */
    { "p_n_c-" ID, NULL, NULL, NULL },
    { "p_n-" ID ".log", NULL, NULL, NULL },
    { "_n_c-" ID ".log", NULL, NULL, NULL },
    { "p__c-" ID ".log", NULL, NULL, NULL },
    { "p_n_-" ID ".log", NULL, NULL, NULL },
    { ID ".log", NULL, NULL, NULL },
    { ".log", NULL, NULL, NULL },
    { "", NULL, NULL, NULL },
};

START_TEST(reads_the_name_of_a_log)
{
    struct container c = { .id = ID };
    bool found = pod_parse_log_name(span_of(LOG_CASES[_i].name), &c);

    ck_assert_int_eq(found, LOG_CASES[_i].pod != NULL);
    ck_assert_str_eq(c.pod_name, found ? LOG_CASES[_i].pod : "");
    ck_assert_str_eq(c.pod_namespace, found ? LOG_CASES[_i].ns : "");
    ck_assert_str_eq(c.name, found ? LOG_CASES[_i].container : "");
}
END_TEST

START_TEST(finds_its_log_among_many)
{
    struct container c = { .id = ID };

    ck_assert(pod_parse_log_names(SPAN("x.log\0a_b_c-" ID2 ".log\0p_n_c-" ID ".log"), &c));
    ck_assert_str_eq(c.pod_name, "p");
    ck_assert(!pod_parse_log_names(SPAN("x.log\0"), &c));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("container");

    tcase_add_loop_test(tc, reads_a_container_off_cgroups, 0, ARRAY_SIZE(CGROUP_CASES));
    tcase_add_test(tc, tells_what_is_around_it);
    tcase_add_test(tc, looks_at_all_parts_of_a_deep_path);
    tcase_add_test(tc, takes_no_name_from_within_a_container);
    tcase_add_test(tc, finds_the_pod_around_all);
    tcase_add_loop_test(tc, takes_a_version_from_an_image, 0, ARRAY_SIZE(IMAGE_CASES));
    tcase_add_loop_test(tc, reads_what_a_runtime_wrote, 0, ARRAY_SIZE(CONFIG_CASES));
    tcase_add_test(tc, believes_no_pod_within_a_container);
    tcase_add_test(tc, keeps_what_the_cgroup_said);
    tcase_add_test(tc, cleans_and_cuts_names);
    tcase_add_test(tc, refuses_what_is_too_deep_or_no_object);
    tcase_add_loop_test(tc, reads_the_name_of_a_log, 0, ARRAY_SIZE(LOG_CASES));
    tcase_add_test(tc, finds_its_log_among_many);
    return suite_run_case("container", tc);
}
