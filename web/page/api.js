// SPDX-License-Identifier: Apache-2.0
// What the page asks of flamed. Addresses are relative to the page, so that it works behind a path prefix.

import { learnTime } from "../shared/now.js";

const ANSWER_MS = 60000; // a day of a whole node takes some seconds

// A problem as flamed tells it: a sentence, and what can be done about it.
export class ApiError extends Error {
    constructor(message, { status = 0, remedy = "", parameter = "" } = {}) {
        super(message);
        this.status = status;
        this.remedy = remedy;
        this.parameter = parameter; // that the problem is about
    }
}

// Parameters that are undefined, null or "" are left out; a list gives one for each of its values.
export function apiUrl(path, params = {}) {
    const query = new URLSearchParams();

    for (const [name, value] of Object.entries(params))
        for (const one of Array.isArray(value) ? value : [value])
            if (one !== undefined && one !== null && one !== "")
                query.append(name, one);
    const text = query.toString();

    return text ? path + "?" + text : path;
}

async function problemOf(response) {
    const text = await response.text();

    try {
        const problem = JSON.parse(text);

        return new ApiError(problem.detail || problem.title || response.statusText,
            { status: response.status, remedy: problem.remedy || "", parameter: problem.parameter || "" });
    } catch {
        return new ApiError(`flamed answered ${response.status} ${response.statusText}`, { status: response.status });
    }
}

// The answer itself, when it is a good one.
export async function openAnswer(url, options) {
    let response;

    try {
        response = await fetch(url, { cache: "no-store", ...options });
    } catch (error) {
        if (error.name === "AbortError")
            throw error;
        throw away();
    }
    learnTime(response.headers.get("Date"));
    if (!response.ok)
        throw await problemOf(response);
    return response;
}

const away = () => new ApiError("flamed does not answer", { remedy: "Is it still running? See systemctl status flamed." });

// Gives what @read makes of the answer. It has to come whole within ANSWER_MS.
async function getWhole(url, signal, read) {
    const deadline = AbortSignal.timeout(ANSWER_MS);

    try {
        return await read(await openAnswer(url, { signal: signal ? AbortSignal.any([signal, deadline]) : deadline }));
    } catch (error) {
        if (deadline.aborted && !(signal && signal.aborted))
            throw away();
        throw error;
    }
}

export const getJson = (path, params = {}, signal = undefined) => getWhole(apiUrl(path, params), signal, (answer) => answer.json());

export const getText = (path, params = {}, signal = undefined) => getWhole(apiUrl(path, params), signal, (answer) => answer.text());

// /readyz says what is missing with 503: that is an answer too.
export async function getReady(signal) {
    let response;

    try {
        response = await fetch("readyz", { cache: "no-store", signal });
    } catch (error) {
        if (error.name === "AbortError")
            throw error;
        throw new ApiError("flamed does not answer");
    }
    if (response.status !== 200 && response.status !== 503)
        throw await problemOf(response);
    return response.json();
}

export async function postJson(path, body = null) {
    const response = await openAnswer(path, {
        method: "POST", body: body ? JSON.stringify(body) : null,
        headers: body ? { "Content-Type": "application/json" } : {},
    });
    const text = await response.text();

    return text ? JSON.parse(text) : null;
}

export async function deleteAt(path) {
    await openAnswer(path, { method: "DELETE" });
}

export const isAbort = (error) => error.name === "AbortError";

// Calls @run(signal) now and @seconds after it ended, again and again; not while the page is hidden. Returns a
// function that ends it.
export function repeat(seconds, run) {
    let timer = 0, ended = false, running = false, controller = null;
    const turn = async () => {
        clearTimeout(timer);
        if (ended || running || document.hidden)
            return;
        running = true;
        controller = new AbortController();
        try {
            await run(controller.signal);
        } catch (error) {
            if (!isAbort(error))
                throw error;
        } finally {
            running = false;
            if (!ended)
                timer = setTimeout(turn, seconds * 1000);
        }
    };

    document.addEventListener("visibilitychange", turn);
    turn();
    return () => {
        ended = true;
        clearTimeout(timer);
        document.removeEventListener("visibilitychange", turn);
        if (controller)
            controller.abort();
    };
}
