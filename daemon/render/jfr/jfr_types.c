/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every type that a recording uses, with the names, labels and fields of the JDK and of
 * async-profiler, so that their tools find them.
 *
 * async-profiler's converter reads the constants of threads and classes, and its known events, by
 * the position of their fields. So these types have the fields of async-profiler in its order.
 * Pyroscope's parser refuses a recording without descriptions of short, float and
 * jdk.types.Package.
 */
#include "render/jfr/jfr_types.h"

#define FIELD(name, label, type)                                                                   \
    {                                                                                              \
        name, label, type, 0, 0, NULL                                                              \
    }
#define POOL(name, label, type)                                                                    \
    {                                                                                              \
        name, label, type, FIELD_POOL, 0, NULL                                                     \
    }
#define ARRAY(name, label, type)                                                                   \
    {                                                                                              \
        name, label, type, FIELD_ARRAY, 0, NULL                                                    \
    }
#define UNIT(name, label, unit, value)                                                             \
    {                                                                                              \
        name, label, JFR_LONG, 0, unit, value                                                      \
    }
#define VALUE FIELD("value", NULL, JFR_STRING)
#define DURATION UNIT("duration", "Duration", JFR_TIMESPAN, "TICKS")
#define THREAD FIELD("thread", "Thread", JFR_STRING)
#define EVENT_THREAD POOL("eventThread", "Event Thread", JFR_THREAD)
#define STACK_TRACE POOL("stackTrace", "Stack Trace", JFR_STACK_TRACE)
#define WAIT_DESCRIPTION "A wait; its duration is what the sample stands for"
#define CATEGORY(...)                                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define VM(category) CATEGORY("Java Virtual Machine", category)

#define PRIMITIVE(id_, name_)                                                                      \
    {                                                                                              \
        .id = id_, .name = name_                                                                   \
    }
#define TYPE(id_, name_, label_, ...)                                                              \
    {                                                                                              \
        .id = id_, .name = name_, .label = label_, .fields = { __VA_ARGS__ }                       \
    }
#define SIMPLE(id_, name_, label_, ...)                                                            \
    {                                                                                              \
        .id = id_, .name = name_, .label = label_, .simple = true, .fields = { __VA_ARGS__ }       \
    }
