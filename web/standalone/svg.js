// SPDX-License-Identifier: Apache-2.0
// Zoom and search inside a flame graph in svg, as FlameGraph's pictures have them: a click on a frame zooms, Reset
// Zoom goes back, Search (Ctrl+F) asks for a regular expression. What is looked at stands in the address.

const SVG_TEXT_LEFT = 3;
const SVG_CELL = 7.3; // of a character
const SVG_EPSILON = 0.02; // pixels by which edges that are the same may differ
const SVG_MATCH = "#f96cdf";
const MATCH_NARROWEST = 0.05; // pixels that a match must add to count

class SvgGraph {
    constructor(root) {
        this.root = root;
        this.part = (id) => root.getElementById(id);
        this.frames = [...this.part("frames").querySelectorAll("g")].map((g, i) => this.frameOf(g, i));
        this.numbers = new Map(this.frames.map((f) => [f.g, f]));
        this.zoomed = this.frames[0] || null;
        this.search = "";
    }

    frameOf(g, number) {
        const rect = g.querySelector("rect");
        const title = g.querySelector("title").textContent;
        const at = title.lastIndexOf(" (");

        return {
            g, rect, number, title, name: at > 0 ? title.slice(0, at) : title, label: g.querySelector("text"),
            x: Number(rect.getAttribute("x")), w: Number(rect.getAttribute("width")),
            y: Number(rect.getAttribute("y")), fill: rect.getAttribute("fill"),
        };
    }

    start() {
        const frames = this.part("frames");
        const press = (id, run) => {
            this.part(id).addEventListener("click", run);
            this.part(id).addEventListener("keydown", (event) => {
                if (event.key === "Enter" || event.key === " ")
                    run();
            });
        };

        frames.addEventListener("click", (event) => this.clicked(event));
        frames.addEventListener("mouseover", (event) => this.pointed(event));
        frames.addEventListener("mouseout", () => this.say("details", " "));
        press("unzoom", () => this.unzoom());
        press("search", () => this.searchPressed());
        addEventListener("keydown", (event) => this.keyed(event));
        addEventListener("hashchange", () => this.readAddress());
        this.readAddress();
    }

    say(id, text) {
        this.part(id).textContent = text;
    }

    // ---- zoom ----

    // Whether @f lies between the zoomed frame and the root: it stands above all of what is shown then.
    isBelow(f, zoomed) {
        return Math.abs(f.y - this.frames[0].y) <= Math.abs(zoomed.y - this.frames[0].y) &&
            f.x <= zoomed.x + SVG_EPSILON && f.x + f.w >= zoomed.x + zoomed.w - SVG_EPSILON;
    }

    zoom(zoomed) {
        const all = this.frames[0];
        const scale = all.w / zoomed.w;

        this.zoomed = zoomed;
        for (const f of this.frames) {
            if (this.isBelow(f, zoomed)) {
                f.g.classList.toggle("parent", f !== zoomed);
                this.place(f, all.x, all.w);
            } else if (f.x >= zoomed.x - SVG_EPSILON && f.x + f.w <= zoomed.x + zoomed.w + SVG_EPSILON) {
                f.g.classList.remove("parent");
                this.place(f, all.x + (f.x - zoomed.x) * scale, f.w * scale);
            } else {
                f.g.style.display = "none";
            }
        }
        this.part("unzoom").style.display = zoomed === all ? "" : "inline";
        this.writeAddress();
    }

    unzoom() {
        this.zoom(this.frames[0]);
    }

    place(f, x, w) {
        f.g.style.display = "";
        f.rect.setAttribute("x", x.toFixed(3));
        f.rect.setAttribute("width", w.toFixed(3));
        this.label(f, x, w);
    }

    // As much of the name as fits.
    label(f, x, w) {
        const fits = Math.floor((w - 2 * SVG_TEXT_LEFT) / SVG_CELL);

        if (fits < 3) {
            if (f.label)
                f.label.textContent = "";
            return;
        }
        if (!f.label) {
            f.label = document.createElementNS("http://www.w3.org/2000/svg", "text");
            f.label.setAttribute("y", f.y + 11.5);
            f.g.append(f.label);
        }
        const letters = [...f.name];

        f.label.setAttribute("x", (x + SVG_TEXT_LEFT).toFixed(1));
        f.label.textContent = letters.length <= fits ? f.name : letters.slice(0, fits - 2).join("") + "..";
    }

    // ---- search ----

    searchPressed() {
        if (this.search)
            this.find("");
        else
            this.ask();
    }

    ask() {
        const text = prompt("Enter a search term (regular expressions allowed, such as: ^java\\.util\\.)", this.search);

        if (text !== null)
            this.find(text);
    }

    // Lower case finds both cases; what is no regular expression is searched as it stands.
    find(text) {
        const flags = text === text.toLowerCase() ? "iu" : "u";
        let regex = null;

        try {
            regex = text && new RegExp(text, flags);
        } catch {
            regex = new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), flags);
        }
        this.search = text;
        const matches = this.frames.filter((f) => {
            const isMatch = Boolean(regex) && f !== this.frames[0] && regex.test(f.name);

            f.rect.setAttribute("fill", isMatch ? SVG_MATCH : f.fill);
            return isMatch;
        });

        this.say("search", regex ? "Reset Search" : "Search");
        this.say("matched", regex ? `Matched: ${(100 * this.share(matches)).toFixed(1)}%` : " ");
        this.writeAddress();
    }

    // What the matches are of the whole, each part of it counted once.
    share(matches) {
        const sorted = [...matches].sort((a, b) => a.x - b.x || b.w - a.w);
        let covered = 0, end = -Infinity;

        for (const { x, w } of sorted) {
            const more = x + w - Math.max(x, end);

            if (more > MATCH_NARROWEST) {
                covered += more;
                end = x + w;
            }
        }
        return Math.min(1, covered / this.frames[0].w);
    }

    // ---- events ----

    frameUnder(event) {
        return this.numbers.get(event.target.closest("g"));
    }

    clicked(event) {
        const f = this.frameUnder(event);

        if (f)
            this.zoom(f);
    }

    pointed(event) {
        const f = this.frameUnder(event);

        if (f)
            this.say("details", f.title);
    }

    keyed(event) {
        if (event.key === "F3" || ((event.ctrlKey || event.metaKey) && event.key === "f"))
            this.ask();
        else if (event.key === "Escape" && this.zoomed !== this.frames[0])
            this.unzoom();
        else
            return;
        event.preventDefault();
    }

    // ---- address ----

    readAddress() {
        const params = new URLSearchParams(location.hash.slice(1));
        const zoomed = this.frames[Number(params.get("z"))] || this.frames[0];

        if (zoomed && zoomed !== this.zoomed)
            this.zoom(zoomed);
        if ((params.get("s") || "") !== this.search)
            this.find(params.get("s") || "");
    }

    writeAddress() {
        const params = new URLSearchParams();

        if (this.zoomed && this.zoomed.number)
            params.set("z", this.zoomed.number);
        if (this.search)
            params.set("s", this.search);
        try {
            history.replaceState(null, "", `${params}` ? "#" + params : location.pathname + location.search);
        } catch {
            // a sandboxed picture has no address of its own
        }
    }
}

new SvgGraph(document.documentElement).start();
