/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a tool call into a request of the tool's route. */
#include "serve/mcp/mcp_impl.h"

#include "serve/body.h"
#include "serve/params/values.h"

#define PAST_DEFAULT "-5m"
#define NAMES_MAX (PARAM_COUNT + MCP_WAYS_MAX)

/* ---- arguments ---- */

/* Returns the arguments that are not null, owned by the caller. A null argument counts as not
 * given. */
static json_t *given_of(const json_t *arguments)
{
    json_t *given = json_object(), *value;
    const char *name;

    json_object_foreach((json_t *)(uintptr_t)arguments, name, value)
    {
        if (!json_is_null(value))
            json_object_set(given, name, value);
    }
    return given;
}

/* Writes the names of the arguments of @tool into @names. Returns their number. */
static size_t argument_names(const struct mcp_tool *tool, const char *names[NAMES_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < MCP_WAYS_MAX && tool->ways[i].path; i++) {
        if (tool->ways[i].variable)
            names[count++] = tool->ways[i].variable;
    }
    for (unsigned id = 0; id < PARAM_COUNT; id++) {
        if (tool->params & PARAM_BIT(id))
            names[count++] = param_name(id);
    }
    return count;
}

static int refuse_argument(const struct mcp_tool *tool, const char *name, struct mcp_fault *fault)
{
    const char *names[NAMES_MAX], *near;
    size_t count = argument_names(tool, names);
    char list[ERROR_REMEDY_MAX] = "", show[QUERY_SHOW_MAX];

    near = value_nearest(span_of(name), names, count);
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(list);

        snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "it takes ", names[i]);
    }
    error_remedy(&fault->err, "%s", count ? list : "call it without arguments");
    return mcp_fault_set(fault, MCP_INVALID_PARAMS, 200, "the tool %s has no argument '%s'%s%s%s",
                         tool->name, query_show(span_of(name), show),
                         near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static bool takes(param_set params, const char *name)
{
    for (unsigned id = 0; id < PARAM_COUNT; id++) {
        if (params & PARAM_BIT(id) && strcmp(param_name(id), name) == 0)
            return true;
    }
    return false;
}

static bool is_variable(const struct mcp_tool *tool, const char *name)
{
    for (size_t i = 0; i < MCP_WAYS_MAX && tool->ways[i].path; i++) {
        if (tool->ways[i].variable && strcmp(tool->ways[i].variable, name) == 0)
            return true;
    }
    return false;
}

static int check_arguments(const struct mcp_tool *tool, const json_t *arguments,
                           struct mcp_fault *fault)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)arguments, name, value)
    {
        if (!takes(tool->params, name) && !is_variable(tool, name))
            return refuse_argument(tool, name, fault);
    }
    for (unsigned id = 0; id < PARAM_COUNT; id++) {
        if (tool->required & PARAM_BIT(id) && !json_object_get(arguments, param_name(id)))
            return mcp_fault_set(fault, MCP_INVALID_PARAMS, 200,
                                 "the tool %s needs the argument '%s'", tool->name, param_name(id));
    }
    return 0;
}

/* ---- the route ---- */

/* Returns the way of a call with @arguments. NULL: one of the path arguments is required. */
static const struct mcp_way *choose_way(const struct mcp_tool *tool, const json_t *arguments,
                                        enum role role)
{
    const struct mcp_way *chosen = NULL;

    for (size_t i = 0; i < MCP_WAYS_MAX && tool->ways[i].path; i++) {
        const struct mcp_way *way = &tool->ways[i];

        if (chosen && chosen->variable)
            break; /* only this route has the named object */
        if (way->variable && !json_object_get(arguments, way->variable))
            continue;
        chosen = way;
        if (role >= mcp_way_route(way)->role)
            break;
    }
    return chosen;
}

/* Writes the argument of @way into the path of @req. */
static int fill_path(struct request *req, const struct mcp_way *way, const json_t *arguments,
                     struct mcp_fault *fault)
{
    const json_t *value = way->variable ? json_object_get(arguments, way->variable) : NULL;
    char show[QUERY_SHOW_MAX];

    if (!value)
        return 0;
    if (json_is_integer(value))
        snprintf(req->path_text, sizeof(req->path_text), "%" JSON_INTEGER_FORMAT,
                 json_integer_value(value));
    else if (json_is_string(value))
        span_copy(span_of(json_string_value(value)), req->path_text, sizeof(req->path_text));
    else
        return mcp_fault_set(fault, MCP_INVALID_PARAMS, 200, "the argument '%s' has to be a text",
                             way->variable);
    if (strcmp(way->variable, "pid") != 0 ||
        params_parse_pid(span_of(req->path_text), &req->path_pid))
        return 0;
    return mcp_fault_set(fault, MCP_INVALID_PARAMS, 200,
                         "'%s' is not a process id: it is a number from 1 to 2147483647",
                         query_show(span_of(req->path_text), show));
}