#define ANNOTATION(id_, name_, ...)                                                                \
    {                                                                                              \
        .id = id_, .name = name_, .super = "java.lang.annotation.Annotation", .fields = {          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
/* An event; each begins with the time of its start. */
#define EVENT(id_, name_, label_, category_, description_, ...)                                    \
    {                                                                                              \
        .id = id_, .name = name_, .super = "jdk.jfr.Event", .label = label_,                       \
        .category = category_, .description = description_, .fields = {                            \
            UNIT("startTime", "Start Time", JFR_TIMESTAMP, "TICKS"),                               \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

const struct jfr_type_info JFR_TYPES[] = {
    PRIMITIVE(JFR_BOOLEAN, "boolean"),
    PRIMITIVE(JFR_CHAR, "char"),
    PRIMITIVE(JFR_FLOAT, "float"),
    PRIMITIVE(JFR_DOUBLE, "double"),
    PRIMITIVE(JFR_BYTE, "byte"),
    PRIMITIVE(JFR_SHORT, "short"),
    PRIMITIVE(JFR_INT, "int"),
    PRIMITIVE(JFR_LONG, "long"),
    PRIMITIVE(JFR_STRING, "java.lang.String"),
    TYPE(JFR_CLASS, "java.lang.Class", "Java Class",
         POOL("classLoader", "Class Loader", JFR_CLASS_LOADER), POOL("name", "Name", JFR_SYMBOL),
         POOL("package", "Package", JFR_PACKAGE), FIELD("modifiers", "Access Modifiers", JFR_INT),
         FIELD("hidden", "Hidden", JFR_BOOLEAN)),
    TYPE(JFR_PACKAGE, "jdk.types.Package", "Package", POOL("name", "Name", JFR_SYMBOL)),
    TYPE(JFR_THREAD, "java.lang.Thread", "Thread", FIELD("osName", "OS Thread Name", JFR_STRING),
         FIELD("osThreadId", "OS Thread Id", JFR_LONG),
         FIELD("javaName", "Java Thread Name", JFR_STRING),
         FIELD("javaThreadId", "Java Thread Id", JFR_LONG),
         POOL("group", "Java Thread Group", JFR_THREAD_GROUP)),
    TYPE(JFR_THREAD_GROUP, "jdk.types.ThreadGroup", "Thread Group",
         POOL("parent", "Parent", JFR_THREAD_GROUP), FIELD("name", "Name", JFR_STRING)),
    TYPE(JFR_CLASS_LOADER, "jdk.types.ClassLoader", "Java Class Loader",
         POOL("type", "Type", JFR_CLASS), POOL("name", "Name", JFR_SYMBOL)),
    SIMPLE(JFR_SYMBOL, "jdk.types.Symbol", "Symbol", FIELD("string", "String", JFR_STRING)),
    SIMPLE(JFR_THREAD_STATE, "jdk.types.ThreadState", "Java Thread State",
           FIELD("name", "Name", JFR_STRING)),
    SIMPLE(JFR_FRAME_TYPE, "jdk.types.FrameType", "Frame type",
           FIELD("description", "Description", JFR_STRING)),
    TYPE(JFR_METHOD, "jdk.types.Method", "Java Method", POOL("type", "Type", JFR_CLASS),
         POOL("name", "Name", JFR_SYMBOL), POOL("descriptor", "Descriptor", JFR_SYMBOL),
         FIELD("modifiers", "Access Modifiers", JFR_INT), FIELD("hidden", "Hidden", JFR_BOOLEAN)),
    TYPE(JFR_STACK_FRAME, "jdk.types.StackFrame", NULL, POOL("method", "Java Method", JFR_METHOD),
         FIELD("lineNumber", "Line Number", JFR_INT),
         FIELD("bytecodeIndex", "Bytecode Index", JFR_INT),
         POOL("type", "Frame Type", JFR_FRAME_TYPE)),
    TYPE(JFR_STACK_TRACE, "jdk.types.StackTrace", "Stacktrace",
         FIELD("truncated", "Truncated", JFR_BOOLEAN),
         ARRAY("frames", "Stack Frames", JFR_STACK_FRAME)),
    ANNOTATION(JFR_LABEL, "jdk.jfr.Label", VALUE),
    ANNOTATION(JFR_CATEGORY, "jdk.jfr.Category", ARRAY("value", NULL, JFR_STRING)),
    ANNOTATION(JFR_DESCRIPTION, "jdk.jfr.Description", VALUE),
    ANNOTATION(JFR_TIMESTAMP, "jdk.jfr.Timestamp", VALUE),
    ANNOTATION(JFR_TIMESPAN, "jdk.jfr.Timespan", VALUE),
    ANNOTATION(JFR_DATA_AMOUNT, "jdk.jfr.DataAmount", VALUE),
    EVENT(JFR_EXECUTION_SAMPLE, "jdk.ExecutionSample", "Method Profiling Sample", VM("Profiling"),
          "Snapshot of a thread, taken by flamed", POOL("sampledThread", "Thread", JFR_THREAD),
          STACK_TRACE, POOL("state", "Thread State", JFR_THREAD_STATE)),
    EVENT(JFR_EVENT_SAMPLE, "flamed.EventSample", "Event Sample", CATEGORY("flamed", "Events"),
          "Sample of an event other than CPU time, of several in one recording",
          POOL("sampledThread", "Thread", JFR_THREAD), STACK_TRACE,
          FIELD("event", "Event", JFR_STRING), FIELD("value", "Value", JFR_LONG),
          FIELD("unit", "Unit", JFR_STRING)),
    EVENT(JFR_WALL_CLOCK_SAMPLE, "profiler.WallClockSample", "Wall Clock Sample", VM("Profiling"),
          "What a thread did for some time, whether it ran or not",
          POOL("sampledThread", "Thread", JFR_THREAD), STACK_TRACE,
          POOL("state", "Thread State", JFR_THREAD_STATE), FIELD("samples", "Samples", JFR_INT)),
    EVENT(JFR_ALLOCATION_SAMPLE, "jdk.ObjectAllocationSample", "Object Allocation Sample",
          CATEGORY("Java Application"),
          "An allocation on the heap; its weight is what it stands for", EVENT_THREAD, STACK_TRACE,
          POOL("objectClass", "Object Class", JFR_CLASS),
          UNIT("weight", "Sample Weight", JFR_DATA_AMOUNT, "BYTES")),
    EVENT(JFR_LIVE_OBJECT, "profiler.LiveObject", "Live Object", CATEGORY("Java Application"),
          "An object that is reachable at the end; its size is what it stands for", EVENT_THREAD,
          STACK_TRACE, POOL("objectClass", "Object Class", JFR_CLASS),
          UNIT("allocationSize", "Allocation Size", JFR_DATA_AMOUNT, "BYTES"),
          UNIT("allocationTime", "Allocation Time", JFR_TIMESTAMP, "TICKS")),
    EVENT(JFR_MALLOC, "profiler.Malloc", "malloc", VM("Native Memory"),
          "Native memory; its size is what the sample stands for", EVENT_THREAD, STACK_TRACE,
          UNIT("address", "Address", JFR_METADATA, NULL),
          UNIT("size", "Size", JFR_DATA_AMOUNT, "BYTES")),
    EVENT(JFR_MONITOR_ENTER, "jdk.JavaMonitorEnter", "Java Monitor Blocked",
          CATEGORY("Java Application"), WAIT_DESCRIPTION, DURATION, EVENT_THREAD, STACK_TRACE,
          POOL("monitorClass", "Monitor Class", JFR_CLASS),
          POOL("previousOwner", "Previous Monitor Owner", JFR_THREAD),
          UNIT("address", "Monitor Address", JFR_METADATA, NULL)),
    EVENT(JFR_MONITOR_WAIT, "jdk.JavaMonitorWait", "Java Monitor Wait",
          CATEGORY("Java Application"), WAIT_DESCRIPTION, DURATION, EVENT_THREAD, STACK_TRACE,
          POOL("monitorClass", "Monitor Class", JFR_CLASS),
          POOL("notifier", "Notifier Thread", JFR_THREAD),
          UNIT("address", "Monitor Address", JFR_METADATA, NULL)),
    EVENT(JFR_THREAD_PARK, "jdk.ThreadPark", "Java Thread Park", CATEGORY("Java Application"),
          WAIT_DESCRIPTION, DURATION, EVENT_THREAD, STACK_TRACE,
          POOL("parkedClass", "Class Parked On", JFR_CLASS),
          UNIT("timeout", "Park Timeout", JFR_TIMESPAN, "NANOSECONDS"),
          UNIT("until", "Park Until", JFR_TIMESTAMP, "MILLISECONDS_SINCE_EPOCH"),
          UNIT("address", "Address of Object Parked", JFR_METADATA, NULL)),
    EVENT(JFR_NATIVE_LOCK, "profiler.NativeLock", "Native Lock Sample", VM("Native Lock"),
          WAIT_DESCRIPTION, DURATION, EVENT_THREAD, STACK_TRACE,
          UNIT("address", "Lock Address", JFR_METADATA, NULL)),
    EVENT(JFR_SAFEPOINT_BEGIN, "jdk.SafepointBegin", "Safepoint Begin", VM("Runtime"),
          "The VM waits for its threads to stop", DURATION,
          FIELD("safepointId", "Safepoint Identifier", JFR_LONG)),
    EVENT(JFR_SAFEPOINT_END, "jdk.SafepointEnd", "Safepoint End", VM("Runtime"), "Threads go on",
          DURATION, FIELD("safepointId", "Safepoint Identifier", JFR_LONG)),
    EVENT(JFR_GARBAGE_COLLECTION, "jdk.GarbageCollection", "Garbage Collection", VM("GC"), NULL,
          DURATION, FIELD("gcId", "GC Identifier", JFR_INT), FIELD("name", "Name", JFR_STRING),
          UNIT("sumOfPauses", "Sum of Pauses", JFR_TIMESPAN, "TICKS"),
          UNIT("longestPause", "Longest Pause", JFR_TIMESPAN, "TICKS")),
    EVENT(JFR_GC_PHASE_PAUSE, "jdk.GCPhasePause", "GC Phase Pause", VM("GC"), NULL, DURATION,
          FIELD("gcId", "GC Identifier", JFR_INT), FIELD("name", "Name", JFR_STRING)),
    EVENT(JFR_EXECUTE_VM_OPERATION, "jdk.ExecuteVMOperation", "VM Operation", VM("Runtime"), NULL,
          DURATION, FIELD("operation", "Operation", JFR_STRING)),
    EVENT(JFR_COMPILATION, "jdk.Compilation", "Compilation", VM("Compiler"), NULL, DURATION, THREAD,
          POOL("method", "Method", JFR_METHOD), FIELD("compiler", "Compiler", JFR_STRING)),
    EVENT(JFR_CLASS_LOAD, "jdk.ClassLoad", "Class Load", VM("Class Loading"), NULL, DURATION,
          THREAD, POOL("loadedClass", "Loaded Class", JFR_CLASS)),
    EVENT(JFR_CLASS_UNLOAD, "jdk.ClassUnload", "Class Unload", VM("Class Loading"), NULL, DURATION,
          THREAD, POOL("unloadedClass", "Unloaded Class", JFR_CLASS)),
    EVENT(JFR_REQUEST, "flamed.Request", "Request", CATEGORY("flamed"),
          "From a thread's first sample in a span of a request to its last one in a row", DURATION,
          EVENT_THREAD, FIELD("traceId", "Trace Id", JFR_STRING),
          FIELD("spanId", "Span Id", JFR_STRING),
          FIELD("localRootSpanId", "Local Root Span Id", JFR_STRING),
          FIELD("operation", "Operation", JFR_STRING), FIELD("samples", "Samples", JFR_LONG)),
    EVENT(JFR_ACTIVE_RECORDING, "jdk.ActiveRecording", "Flight Recording",
          CATEGORY("Flight Recorder"), NULL, FIELD("id", "Id", JFR_LONG),
          FIELD("name", "Name", JFR_STRING), FIELD("destination", "Destination", JFR_STRING),
          FIELD("disk", "To Disk", JFR_BOOLEAN),
          UNIT("maxAge", "Max Age", JFR_TIMESPAN, "MILLISECONDS"),
          UNIT("flushInterval", "Flush Interval", JFR_TIMESPAN, "MILLISECONDS"),
          UNIT("maxSize", "Max Size", JFR_DATA_AMOUNT, "BYTES"),
          UNIT("recordingStart", "Start Time", JFR_TIMESTAMP, "MILLISECONDS_SINCE_EPOCH"),
          UNIT("recordingDuration", "Recording Duration", JFR_TIMESPAN, "MILLISECONDS")),
    EVENT(JFR_ACTIVE_SETTING, "jdk.ActiveSetting", "Recording Setting", CATEGORY("Flight Recorder"),
          NULL, FIELD("id", "Event Id", JFR_LONG), FIELD("name", "Setting Name", JFR_STRING),
          FIELD("value", "Setting Value", JFR_STRING)),
    EVENT(JFR_OS_INFORMATION, "jdk.OSInformation", "OS Information", CATEGORY("Operating System"),
          NULL, FIELD("osVersion", "OS Version", JFR_STRING))
};

const size_t JFR_TYPE_COUNT = ARRAY_SIZE(JFR_TYPES);
