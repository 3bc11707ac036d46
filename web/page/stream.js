// SPDX-License-Identifier: Apache-2.0
// Server-sent events, read by fetch: what went wrong comes as a sentence, which EventSource keeps to itself.

import { ApiError, isAbort, openAnswer } from "./api.js";

const RETRY_SECONDS = 2;
const QUIET_MS = 60000; // flamed writes at least as often as its largest interval

// Calls event(name, data) for each event in what @reader gives, until it ends. heard(): something came.
export async function readEvents(reader, event, heard = () => {}) {
    const decoder = new TextDecoder();
    let rest = "";

    for (;;) {
        const { value, done } = await reader.read();

        if (done)
            return;
        heard();
        const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");

        rest = blocks.pop();
        for (const block of blocks) {
            let name = "message", data = "";

            for (const line of block.split("\n")) {
                if (line.startsWith("event: "))
                    name = line.slice(7);
                else if (line.startsWith("data: "))
                    data += line.slice(6);
            }
            if (data)
                event(name, JSON.parse(data));
        }
    }
}

// Follows @url, not while the page is hidden. @on: {event(name, data), problem(error)}: lost, or could not be opened;
// what may pass is tried again. Returns a function that ends it.
export function follow(url, on) {
    let controller = null, timer = 0, ended = false;
    const close = () => {
        clearTimeout(timer);
        if (controller)
            controller.abort();
        controller = null;
    };
    const open = async () => {
        const mine = controller = new AbortController();
        let deadline = 0, isQuiet = false;
        const heard = () => {
            clearTimeout(deadline);
            deadline = setTimeout(() => {
                isQuiet = true;
                mine.abort();
            }, QUIET_MS);
        };

        heard();
        try {
            const answer = await openAnswer(url, { signal: mine.signal, headers: { Accept: "text/event-stream" } });

            await readEvents(answer.body.getReader(), (name, data) => !ended && on.event(name, data), heard);
            if (!ended)
                throw new ApiError("The stream has ended");
        } catch (error) {
            if (ended || controller !== mine || (isAbort(error) && !isQuiet))
                return;
            controller = null;
            on.problem(error instanceof ApiError ? error : new ApiError("flamed does not answer"));
            if (!error.status || error.status === 429 || error.status >= 500)
                timer = setTimeout(open, RETRY_SECONDS * 1000);
        } finally {
            clearTimeout(deadline);
        }
    };
    const turn = () => {
        if (document.hidden)
            close();
        else if (!controller)
            open();
    };

    document.addEventListener("visibilitychange", turn);
    turn();
    return () => {
        ended = true;
        document.removeEventListener("visibilitychange", turn);
        close();
    };
}