/* Returns the arguments as parameters of the route of @way, with those that the tool sets; owned by
 * the caller. */
static json_t *parameters_of(const struct mcp_tool *tool, const struct mcp_way *way,
                             const json_t *arguments)
{
    json_t *all = json_copy((json_t *)(uintptr_t)arguments);
    param_set of_route = mcp_way_route(way)->params;

    if (way->variable)
        json_object_del(all, way->variable);
    for (size_t i = 0; i < MCP_ARGUMENTS_MAX && tool->set[i].name; i++)
        json_object_set_new(all, tool->set[i].name, json_string(tool->set[i].value));
    for (size_t i = 0; i < MCP_ARGUMENTS_MAX && tool->usual[i].name; i++) {
        if (!json_object_get(all, tool->usual[i].name) && takes(of_route, tool->usual[i].name))
            json_object_set_new(all, tool->usual[i].name, json_string(tool->usual[i].value));
    }
    if (tool->past && !way->variable && !json_object_get(all, "from") &&
        !json_object_get(all, "to") && !json_object_get(all, "at"))
        json_object_set_new(all, "from", json_string(PAST_DEFAULT));
    return all;
}

/* Refuses arguments that the tool takes but the route of @way does not. */
static int check_together(const struct mcp_tool *tool, const struct mcp_way *way,
                          const json_t *arguments, struct mcp_fault *fault)
{
    param_set params = mcp_way_params(tool, way);
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)arguments, name, value)
    {
        if (!takes(params, name) && !(way->variable && strcmp(way->variable, name) == 0))
            return mcp_fault_set(fault, MCP_INVALID_PARAMS, 200,
                                 "the tool %s takes no '%s' with '%s'", tool->name, name,
                                 way->variable ? way->variable : "a target");
    }
    return 0;
}

/* Refuses long captures: the client gives up before they end. */
static bool check_seconds(struct request *req)
{
    struct error err = ERROR_NULL;

    if (req->params.capture.duration_ns <= MCP_SECONDS_MAX * NSEC_PER_SEC)
        return true;
    error_parameter(&err, "seconds", -EINVAL, "a tool samples for %d seconds at most",
                    MCP_SECONDS_MAX);
    error_remedy(&err, "call it again, or use POST /api/v1/captures for a longer capture");
    answer_outcome(&req->answer, -EINVAL, &err, 0);
    return false;
}

static int become(struct request *req, const struct mcp_tool *tool, const struct mcp_way *way,
                  const json_t *arguments, bool *ret_goes_on, struct mcp_fault *fault)
{
    json_auto_t *all = parameters_of(tool, way, arguments);
    struct query q;

    if (body_of_object(all, &q, &fault->err) != 0) {
        fault->code = MCP_INVALID_PARAMS;
        fault->status = 200;
        return -EINVAL;
    }
    req->mcp.tool = tool->name;
    *ret_goes_on = request_become(req, mcp_way_route(way), &q) && check_seconds(req);
    return 0;
}

/* Calls @tool with @given; returns as mcp_tool_call(). */
static int call(struct request *req, const struct mcp_tool *tool, const json_t *given,
                bool *ret_goes_on, struct mcp_fault *fault)
{
    const char *names[NAMES_MAX];
    const struct mcp_way *way;
    int r = check_arguments(tool, given, fault);

    if (r != 0)
        return r;
    way = choose_way(tool, given, req->who.subject.role);
    if (!way) {
        argument_names(tool, names); /* path variables come first */
        return mcp_fault_set(fault, MCP_INVALID_PARAMS, 200,
                             "the tool %s needs the argument '%s' or '%s'", tool->name, names[0],
                             names[1]);
    }
    r = check_together(tool, way, given, fault) ?: fill_path(req, way, given, fault);
    return r == 0 ? become(req, tool, way, given, ret_goes_on, fault) : r;
}

int mcp_tool_call(struct request *req, bool *ret_goes_on, struct mcp_fault *fault)
{
    const char *name = json_string_value(json_object_get(req->mcp.params, "name"));
    const json_t *arguments = json_object_get(req->mcp.params, "arguments");
    json_auto_t *given = given_of(arguments);
    const struct mcp_tool *tool = name ? mcp_tool_find(name) : NULL;
    char show[QUERY_SHOW_MAX];

    if (!name)
        return mcp_fault_set(fault, MCP_INVALID_PARAMS, 200, "params has no name of a tool");
    if (!tool)
        return mcp_fault_set(fault, MCP_INVALID_PARAMS, 200,
                             "there is no tool '%s': tools/list has them",
                             query_show(span_of(name), show));
    if (arguments && !json_is_object(arguments))
        return mcp_fault_set(fault, MCP_INVALID_PARAMS, 200, "arguments has to be an object");
    return call(req, tool, given, ret_goes_on, fault);
}
