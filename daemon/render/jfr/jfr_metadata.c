/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metadata event of a recording: every type that it uses, with the names, labels and fields
 * that the JDK gives them, so that its tools find what they look for. The event is a table of
 * strings and a tree of elements whose names and attributes are indexes in it.
 */
#include "base/cleanup.h"
#include "render/jfr/jfr.h"

#define METADATA_FIELDS_MAX 11
#define METADATA_BYTES_MAX ((size_t)1 << 20)

enum field_flags {
    FIELD_POOL = 1,  /* holds a key of the type's constant pool */
    FIELD_ARRAY = 2, /* a count, and so many values */
};

struct metadata_field {
    const char *name, *label; /* NULL name: no more fields */
    enum jfr_type type;
    unsigned flags;
    enum jfr_type unit;     /* an annotation that says what the number is, or JFR_METADATA: none */
    const char *unit_value; /* "TICKS" */
};

struct metadata_type {
    enum jfr_type id;
    const char *name, *super, *label, *category[2], *description;
    bool simple; /* readers show the only field in its place */
    struct metadata_field fields[METADATA_FIELDS_MAX];
};

#define EVENT "jdk.jfr.Event"
#define ANNOTATION "java.lang.annotation.Annotation"
#define START_TIME                                                                                 \
    {                                                                                              \
        "startTime", "Start Time", JFR_LONG, 0, JFR_TIMESTAMP, "TICKS"                             \
    }
#define DURATION                                                                                   \
    {                                                                                              \
        "duration", "Duration", JFR_LONG, 0, JFR_TIMESPAN, "TICKS"                                 \
    }
#define THREAD                                                                                     \
    {                                                                                              \
        "thread", "Thread", JFR_STRING, 0, 0, NULL                                                 \
    }
#define VALUE                                                                                      \
    {                                                                                              \
        "value", NULL, JFR_STRING, 0, JFR_METADATA, NULL                                           \
    }

