// SPDX-License-Identifier: Apache-2.0
// Who one is and what one may, at the right of the bar; who came by a cookie can log out.

import { getJson, postJson } from "./api.js";
import { element } from "../shared/dom.js";

const SEES = { all: "the whole node", own: "your own processes", match: "a part of the node", nothing: "nothing" };
const SEES_SHORT = { all: "sees everything", own: "sees own processes", match: "sees a part", nothing: "sees nothing" };
const MAY = {
    health: "see whether flamed is well", view: "look at JVMs and profiles", profile: "take profiles",
    attach: "take profiles, also by the agent", manage: "do everything",
};

export function describeWho({ subject, role, sees, match, session, limit, remedy }) {
    const name = subject === "user 0" ? "root" : subject;
    const more = limit ? ` To do everything, ${remedy}.` : "";

    return {
        text: `${name} · ${SEES_SHORT[sees] || sees}`,
        title: `You are ${name}${session ? ", logged in with this browser" : ""}. You see ${match || SEES[sees] || sees}, and may ${MAY[role] || role}.${more}`,
    };
}

export class WhoAmI {
    constructor(banner) {
        this.banner = banner;
        this.text = element("span", { class: "who quiet" });
        this.button = element("button", { type: "button", class: "tool", hidden: true, title: "End the session of this browser",
            onclick: () => this.logOut() }, "Log out");
        this.nodes = [this.text, this.button];
    }

    // What an older flamed, or one that is away, does not say is not shown.
    async start() {
        const who = await getJson("api/v1/whoami").catch(() => null);

        if (!who)
            return;
        const { text, title } = describeWho(who);

        this.text.textContent = text;
        this.text.title = title;
        this.button.hidden = !who.session;
    }

    async logOut() {
        try {
            await postJson("logout");
            location.reload();
        } catch (error) {
            this.banner.show([error.message, error.remedy].filter(Boolean).join(". "));
        }
    }
}
