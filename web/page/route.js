// SPDX-License-Identifier: Apache-2.0
// Where one is in the page, as the fragment of the address: "#/jvm/4242?from=…&to=…". What a view shows is in the
// parameters, so that a link shows the same.

export function parseRoute(fragment) {
    const text = fragment.replace(/^#\/?/, "");
    const question = text.indexOf("?");
    const path = question < 0 ? text : text.slice(0, question);
    const [view = "", argument = ""] = path.split("/").map(decoded);

    return { view, argument, params: new URLSearchParams(question < 0 ? "" : text.slice(question + 1)) };
}

function decoded(part) {
    try {
        return decodeURIComponent(part);
    } catch {
        return part;
    }
}

// @params: an object or URLSearchParams; empty values are left out.
export function formatRoute(view, argument = "", params = {}) {
    const query = new URLSearchParams();
    const path = "#/" + view + (argument !== "" ? "/" + encodeURIComponent(argument) : "");

    for (const [name, value] of params instanceof URLSearchParams ? params : Object.entries(params))
        if (value !== undefined && value !== null && value !== "")
            query.append(name, value);
    const text = query.toString();

    return text ? path + "?" + text : path;
}