static const struct metadata_type TYPES[] = {
    { .id = JFR_BOOLEAN, .name = "boolean" },
    { .id = JFR_INT, .name = "int" },
    { .id = JFR_LONG, .name = "long" },
    { .id = JFR_STRING, .name = "java.lang.String" },
    { .id = JFR_CLASS,
      .name = "java.lang.Class",
      .label = "Java Class",
      .fields = { { "classLoader", "Class Loader", JFR_CLASS_LOADER, FIELD_POOL, 0, NULL },
                  { "name", "Name", JFR_SYMBOL, FIELD_POOL, 0, NULL },
                  { "modifiers", "Access Modifiers", JFR_INT, 0, 0, NULL },
                  { "hidden", "Hidden", JFR_BOOLEAN, 0, 0, NULL } } },
    { .id = JFR_THREAD,
      .name = "java.lang.Thread",
      .label = "Thread",
      .fields = { { "osName", "OS Thread Name", JFR_STRING, 0, 0, NULL },
                  { "osThreadId", "OS Thread Id", JFR_LONG, 0, 0, NULL },
                  { "javaName", "Java Thread Name", JFR_STRING, 0, 0, NULL },
                  { "javaThreadId", "Java Thread Id", JFR_LONG, 0, 0, NULL },
                  { "group", "Java Thread Group", JFR_THREAD_GROUP, FIELD_POOL, 0, NULL },
                  { "virtual", "Virtual Thread", JFR_BOOLEAN, 0, 0, NULL } } },
    { .id = JFR_THREAD_GROUP,
      .name = "jdk.types.ThreadGroup",
      .label = "Thread Group",
      .fields = { { "parent", "Parent", JFR_THREAD_GROUP, FIELD_POOL, 0, NULL },
                  { "name", "Name", JFR_STRING, 0, 0, NULL } } },
    { .id = JFR_CLASS_LOADER,
      .name = "jdk.types.ClassLoader",
      .label = "Java Class Loader",
      .fields = { { "type", "Type", JFR_CLASS, FIELD_POOL, 0, NULL },
                  { "name", "Name", JFR_SYMBOL, FIELD_POOL, 0, NULL } } },
    { .id = JFR_SYMBOL,
      .name = "jdk.types.Symbol",
      .label = "Symbol",
      .simple = true,
      .fields = { { "string", "String", JFR_STRING, 0, 0, NULL } } },
    { .id = JFR_THREAD_STATE,
      .name = "jdk.types.ThreadState",
      .label = "Java Thread State",
      .simple = true,
      .fields = { { "name", "Name", JFR_STRING, 0, 0, NULL } } },
    { .id = JFR_FRAME_TYPE,
      .name = "jdk.types.FrameType",
      .label = "Frame type",
      .simple = true,
      .fields = { { "description", "Description", JFR_STRING, 0, 0, NULL } } },
    { .id = JFR_METHOD,
      .name = "jdk.types.Method",
      .label = "Java Method",
      .fields = { { "type", "Type", JFR_CLASS, FIELD_POOL, 0, NULL },
                  { "name", "Name", JFR_SYMBOL, FIELD_POOL, 0, NULL },
                  { "descriptor", "Descriptor", JFR_SYMBOL, FIELD_POOL, 0, NULL },
                  { "modifiers", "Access Modifiers", JFR_INT, 0, 0, NULL },
                  { "hidden", "Hidden", JFR_BOOLEAN, 0, 0, NULL } } },
    { .id = JFR_STACK_FRAME,
      .name = "jdk.types.StackFrame",
      .fields = { { "method", "Java Method", JFR_METHOD, FIELD_POOL, 0, NULL },
                  { "lineNumber", "Line Number", JFR_INT, 0, 0, NULL },
                  { "bytecodeIndex", "Bytecode Index", JFR_INT, 0, 0, NULL },
                  { "type", "Frame Type", JFR_FRAME_TYPE, FIELD_POOL, 0, NULL } } },
    { .id = JFR_STACK_TRACE,
      .name = "jdk.types.StackTrace",
      .label = "Stacktrace",
      .fields = { { "truncated", "Truncated", JFR_BOOLEAN, 0, 0, NULL },
                  { "frames", "Stack Frames", JFR_STACK_FRAME, FIELD_ARRAY, 0, NULL } } },
    { .id = JFR_LABEL, .name = "jdk.jfr.Label", .super = ANNOTATION, .fields = { VALUE } },
    { .id = JFR_CATEGORY,
      .name = "jdk.jfr.Category",
      .super = ANNOTATION,
      .fields = { { "value", NULL, JFR_STRING, FIELD_ARRAY, 0, NULL } } },
    { .id = JFR_DESCRIPTION,
      .name = "jdk.jfr.Description",
      .super = ANNOTATION,
      .fields = { VALUE } },
    { .id = JFR_TIMESTAMP, .name = "jdk.jfr.Timestamp", .super = ANNOTATION, .fields = { VALUE } },
    { .id = JFR_TIMESPAN, .name = "jdk.jfr.Timespan", .super = ANNOTATION, .fields = { VALUE } },
    { .id = JFR_DATA_AMOUNT,
      .name = "jdk.jfr.DataAmount",
      .super = ANNOTATION,
      .fields = { VALUE } },
    { .id = JFR_EXECUTION_SAMPLE,
      .name = "jdk.ExecutionSample",
      .super = EVENT,
      .label = "Method Profiling Sample",
      .category = { "Java Virtual Machine", "Profiling" },
      .description = "Snapshot of a thread, taken by flamed",
      .fields = { START_TIME,
                  { "sampledThread", "Thread", JFR_THREAD, FIELD_POOL, 0, NULL },
                  { "stackTrace", "Stack Trace", JFR_STACK_TRACE, FIELD_POOL, 0, NULL },
                  { "state", "Thread State", JFR_THREAD_STATE, FIELD_POOL, 0, NULL } } },
    { .id = JFR_EVENT_SAMPLE,
      .name = "flamed.EventSample",
      .super = EVENT,
      .label = "Event Sample",
      .category = { "flamed", "Events" },
      .description = "Sample of an event other than CPU time, of several in one recording",
      .fields = { START_TIME,
                  { "sampledThread", "Thread", JFR_THREAD, FIELD_POOL, 0, NULL },
                  { "stackTrace", "Stack Trace", JFR_STACK_TRACE, FIELD_POOL, 0, NULL },
                  { "event", "Event", JFR_STRING, 0, 0, NULL },
                  { "value", "Value", JFR_LONG, 0, 0, NULL },
                  { "unit", "Unit", JFR_STRING, 0, 0, NULL } } },
    { .id = JFR_WALL_CLOCK_SAMPLE,
      .name = "profiler.WallClockSample",
      .super = EVENT,
      .label = "Wall Clock Sample",
      .category = { "Profiler" },
      .description = "What a thread did for some time, whether it ran or not",
      .fields = { START_TIME,
                  { "sampledThread", "Thread", JFR_THREAD, FIELD_POOL, 0, NULL },
                  { "stackTrace", "Stack Trace", JFR_STACK_TRACE, FIELD_POOL, 0, NULL },
                  { "state", "Thread State", JFR_THREAD_STATE, FIELD_POOL, 0, NULL },
                  { "samples", "Samples", JFR_INT, 0, 0, NULL },
                  { "time", "Time", JFR_LONG, 0, JFR_TIMESPAN, "NANOSECONDS" } } },
    { .id = JFR_SAFEPOINT_BEGIN,
      .name = "jdk.SafepointBegin",
      .super = EVENT,
      .label = "Safepoint Begin",
      .category = { "Java Virtual Machine", "Runtime" },
      .description = "The VM waits for its threads to stop",
      .fields = { START_TIME,
                  DURATION,
                  { "safepointId", "Safepoint Identifier", JFR_LONG, 0, 0, NULL } } },
    { .id = JFR_SAFEPOINT_END,
      .name = "jdk.SafepointEnd",
      .super = EVENT,
      .label = "Safepoint End",
      .category = { "Java Virtual Machine", "Runtime" },
      .description = "Threads go on",
      .fields = { START_TIME,
                  DURATION,
                  { "safepointId", "Safepoint Identifier", JFR_LONG, 0, 0, NULL } } },
    { .id = JFR_GARBAGE_COLLECTION,
      .name = "jdk.GarbageCollection",
      .super = EVENT,
      .label = "Garbage Collection",
      .category = { "Java Virtual Machine", "GC" },
      .fields = { START_TIME,
                  DURATION,
                  { "gcId", "GC Identifier", JFR_INT, 0, 0, NULL },
                  { "name", "Name", JFR_STRING, 0, 0, NULL },
                  { "sumOfPauses", "Sum of Pauses", JFR_LONG, 0, JFR_TIMESPAN, "TICKS" },
                  { "longestPause", "Longest Pause", JFR_LONG, 0, JFR_TIMESPAN, "TICKS" } } },
    { .id = JFR_GC_PHASE_PAUSE,
      .name = "jdk.GCPhasePause",
      .super = EVENT,
      .label = "GC Phase Pause",
      .category = { "Java Virtual Machine", "GC" },
      .fields = { START_TIME,
                  DURATION,
                  { "gcId", "GC Identifier", JFR_INT, 0, 0, NULL },
                  { "name", "Name", JFR_STRING, 0, 0, NULL } } },
    { .id = JFR_EXECUTE_VM_OPERATION,
      .name = "jdk.ExecuteVMOperation",
      .super = EVENT,
      .label = "VM Operation",
      .category = { "Java Virtual Machine", "Runtime" },
      .fields = { START_TIME, DURATION, { "operation", "Operation", JFR_STRING, 0, 0, NULL } } },
    { .id = JFR_COMPILATION,
      .name = "jdk.Compilation",
      .super = EVENT,
      .label = "Compilation",
      .category = { "Java Virtual Machine", "Compiler" },
      .fields = { START_TIME,
                  DURATION,
                  THREAD,
                  { "method", "Method", JFR_METHOD, FIELD_POOL, 0, NULL },
                  { "compiler", "Compiler", JFR_STRING, 0, 0, NULL } } },
    { .id = JFR_CLASS_LOAD,
      .name = "jdk.ClassLoad",
      .super = EVENT,
      .label = "Class Load",
      .category = { "Java Virtual Machine", "Class Loading" },
      .fields = { START_TIME,
                  DURATION,
                  THREAD,
                  { "loadedClass", "Loaded Class", JFR_CLASS, FIELD_POOL, 0, NULL } } },
    { .id = JFR_CLASS_UNLOAD,
      .name = "jdk.ClassUnload",
      .super = EVENT,
      .label = "Class Unload",
      .category = { "Java Virtual Machine", "Class Loading" },
      .fields = { START_TIME,
                  DURATION,
                  THREAD,
                  { "unloadedClass", "Unloaded Class", JFR_CLASS, FIELD_POOL, 0, NULL } } },
    { .id = JFR_ACTIVE_RECORDING,
      .name = "jdk.ActiveRecording",
      .super = EVENT,
      .label = "Flight Recording",
      .category = { "Flight Recorder" },
      .fields = { START_TIME,
                  { "id", "Id", JFR_LONG, 0, 0, NULL },
                  { "name", "Name", JFR_STRING, 0, 0, NULL },
                  { "destination", "Destination", JFR_STRING, 0, 0, NULL },
                  { "disk", "To Disk", JFR_BOOLEAN, 0, 0, NULL },
                  { "maxAge", "Max Age", JFR_LONG, 0, JFR_TIMESPAN, "MILLISECONDS" },
                  { "flushInterval", "Flush Interval", JFR_LONG, 0, JFR_TIMESPAN, "MILLISECONDS" },
                  { "maxSize", "Max Size", JFR_LONG, 0, JFR_DATA_AMOUNT, "BYTES" },
                  { "recordingStart", "Start Time", JFR_LONG, 0, JFR_TIMESTAMP,
                    "MILLISECONDS_SINCE_EPOCH" },
                  { "recordingDuration", "Recording Duration", JFR_LONG, 0, JFR_TIMESPAN,
                    "MILLISECONDS" } } },
    { .id = JFR_ACTIVE_SETTING,
      .name = "jdk.ActiveSetting",
      .super = EVENT,
      .label = "Recording Setting",
      .category = { "Flight Recorder" },
      .fields = { START_TIME,
                  { "id", "Event Id", JFR_LONG, 0, 0, NULL },
                  { "name", "Setting Name", JFR_STRING, 0, 0, NULL },
                  { "value", "Setting Value", JFR_STRING, 0, 0, NULL } } },
    { .id = JFR_OS_INFORMATION,
      .name = "jdk.OSInformation",
      .super = EVENT,
      .label = "OS Information",
      .category = { "Operating System" },
      .fields = { START_TIME, { "osVersion", "OS Version", JFR_STRING, 0, 0, NULL } } },
};

