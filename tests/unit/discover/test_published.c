/* SPDX-License-Identifier: Apache-2.0 */
/* discover: finds the context that a tracer publishes, in the memory of this process. */
#include "suite.h"

#include "base/clock.h"
#include "context_message.h"
#include "discover/process_context.h"
#include "discover/table.h"
#include "hotspot/vm.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

struct published {
    char signature[8];
    uint32_t version, bytes;
    uint64_t published_ns, address;
};

static int self_maps(struct broker *ctx, const struct proc_id *id, int *ret_fd, struct error *err)
{
    (void)ctx;
    (void)id;
    (void)err;
    *ret_fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    return *ret_fd < 0 ? -errno : 0;
}

static const struct discover_source SOURCE = { .maps = self_maps };
static struct discover d = { .source = &SOURCE };
static struct image im;
static struct buf resource, message;
static struct published *header;

/* Makes an empty mapping with the name. */
static struct published *map(void)
{
    int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
    void *p;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    ck_assert_ptr_ne(p, MAP_FAILED);
    close(fd);
    return p;
}

static void publish(const char *name)
{
    buf_clear(&resource);
    buf_clear(&message);
    add_attribute(&resource, "service.name", span_of(name));
    add_field(&message, 1, buf_span(&resource));
    *header = (struct published){ "OTEL_CTX", 2, (uint32_t)message.n, header->published_ns + 1,
                                  (uintptr_t)message.p };
}

static void set_up(void)
{
    im = (struct image){ .p = { .id = { .host_pid = getpid() } } };
    im.p.mem_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(im.p.mem_fd, 0);
    buf_init(&resource, 1 << 20);
    buf_init(&message, 1 << 20);
    header = map();
}

static void tear_down(void)
{
    munmap(header, 4096);
    close_fd(im.p.mem_fd);
    buf_deinit(&im.published);
    buf_deinit(&resource);
    buf_deinit(&message);
}

static const char *known(void)
{
    return im.published.p ? im.published.p : "";
}

START_TEST(reads_it_and_what_it_becomes)
{
    ck_assert(!published_read(&d, &im)); /* nothing is published yet */
    publish("shop");
    ck_assert(published_read(&d, &im));
    ck_assert_str_eq(known(), "service.name=shop");
    ck_assert(!published_read(&d, &im)); /* no news */
    publish("basket");
    ck_assert(published_read(&d, &im));
    ck_assert_str_eq(known(), "service.name=basket");
}
END_TEST

/* An invalid mapping with the name does not hide a valid one. */
START_TEST(passes_over_what_is_none)
{
    struct published *others[2] = { map(), map() };

    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        memcpy(others[i]->signature, "OTEL_CTY", 8);
    publish("shop");
    ck_assert(published_read(&d, &im));
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        munmap(others[i], 4096);
}
END_TEST

/* A failed reading keeps the result of the one before. */
START_TEST(keeps_what_was_known)
{
    struct published was;

    publish("shop");
    ck_assert(published_read(&d, &im));
    publish("basket");
    was = *header;
    header->published_ns = 0; /* the tracer is changing it */
    ck_assert(!published_read(&d, &im));
    *header = was;
    header->address = 4096; /* nothing is mapped there */
    ck_assert(!published_read(&d, &im));
    header->address = UINT64_MAX - 8;
    ck_assert(!published_read(&d, &im));
    *header = was;
    header->bytes = UINT32_MAX;
    ck_assert(!published_read(&d, &im));
    *header = was;
    header->bytes--; /* cut */
    ck_assert(!published_read(&d, &im));
    ck_assert_str_eq(known(), "service.name=shop");
    *header = was;
    ck_assert(published_read(&d, &im));
}
END_TEST

START_TEST(looks_again_while_it_is_young)
{
    uint64_t start_ns = 1000 * NSEC_PER_SEC, age_ns = 0, next_ns;
    int looks = 0;

    im.p.exec_time_ns = start_ns;
    while ((next_ns = published_next_ns(&d, &im, start_ns + age_ns)) != 0) {
        ck_assert_uint_ge(next_ns, start_ns + age_ns + NSEC_PER_SEC);
        age_ns = next_ns - start_ns;
        looks++;
    }
    ck_assert_uint_ge(age_ns, 300 * NSEC_PER_SEC);
    ck_assert_int_eq(looks, 10);
    im.p.vm = calloc(1, sizeof(*im.p.vm));
    ck_assert_ptr_nonnull(im.p.vm);
    ck_assert_uint_eq(published_next_ns(&d, &im, start_ns + age_ns), 0);
    hotspot_vm_record(im.p.vm)->known = true; /* keys may come at any age */
    ck_assert_uint_eq(published_next_ns(&d, &im, start_ns + age_ns) - start_ns - age_ns,
                      60 * NSEC_PER_SEC);
    free(im.p.vm);
    im.p.vm = NULL;
}
END_TEST

static struct thread_variable_objects searched;

int __wrap_process_context_record(struct span text, struct thread_record *ret);
int __wrap_process_context_record(struct span text, struct thread_record *ret)
{
    (void)text;
    ret->known = true;
    return 0;
}

int __wrap_hotspot_vm_thread_variable(struct hotspot_vm *vm,
                                      const struct thread_variable_objects *objects,
                                      struct thread_variable *ret);
int __wrap_hotspot_vm_thread_variable(struct hotspot_vm *vm,
                                      const struct thread_variable_objects *objects,
                                      struct thread_variable *ret)
{
    (void)vm, (void)ret;
    searched = *objects;
    return -ENOENT;
}

/* Returns how often an object at @base is searched. */
static int times_searched(const void *base)
{
    int n = 0;

    for (uint32_t i = 0; i < searched.count; i++)
        n += searched.bases[i] == (uintptr_t)base;
    return n;
}

#define FILES (THREAD_VARIABLE_OBJECTS_MAX + 88) /* with data */

/* A tracer's library is found beside any number of data files, and those are not read. */
START_TEST(searches_files_with_code)
{
    static void *files[FILES];
    char path[] = "/tmp/flamed-test-XXXXXX";
    int fd = mkstemp(path);
    Dl_info libc;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    for (size_t i = 0; i < FILES; i++) {
        files[i] = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
        ck_assert_ptr_ne(files[i], MAP_FAILED);
    }
    ck_assert_int_ne(dladdr((void *)(uintptr_t)strlen, &libc), 0);
    im.p.vm = calloc(1, sizeof(*im.p.vm));
    ck_assert_ptr_nonnull(im.p.vm);
    publish("shop");
    published_read(&d, &im);
    ck_assert_int_eq(times_searched(libc.dli_fbase), 1);
    for (size_t i = 0; i < FILES; i++) {
        ck_assert_int_eq(times_searched(files[i]), 0);
        munmap(files[i], 4096);
    }
    free(im.p.vm);
    im.p.vm = NULL;
    close(fd);
    unlink(path);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("published");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, reads_it_and_what_it_becomes);
    tcase_add_test(tc, passes_over_what_is_none);
    tcase_add_test(tc, keeps_what_was_known);
    tcase_add_test(tc, looks_again_while_it_is_young);
    tcase_add_test(tc, searches_files_with_code);
    return suite_run_case("published", tc);
}
