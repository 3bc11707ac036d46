/* SPDX-License-Identifier: Apache-2.0 */
/* The table of tools that a language model can call, with the routes that answer. */
#include "serve/mcp/mcp_impl.h"

#include "base/list.h"
#include "serve/params/param_schema.h"

#define BIT(name) PARAM_BIT(PARAM_##name)
#define TARGET (PARAMS_TARGET & ~BIT(NSPID))
#define SHOWN                                                                                      \
    (BIT(EVENT) | BIT(INCLUDE) | BIT(EXCLUDE) | BIT(OPERATION) | BIT(IDLE) | BIT(TOP_ROWS))
#define OF_THE_PAST                                                                                \
    {                                                                                              \
        { "/api/v1/captures/{id}/profile", "capture" }, { "/profile", NULL },                      \
        {                                                                                          \
            "/api/v1/query", NULL                                                                  \
        }                                                                                          \
    }

static const struct mcp_tool TOOLS[] = {
    { "list_services", "Services",
      "The services of this node: the process ids of their JVMs, versions, releases, and JVMs that "
      "have ended.",
      .ways = { { "/api/v1/services", NULL } }, .json = true },
    { "signals", "What is wrong",
      "What is wrong with the JVMs now: each signal is a sentence with figures, its severity (1 to "
      "3), since when, a remedy, and a path that shows it. An empty list means that no rule fires. "
      "past has those that were on within the last hour, until when, and how often.",
      .ways = { { "/api/v1/signals", NULL } }, .params = BIT(PID) | BIT(SERVICE), .json = true },
    { "summary", "In words",
      "One pid or service in at most five sentences: what its time went to, what is unusual, what "
      "changed, and how sure that is. Without a time it is of the last 5 minutes.",
      .ways = { { "/api/v1/words", NULL } },
      .params = BIT(PID) | BIT(SERVICE) | PARAMS_RANGE | BIT(EVENT), .json = true },
    { "changes", "What changed",
      "What is significantly different between two times: functions, locks, waits, pauses and "
      "categories, by a rank test over minutes. Without a and b flamed chooses the times, such as "
      "before and since the last release, and says which.",
      .ways = { { "/api/v1/changes", NULL } }, .params = BIT(PID) | BIT(SERVICE) | BIT(A) | BIT(B),
      .json = true },
    { "top", "The hottest functions",
      "The functions that used most of an event, of the recorded past or of a kept capture. "
      "event=cpu (the default) is CPU time; wall is all time of threads; offcpu is where they "
      "waited.",
      .ways = OF_THE_PAST, .params = TARGET | PARAMS_RANGE | SHOWN, .set = { { "format", "flat" } },
      .usual = { { "top", "30" }, { "idle", "0" } }, .past = true },
    { "tree", "The call tree",
      "Who calls whom: the call tree with its shares, of the recorded past or of a kept capture. "
      "More rows by top, fewer frames by minwidth, depth or include.",
      .ways = OF_THE_PAST,
      .params = TARGET | PARAMS_RANGE | SHOWN | BIT(MINWIDTH) | BIT(DEPTH) | BIT(THREADS),
      .set = { { "format", "tree" } },
      .usual = { { "top", "100" }, { "minwidth", "1" }, { "idle", "0" } }, .past = true,
      .squeezes = true },
    { "diff", "Compare two times",
      "The functions that changed most between a (before) and b (after): two ranges of time of a "
      "target, or two kept captures.",
      .ways = { { "/api/v1/diff", NULL } },
      .params = TARGET | BIT(EVENT) | BIT(INCLUDE) | BIT(EXCLUDE) | BIT(A) | BIT(B) | BIT(TOP_ROWS),
      .set = { { "format", "text" }, { "names", "merged" } }, .usual = { { "top", "30" } },
      .required = BIT(A) | BIT(B), .counts = true },
    { "locks", "Lock waits",
      "Which locks threads waited for: the class of each lock, and the stacks that waited, the "
      "most time first. The signal lock-contention says what their owners did. Of the recorded "
      "past, or of a kept capture with event=lock.",
      .ways = OF_THE_PAST,
      .params = TARGET | PARAMS_RANGE | BIT(INCLUDE) | BIT(EXCLUDE) | BIT(TOP_ROWS),
      .set = { { "format", "traces" }, { "event", "lock" }, { "idle", "0" } },
      .usual = { { "top", "5" } }, .past = true },
    { "capture", "Sample now",
      "Samples now, for seconds (10; 50 at most), and answers with the hottest functions, or the "
      "classes of alloc. The capture is kept: ask tree, top, locks, diff or why with its id. Use "
      "it for events that are not recorded, such as page-faults, or for more samples than the "
      "record has. Most events change nothing in the JVM. alloc, safepoint, malloc, nativelive and "
      "LIB:SYMBOL put probes into it, and live loads an agent: they take the role attach.",
      .ways = { { "/profile", NULL } },
      .params = TARGET | SHOWN | BIT(SECONDS) | BIT(HZ) | BIT(INTERVAL),
      .set = { { "format", "flat" } }, .usual = { { "top", "30" }, { "idle", "0" } },
      .acts = true },
    { "why", "What limits it",
      "Why a profile may be poor. With pid: what naming and attaching meet in that JVM, step by "
      "step; it touches nothing. With capture: its state, its samples, those lost, without a name "
      "or cut, and its warnings.",
      .ways = { { "/api/v1/captures/{id}", "capture" }, { "/api/v1/jvms/{pid}/preflight", "pid" } },
      .json = true },
};