struct metadata {
    struct intern *strings;
    struct buf tree;
    int error;
};

static void add_text(struct metadata *m, const char *s)
{
    uint32_t id = 0;
    int r = intern_add(m->strings, span_of(s), &id);

    if (r < 0 && m->error == 0)
        m->error = -ENOMEM;
    jfr_add_number(&m->tree, id);
}

static void add_attribute(struct metadata *m, const char *key, const char *value)
{
    add_text(m, key);
    add_text(m, value);
}

static void add_id(struct metadata *m, const char *key, enum jfr_type id)
{
    char text[12];

    snprintf(text, sizeof(text), "%d", (int)id);
    add_attribute(m, key, text);
}

static void add_element(struct metadata *m, const char *name, unsigned attributes)
{
    add_text(m, name);
    jfr_add_number(&m->tree, attributes);
}

/* An annotation with one value, without children. */
static void add_annotation(struct metadata *m, enum jfr_type type, const char *value)
{
    add_element(m, "annotation", 2);
    add_id(m, "class", type);
    add_attribute(m, "value", value);
    jfr_add_number(&m->tree, 0);
}

static void add_field(struct metadata *m, const struct metadata_field *f)
{
    add_element(m, "field", 2 + (f->flags != 0));
    add_attribute(m, "name", f->name);
    add_id(m, "class", f->type);
    if (f->flags & FIELD_POOL)
        add_attribute(m, "constantPool", "true");
    else if (f->flags & FIELD_ARRAY)
        add_attribute(m, "dimension", "1");
    jfr_add_number(&m->tree, (f->label != NULL) + (f->unit_value != NULL));
    if (f->label)
        add_annotation(m, JFR_LABEL, f->label);
    if (f->unit_value)
        add_annotation(m, f->unit, f->unit_value);
}

