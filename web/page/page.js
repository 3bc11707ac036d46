// SPDX-License-Identifier: Apache-2.0
// The page at /: one bar at the top, below it what the address names.

import { KEYS, helpDialog } from "../viewer/bars.js";
import { ClockSwitch } from "./clockswitch.js";
import { CompareView } from "./compare.js";
import { element } from "../shared/dom.js";
import { HealthView } from "./health.js";
import { CaptureView, CapturesView } from "./captureview.js";
import { JvmView } from "./jvm.js";
import { closeMenu } from "../shared/menu.js";
import { NodeView } from "./node.js";
import { Banner, emptyState } from "./notice.js";
import { formatRoute, parseRoute } from "./route.js";
import { ThemeSwitch } from "../shared/theme.js";
import { WhoAmI } from "./whoami.js";

const PAGE_KEYS = [
    ["1 2 3 4", "JVMs, captures, compare, health"],
    ["/", "filter the JVMs, or search the frames"],
    ["j k", "next and previous JVM; Enter opens it"],
    ["l", "live: follow what happens now"],
    ["g", "go to what shows the worst signal"],
    ["x", "start a capture"],
    ["o", "top: the hottest methods of now"],
    ["u", "threads over time, by pool"],
    ["e", "heat map: the samples by moment, to choose some"],
    ["w", "captures of this JVM"],
    ["b", "compare: before and after side by side"],
    ["← →", "on the timeline: move the range, with Shift its length"],
];

const PAGE_QUESTIONS = [
    ["What is slow now?", "Click the JVM: its widest frames at the top of the graph are where CPU time goes."],
    ["What do threads wait for?", "Open the JVM, and choose Waiting before Search; or Threads, over time. Which locks, and who has them: Locks."],
    ["Is something wrong?", "Signals in the list, and the line above the timeline of a JVM."],
    ["What happened at 03:12?", "Open the JVM, running or ended, choose 1 day beside the timeline, and drag over the moment."],
    ["What changed?", "Changes, of a JVM or a service: only what is significant. Compare … for any two times."],
    ["Why does memory grow?", "Memory, then one of its three questions."],
    ["Which endpoint costs what?", "Capture … with By request, where a tracer runs in the JVM."],
    ["What did this trace do?", "In such a capture, give its id and press Enter: running and waiting, on one line of time."],
];

const VIEWS = {
    "": (app, { params }) => new NodeView(app, params),
    jvm: (app, { argument, params }) => new JvmView(app, argument, params),
    service: (app, { argument, params }) => new JvmView(app, argument, params, { service: true }),
    capture: (app, { argument, params }) => new CaptureView(app, argument, params),
    captures: (app) => new CapturesView(app),
    compare: (app, { params }) => new CompareView(app, params),
    health: (app) => new HealthView(app),
};

const NAV = [["", "JVMs", ["", "jvm", "service"]], ["captures", "Captures", ["captures", "capture"]],
    ["compare", "Compare", ["compare"]], ["health", "Health", ["health"]]];

class App {
    constructor() {
        this.banner = new Banner();
        this.help = helpDialog([...PAGE_KEYS, ...KEYS.filter(([key]) => key !== "/")], PAGE_QUESTIONS);
        this.themeSwitch = new ThemeSwitch((theme) => this.setTheme(theme));
        this.clockSwitch = new ClockSwitch(() => this.show());
        this.whoAmI = new WhoAmI(this.banner);
        this.crumbs = element("h1", { class: "crumbs" });
        this.links = NAV.map(([view, label]) => element("a", { class: "nav-link", href: formatRoute(view) }, label));
        this.main = element("main", { tabindex: "-1" });
        document.body.append(element("header", { class: "bar top" }, this.crumbs, ...this.whoAmI.nodes,
            element("nav", { class: "nav", "aria-label": "Views" }, ...this.links),
            element("div", { class: "tools" }, this.clockSwitch.root, this.themeSwitch.root, element("button", {
                type: "button", class: "tool", title: "Help (?)", onclick: () => this.help.showModal(),
            }, "Help"))), this.banner.root, this.main, this.help);
    }

    start() {
        this.themeSwitch.start();
        this.whoAmI.start();
        addEventListener("hashchange", () => this.show());
        addEventListener("keydown", (event) => this.keyed(event));
        this.show();
    }

    setTheme(theme) {
        this.theme = theme;
        if (this.view)
            this.view.setTheme(theme);
    }

    show() {
        this.address = location.hash;
        const route = parseRoute(this.address), isElsewhere = Boolean(this.route);
        const make = VIEWS[route.view];

        closeMenu({ refocus: false });
        if (this.view)
            this.view.stop();
        this.banner.clear();
        this.route = route;
        this.view = make ? make(this, route) : null;
        this.main.replaceChildren(this.view ? this.view.root
            : emptyState("There is nothing at this address.", "The link may be of another version of flamed.",
                element("a", { class: "tool", href: "#/" }, "All JVMs")));
        this.links.forEach((link, i) => {
            if (NAV[i][2].includes(route.view))
                link.setAttribute("aria-current", "page");
            else
                link.removeAttribute("aria-current");
        });
        if (!this.view)
            this.setCrumbs([]);
        else
            this.view.start();
        if (isElsewhere && document.activeElement === document.body)
            this.main.focus({ preventScroll: true }); // the link that led here is gone
    }

    // ---- what views ask for ----

    // @list: {text, title, href} from the outside in; null is passed over. The last one is where one is.
    setCrumbs(list) {
        const host = location.host.replace(/^[0-9a-f]{32}\.(?=localhost\b)/, ""); // the name of a login says nothing
        const all = [{ text: host ? `flamed ${host}` : "flamed", href: "#/" }, ...list.filter(Boolean)];
        const key = JSON.stringify(all);

        if (key === this.crumbsKey)
            return;
        this.crumbsKey = key;
        const focused = [...this.crumbs.children].indexOf(document.activeElement); // it keeps the focus when a name comes late

        this.crumbs.replaceChildren(...all.flatMap(({ text, title, href }, i) => {
            const isLast = i === all.length - 1;
            const node = href && !isLast ? element("a", { href, title }, text) : element("span", { title: title || text }, text);

            return i ? [element("span", { class: "crumb-gap", "aria-hidden": "true" }, "›"), node] : [node];
        }));
        if (focused >= 0 && this.crumbs.children[focused])
            this.crumbs.children[focused].focus();
        document.title = [...all].reverse().map(({ text }) => text).join(" · ");
    }

    replaceParams(params) {
        this.writeAddress(params, "replaceState");
    }

    pushParams(params) {
        this.writeAddress(params, "pushState");
    }

    writeAddress(params, how) {
        const hash = formatRoute(this.route.view, this.route.argument, params);

        if (location.hash !== this.address) // one has gone elsewhere, and show() comes next
            return;
        if (hash !== location.hash && (location.hash || hash !== "#/"))
            history[how](null, "", hash);
        this.address = location.hash;
    }

    // ---- keys ----

    keyed(event) {
        if (this.help.open || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey)
            return;
        if (this.view && this.view.keyed(event))
            return;
        if (event.target.closest("input, select, textarea, .menu"))
            return;
        const view = NAV[Number(event.key) - 1];

        if (event.key === "?")
            this.help.showModal();
        else if (event.key === "d")
            this.themeSwitch.toggle();
        else if (view)
            location.hash = formatRoute(view[0]);
        else if (event.key === "Escape" && this.route.view)
            location.hash = "#/";
        else
            return;
        event.preventDefault();
    }
}

new App().start();