const struct mcp_tool *mcp_tool_find(const char *name)
{
    return FIRST_OF(i, TOOLS, ARRAY_SIZE(TOOLS), strcmp(TOOLS[i].name, name) == 0);
}

const struct route *mcp_way_route(const struct mcp_way *way)
{
    size_t count;
    const struct route *list = routes(&count);

    return FIRST_OF(i, list, count,
                    list[i].methods & METHOD_GET && strcmp(list[i].path, way->path) == 0);
}

param_set mcp_way_params(const struct mcp_tool *tool, const struct mcp_way *way)
{
    return tool->params & mcp_way_route(way)->params;
}

/* ---- the list ---- */

/* Returns whether a subject with @role can call @tool. */
static bool tool_is_for(const struct mcp_tool *tool, enum role role)
{
    for (size_t i = 0; i < MCP_WAYS_MAX && tool->ways[i].path; i++) {
        if (role >= mcp_way_route(&tool->ways[i])->role)
            return true;
    }
    return false;
}

static json_t *schema_of_variable(const char *name)
{
    json_t *schema;

    if (strcmp(name, "capture") == 0)
        return json_pack("{s:s, s:s, s:s}", "type", "string", "pattern", "^[0-9a-f]{32}$",
                         "description",
                         "The id of a kept capture, in place of a target and a time.");
    schema = json_pack("{s:s, s:s}", "type", "string", "pattern", "^[1-9][0-9]{0,9}$");
    json_object_set_new(schema, "description",
                        json_string("The process id of one JVM as the host sees it."));
    return schema;
}

/* Returns the first sentence of a parameter's description, to keep the list of tools short: a model
 * reads all of it. */
static json_t *first_sentence(const char *text)
{
    const char *end = strstr(text, ". ");

    return json_stringn(text, end ? (size_t)(end - text) + 1 : strlen(text));
}

static json_t *schema_of_argument(const struct mcp_tool *tool, enum param_id id)
{
    const struct param *p = param_row(id);
    json_t *schema = param_schema(p);

    json_object_set_new(schema, "description", first_sentence(p->text));
    if (p->example)
        json_object_set_new(schema, "examples", json_pack("[s]", p->example));
    if (id == PARAM_SECONDS)
        json_object_set_new(schema, "maximum", json_integer(MCP_SECONDS_MAX));
    for (size_t i = 0; i < MCP_ARGUMENTS_MAX && tool->usual[i].name; i++) {
        if (strcmp(tool->usual[i].name, p->name) == 0)
            json_object_set_new(schema, "default",
                                json_loads(tool->usual[i].value, JSON_DECODE_ANY, NULL));
    }
    return schema;
}

/* Returns the schema of the arguments, generated from the table of parameters. */
static json_t *schema_of(const struct mcp_tool *tool)
{
    json_t *members = json_object(), *required = json_array(), *schema;

    for (size_t i = 0; i < MCP_WAYS_MAX && tool->ways[i].path; i++) {
        if (tool->ways[i].variable)
            json_object_set_new(members, tool->ways[i].variable,
                                schema_of_variable(tool->ways[i].variable));
    }
    for (unsigned id = 0; id < PARAM_COUNT; id++) {
        if (tool->params & PARAM_BIT(id))
            json_object_set_new(members, param_name(id), schema_of_argument(tool, id));
        if (tool->required & PARAM_BIT(id))
            json_array_append_new(required, json_string(param_name(id)));
    }
    schema = json_pack("{s:s, s:o, s:b}", "type", "object", "properties", members,
                       "additionalProperties", false);
    if (json_array_size(required))
        json_object_set(schema, "required", required);
    json_decref(required);
    return schema;
}

json_t *mcp_tools_list(enum role role)
{
    json_t *list = json_array();

    for (size_t i = 0; i < ARRAY_SIZE(TOOLS); i++) {
        const struct mcp_tool *t = &TOOLS[i];

        if (!tool_is_for(t, role))
            continue;
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:o, s:{s:b, s:b, s:b, s:b}}",
                                              "name", t->name, "title", t->title, "description",
                                              t->text, "inputSchema", schema_of(t), "annotations",
                                              "readOnlyHint", !t->acts, "destructiveHint", false,
                                              "idempotentHint", !t->acts, "openWorldHint", false));
    }
    return json_pack("{s:o}", "tools", list);
}