static void add_category(struct metadata *m, const struct metadata_type *t)
{
    add_element(m, "annotation", t->category[1] ? 3 : 2);
    add_id(m, "class", JFR_CATEGORY);
    add_attribute(m, "value-0", t->category[0]);
    if (t->category[1])
        add_attribute(m, "value-1", t->category[1]);
    jfr_add_number(&m->tree, 0);
}

static void add_type(struct metadata *m, const struct metadata_type *t)
{
    unsigned fields = 0;

    while (fields < METADATA_FIELDS_MAX && t->fields[fields].name)
        fields++;
    add_element(m, "class", 2 + (t->super != NULL) + t->simple);
    add_attribute(m, "name", t->name);
    add_id(m, "id", t->id);
    if (t->super)
        add_attribute(m, "superType", t->super);
    if (t->simple)
        add_attribute(m, "simpleType", "true");
    jfr_add_number(&m->tree, fields + (t->label != NULL) + (t->category[0] != NULL) +
                                 (t->description != NULL));
    for (unsigned i = 0; i < fields; i++)
        add_field(m, &t->fields[i]);
    if (t->label)
        add_annotation(m, JFR_LABEL, t->label);
    if (t->category[0])
        add_category(m, t);
    if (t->description)
        add_annotation(m, JFR_DESCRIPTION, t->description);
}

static void add_tree(struct metadata *m)
{
    add_element(m, "root", 0);
    jfr_add_number(&m->tree, 2);
    add_element(m, "metadata", 0);
    jfr_add_number(&m->tree, ARRAY_SIZE(TYPES));
    for (size_t i = 0; i < ARRAY_SIZE(TYPES); i++)
        add_type(m, &TYPES[i]);
    add_element(m, "region", 3);
    add_attribute(m, "locale", "en");
    add_attribute(m, "gmtOffset", "0"); /* times are UTC, as everywhere in flamed */
    add_attribute(m, "dst", "0");
    jfr_add_number(&m->tree, 0);
}

static void metadata_deinit(struct metadata *m)
{
    intern_free(m->strings);
    buf_deinit(&m->tree);
}

int jfr_add_metadata(struct buf *out, uint64_t ticks)
{
    _cleanup_(metadata_deinit) struct metadata m = { 0 };
    size_t begin;

    buf_init(&m.tree, METADATA_BYTES_MAX);
    if (intern_new(METADATA_BYTES_MAX, &m.strings) < 0)
        return -ENOMEM;
    add_tree(&m);
    if (m.error || m.tree.error)
        return -ENOMEM;
    begin = jfr_begin(out, JFR_METADATA);
    jfr_add_number(out, ticks);
    jfr_add_number(out, 0); /* duration */
    jfr_add_number(out, 1); /* id of this metadata */
    jfr_add_number(out, intern_count(m.strings));
    for (uint32_t i = 0; i < intern_count(m.strings); i++)
        jfr_add_string(out, intern_get(m.strings, i));
    buf_add_span(out, buf_span(&m.tree));
    jfr_end(out, begin);
    return 0;
}
