// SPDX-License-Identifier: Apache-2.0
// A stand-in for flamed that answers as its API is described, out of a made-up world that a test shapes. That has many
// JVMs, hostile names, JVMs that die, captures that run. Serves the page as the program carries it.
// By hand: node fake_server.mjs [PORT], the page put together from web/.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { KINDS } from "../../web/shared/kinds.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const CATEGORIES = ["java", "interpreter", "jit", "gc", "vm", "native", "kernel"];
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

let madeFiles = null;

// {path: {type, body, packed}} as cmake puts them together, once.
export function pageFiles() {
    return madeFiles || (madeFiles = makePageFiles());
}

function makePageFiles() {
    const folder = mkdtempSync(join(tmpdir(), "flamed-page-"));
    const out = join(folder, "page.c");

    execFileSync("cmake", ["-D", `WEB=${join(root, "web")}`, "-D", `OUT=${out}`, "-D", "GZIP=gzip", "-P",
        join(root, "cmake/page.cmake")]);
    const files = {};

    for (const [, path, type, number] of readFileSync(out, "utf8").matchAll(/\{ "([^"]+)", "([^"]+)", &page_plain_(\d)/g))
        files[path] = { type, body: readFileSync(`${out}.${number}`), packed: readFileSync(`${out}.${number}.gz`) };
    if (!files["/"])
        throw new Error("page.cmake made no page that this can read");
    rmSync(folder, { recursive: true });
    return files;
}

// A number that is the same for the same seeds, 0 to 1.
function noise(...seeds) {
    let h = 2166136261;

    for (const seed of seeds)
        for (const c of String(seed))
            h = Math.imul(h ^ c.charCodeAt(0), 16777619);
    h ^= h >>> 13;
    h = Math.imul(h, 0x5bd1e995);
    return ((h ^ h >>> 15) >>> 0) / 2 ** 32;
}

const iso = (ms) => new Date(ms).toISOString().replace("Z", "000000Z");

export function makeJvm(pid, more = {}) {
    return {
        pid, nspid: [pid], start_time: iso(Date.parse("2026-11-21T00:00:00Z") + pid * 1000), uid: 1000, main: "com.acme.shop.Application",
        args: "--port 8080", java_version: "17.0.13", vm_name: "OpenJDK 64-Bit Server VM", container: null, pod: null,
        cgroup: "/", cpu_percent: 12.5, rss: 512 * 2 ** 20, allocated_bytes_per_second: 42 * 2 ** 20, threads: 42, frame_pointers: false, debug_non_safepoints: false,
        attach_disabled: false, service: { name: (more.main || "com.acme.shop.Application").replace(/^.*[./]/, ""), version: "", source: "main" }, profilable: { symbols: "memory", reason: "names are read from the JVM's own memory" }, ...more,
    };
}

export function usualJvms() {
    const pod = (name, namespace = "shop") => ({ pod: { uid: "0d9e", name, namespace },
        container: { id: "8f3ac01d29b74be1", runtime: "containerd", name: null } });

    return [
        makeJvm(4242, { cpu_percent: 134.2, ...pod("orders-6f7c9d5b8-x2lqp") }),
        makeJvm(4311, { main: "com.acme.shop.billing.BillingService", cpu_percent: 41.7, rss: 1.4 * 2 ** 30, threads: 118,
            java_version: "25.0.1", ...pod("billing-5d88f7b6c9-9k4zt") }),
        makeJvm(5120, { main: "/opt/kafka/libs/kafka.jar", cpu_percent: 22.9, rss: 3.1 * 2 ** 30, threads: 96, java_version: "11.0.25",
            container: { id: "c71d99ab34ee", runtime: "docker", name: "kafka-broker" } }),
        makeJvm(6001, { main: "org.elasticsearch.bootstrap.Elasticsearch", cpu_percent: 8.3, rss: 7.8 * 2 ** 30, threads: 204,
            java_version: "21.0.5" }),
        makeJvm(6550, { main: "org.gradle.launcher.daemon.bootstrap.GradleDaemon", cpu_percent: 0.1, threads: 31 }),
        makeJvm(7007, { main: "", cpu_percent: 3.4, java_version: "", vm_name: "Eclipse OpenJ9 VM",
            profilable: { symbols: "none", reason: "this is OpenJ9: only HotSpot JVMs can be read; use event=cpu with symbols=perfmap" } }),
    ];
}

// What can be sampled: no hardware event, as on a virtual machine.
function eventsHere() {
    const event = (name, description, unit, more = {}) => ({ name, description, unit, default_hz: unit === "nanoseconds" ? 99 : 0, cost: "2 to 10 us a sample", available: true, reason: "", ...more });

    return [event("cpu", "CPU time", "nanoseconds"), event("wall", "All of each thread's time", "nanoseconds"), event("lock", "Waits for locks", "nanoseconds"),
        event("alloc", "Allocation", "bytes"), event("live", "Objects that stay", "bytes"), event("nativemem", "Native memory", "bytes"),
        event("safepoint", "Time to safepoint", "nanoseconds", { available: false, reason: "the kernel has no probes here" }),
        event("context-switches", "A thread leaves the CPU", "count"),
        event("page-faults", "Page faults", "count", { available: false, reason: "the kernel has no such event here" }),
        ...["cycles", "LLC-loads"].map((name) => event(name, "of the processor", "count", { available: false, reason: "cannot open it on CPU 0" }))];
}

// The same profile with a frame for each operation at the root, in place of the threads. @of: those whose name matches.
export function groupByRequest(profile, of) {
    const names = ["[GET /orders/{id}]", "[POST /orders]", "[no request]"], base = profile.frames.length;
    const stacks = profile.stacks.map((s, i) => ({ ...s, frames: [base + i % 3, ...s.frames.filter((f) => profile.frames[f].kind !== "thread")] }))
        .filter(({ frames: [f] }) => !of || (f - base < 2 && new RegExp(of).test(names[f - base].slice(1, -1))));

    return { ...profile, frames: [...profile.frames, ...names.map((name) => ({ name, kind: "request" }))], stacks };
}

// Two requests in the requests format, or the one of @trace.
export function singleRequests(trace) {
    const ms = 1e6, stretch = (at, ns, state, wait, frame) => ({ at_ns: at * ms, ns: ns * ms, event: state === "running" ? "cpu" : "offcpu", state, ...wait && { wait }, span: "00f067aa0ba902b7", samples: 3, frames: [0, frame] });
    const requests = [
        { trace: "4bf92f3577b34da6a3ce929d0e0e4736", operation: "GET /orders/{id}", start_unix_ns: 1764230000e9, ns: 240 * ms, threads: [
            { tid: 4301, pid: 4242, name: "http-worker-1", process: "Application", stretches: [stretch(0, 30, "running", "", 1), stretch(30, 190, "blocked", "network", 2), stretch(220, 20, "running", "", 1)] },
            { tid: 4302, pid: 4242, name: "db-pool-3", process: "Application", stretches: [stretch(40, 150, "blocked", "lock", 2)] }] },
        { trace: "00f067aa0ba902b74bf92f3577b34da6", operation: "POST /orders", start_unix_ns: 1764230001e9, ns: 10 * ms, threads: [
            { tid: 4303, pid: 4242, name: "http-worker-2", process: "Application", stretches: [stretch(0, 10, "running", "", 1)] }] }];

    return { format: "flamed-requests", version: 1, frames: ["java.lang.Thread.run", "com.acme.shop.PriceTable.lookup", "[network]"], requests: requests.filter((one) => !trace || one.trace === trace),
        left_out: { requests: 0, samples: 0 } };
}

// The heatmap format of a profile in the json format: a page that carries its data. Its samples are spread evenly, or, as those of the
// history, at the begins of parts of @json.partMs.
export function heatPage(json) {
    const strings = [""], frames = [], rows = [], values = [], samples = [];
    const number = (text) => (strings.includes(text) ? strings.indexOf(text) : strings.push(text) - 1);

    for (const { name, kind, module = "" } of json.frames)
        frames.push(number(name), KINDS.findIndex(({ id }) => id === kind), number(module), 0, 0);
    json.stacks.forEach(({ frames: stack, samples: count, value }, row) => {
        rows.push(0, stack.length, ...stack, count);
        values.push(value);
        for (let i = 0; i < count; i++)
            samples.push([Math.round((i + noise(row, i)) / count * json.meta.seconds * 1000), row].map((n, k) => (k || !json.partMs ? n : n - n % json.partMs)));
    });
    samples.sort((a, b) => a[0] - b[0]);
    const times = samples.flatMap(([ms, row], i) => [ms - (i ? samples[i - 1][0] : 0), row]);
    const data = { format: "flamed-viewer", version: 1, view: {}, meta: json.meta, quality: json.quality, warnings: json.warnings, strings, frames, rows, values, moments: [], times };

    return `<!doctype html><script type="application/json" id="profile">${JSON.stringify(data).replaceAll("<", "\\u003c")}</script>`;
}

// A start as flamed works it out from two clocks: never quite the same twice.
const jittered = (jvm) => ({ ...jvm, start_time: jvm.start_time.replace(/\d{6}Z$/, String(Math.random()).slice(2, 8).padEnd(6, "0") + "Z") });

const BYTES = ["alloc", "live"], WAITS = ["wall", "offcpu", "lock"]; // events whose samples have values

// A profile in the json format. @shape: how much of it PriceTable.lookup takes.
export function makeProfile({ pid, name = "com.acme.shop.Application", shape = 1, seconds = 60, event = "cpu", threads = true, id = "" }) {
    const frames = [], numbers = new Map(), stacks = [], named = ["http-worker-1", "http-worker-2", "http-worker-3"].map((one, i) => ({ tid: 4301 + i, process: 0, name: one }));
    const frame = (kind, text, module = "", file = "", line = 0) => {
        const key = kind + text + line;

        if (!numbers.has(key)) {
            numbers.set(key, frames.length);
            frames.push({ name: text, kind, ...(module && { module }), ...(file && { file }), ...(line && { line }) });
        }
        return numbers.get(key);
    };
    const isBytes = BYTES.includes(event), isValued = isBytes || WAITS.includes(event), period = isBytes ? 524288 : isValued ? 1e7 : 10101010;
    let samples = 0, sum = 0;
    const add = (count, thread, ...list) => {
        const stack = list.map((f) => frame(...f));

        count = Math.round(count * seconds / 60);
        if (!count)
            return;
        if (threads)
            stack.unshift(frame("thread", thread));
        const value = count * period * (isValued && list.at(-1)[1] === "java.util.HashMap.getNode" ? 4 : 1);

        stacks.push({ frames: stack, samples: count, value, ...threads && { thread: named.findIndex((one) => thread.startsWith(`[${one.name} `)) }, ...WAITS.includes(event) && { state: "running" } });
        samples += count;
        sum += value;
    };
    const base = [["native", "start_thread", "libc.so.6"], ["jvm", "JavaThread::run()", "libjvm.so"],
        ["interpreted", "java.lang.Thread.run", "", "Thread.java", 840],
        ["c1", "java.util.concurrent.ThreadPoolExecutor.runWorker", "", "ThreadPoolExecutor.java", 1136]];
    const list = [...base, ["c2", "com.acme.shop.web.OrderController.list", "", "OrderController.java", 58]];

    for (const [i, thread] of ["[http-worker-1 tid=4301]", "[http-worker-2 tid=4302]", "[http-worker-3 tid=4303]"].entries()) {
        add(120 * shape, thread, ...list, ["c2", "com.acme.shop.PriceTable.lookup", "", "PriceTable.java", 77], ["inlined", "java.util.HashMap.getNode", "", "HashMap.java", 580]);
        add(60, thread, ...list, ["c2", "com.acme.shop.db.OrderStore.load", "", "OrderStore.java", 31], ["stub", "jlong_disjoint_arraycopy"]);
        add(44 + 7 * i, thread, ...list, ["c2", "com.acme.shop.json.JsonWriter.write", "", "JsonWriter.java", 120], ["inlined", "java.lang.StringBuilder.append", "", "StringBuilder.java", 173]);
        add(26, thread, ...list, ["native", "Java_sun_nio_ch_FileDispatcherImpl_write0", "libnio.so"], ["native", "write", "libc.so.6"],
            ["kernel", "entry_SYSCALL_64_after_hwframe"], ["kernel", "do_syscall_64"], ["kernel", "tcp_sendmsg"]);
        add(18, thread, ...base, ["interpreted", "com.acme.shop.web.Login.check", "", "Login.java", 12], ["unknown", "[unknown]"]);
    }
    add(70, "[C2 CompilerThread0 tid=4310]", base[0], ["jvm", "CompileBroker::compiler_thread_loop()", "libjvm.so"], ["jvm", "PhaseChaitin::Register_Allocate()", "libjvm.so"]);
    add(52, "[G1 Young RemSet Sampling tid=4305]", base[0], ["jvm", "WorkerThread::run()", "libjvm.so"], ["jvm", "G1ParScanThreadState::trim_queue()", "libjvm.so"]);
    return {
        format: "flamed-profile", version: 1,
        meta: { title: `${event} · ${name} (pid ${pid})`, event, unit: isBytes ? "bytes" : "nanoseconds", period,
            hz: isBytes ? null : 99, weight: isValued ? "value" : "samples", stock: event === "live", value: sum, start: iso(Date.now() - seconds * 1000), end: iso(Date.now()), seconds, target: `pid=${pid}`,
            symbols: { source: "memory", reason: "names are read from the JVM's own memory" }, flamed: "0.1.0", id },
        quality: { samples, lost: 0, unknown: Math.round(samples * 0.02), truncated: 0 }, warnings: [], processes: [{ pid, name }], threads: threads ? named : [],
        frames, stacks,
    };
}

// Threads that wait for monitors of @classes by turns, in the json format, as the flight recorder has them. @times: how much longer than
// usual.
export function lockProfile(times = 1, classes = ["com.acme.shop.PriceTable"]) {
    const base = makeProfile({ pid: 4242, event: "lock" });
    const frames = [...base.frames, { name: "[monitor]", kind: "lock" }, ...classes.map((name) => ({ name, kind: "lock" }))], n = base.frames.length;
    const stacks = base.stacks.slice(0, 6).map((s, i) => ({ ...s, value: s.value * times, state: "blocked", wait: "lock", frames: [...s.frames, n, n + 1 + i % classes.length], owner: `http-worker-${i % 2 + 1}` }));

    return { ...base, frames, stacks, quality: { ...base.quality, samples: stacks.reduce((sum, s) => sum + s.samples, 0) } };
}

// What is left of a profile where idle=0 is asked for.
function withoutIdle(params, profile) {
    const left = params.get("idle") === "0" ? profile.stacks.filter(({ idle }) => idle) : [], sum = (name) => left.reduce((all, one) => all + one[name], 0);

    if (!left.length)
        return profile;
    return { ...profile, stacks: profile.stacks.filter(({ idle }) => !idle), warnings: [`${sum("samples")} samples of threads that waited for work are left out by idle=0`],
        quality: { ...profile.quality, samples: profile.quality.samples - sum("samples"), idle: { samples: sum("samples"), value: sum("value") } } };
}

// What a JVM of 300 MiB has in memory, and had before.
function memoryOf(now) {
    const areas = ["java_heap", "metaspace", "malloc", "files"].map((area, i) => ({ area, description: `what ${area} is`,
        bytes: [200, 60, 40, 0][i] << 20, mapped: 300 << 20, swapped: 0 }));
    const points = [3, 2, 1, 0].map((ago) => ({ time: new Date(now - ago * 5000).toISOString(), rss: 300 << 20,
        bytes: areas.map((a) => a.bytes / (1 + ago)) }));

    return { time: points[3].time, rss: 300 << 20, sum: 300 << 20, areas, java_threads: 12, threads: 20, huge_pages: 0, uncounted: 0, points,
        objects: { time: points[3].time, pages: 256, known: 0.9, classes: [["byte[]", 0.62], ["java.util.LinkedHashMap$Entry", 0.2], ["com.example.shop.Session", 0.05]]
            .map(([name, share]) => ({ class: name, share })) } };
}

// Two minutes of a JVM that allocates 30 to 50 MiB a second and collects every ten.
function historyOf(now) {
    const seconds = Array.from({ length: 121 }, (_, i) => i);
    const allocated = [];

    seconds.forEach((s) => allocated.push((allocated[s - 1] || 2 ** 33) + (40 + Math.round(10 * Math.sin(s / 9))) * 2 ** 20));
    return { time: seconds.map((s) => iso(now - (120 - s) * 1000)), rss: seconds.map((s) => (220 + s * 2 / 3) * 2 ** 20), allocated,
        allocated_time: seconds.map((s) => iso(now - (120 - s) * 1000)),
        heap_used: seconds.map((s) => (90 + s / 3 + s % 30) * 2 ** 20), heap_committed: seconds.map(() => 256 << 20),
        metaspace: seconds.map(() => 60 << 20), code_cache: seconds.map(() => 20 << 20), threads: seconds.map(() => 12),
        threads_started: seconds.map(() => 40), collections: seconds.map((s) => 7 + Math.floor(s / 10)),
        collection_seconds: seconds.map((s) => 1 + Math.floor(s / 10) * 0.02 + Math.floor(s / 50) * 0.05) };
}

export class FakeServer {
    constructor() {
        this.jvms = usualJvms();
        this.captures = [];
        this.reaches = 0; // ms since 1970: before that nothing is known
        this.collected = 0; // collections more than usual
        this.ended = [];
        this.marks = [];
        this.signals = [];
        this.pastSignals = [];
        this.requests = [];
        this.files = pageFiles();
        this.prefix = "";
        this.recorder = true;
        this.isThrottled = false;
        this.waiting = 0; // the pid of one whose threads all wait
        this.lockTimes = 1;
        this.lockClasses = undefined; // the usual one
        this.schedules = [];
        this.triggers = [];
        this.who = { subject: "user 0", known_by: "kernel", via: "TCP", uid: 0, role: "manage", may: ["health", "view", "profile", "attach", "manage"], sees: "all" };
        this.problems = [];
        this.recordsAllocations = false;
        this.timelineWarnings = []; // what limits a timeline
        this.timelineGaps = []; // [{from, to}] in seconds before now: flamed recorded nothing
        this.profile = (options) => makeProfile(options);
    }

    async listen(port = 0) {
        this.server = createServer((request, response) => this.answer(request, response));
        await new Promise((done) => this.server.listen(port, "127.0.0.1", done));
        this.port = this.server.address().port;
        this.url = `http://127.0.0.1:${this.port}${this.prefix}/`;
        return this.url;
    }

    close() {
        this.server.closeAllConnections();
        return new Promise((done) => this.server.close(done));
    }

    // The parameters of the newest request that fits @pattern; waits for the first one. A page's address changes before it asks.
    async asked(pattern) {
        for (const end = Date.now() + 20000; Date.now() < end; await new Promise((done) => setTimeout(done, 20))) {
            const request = this.requests.findLast((one) => pattern.test(one));

            if (request)
                return new URL(request.slice(request.indexOf(" ") + 1), "http://x").searchParams;
        }
        throw new Error(`nothing asked for ${pattern}, but for\n${this.requests.join("\n")}`);
    }

    send(response, status, value, type = "application/json") {
        response.writeHead(status, {
            "Content-Type": type, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": type.startsWith("text/html") ? POLICY : "default-src 'none'; sandbox",
        });
        response.end(Buffer.isBuffer(value) || typeof value === "string" ? value : JSON.stringify(value));
    }

    problem(response, status, detail, remedy, parameter = undefined) {
        this.send(response, status, { type: "urn:flamed:problem", title: "Problem", status, detail, parameter, remedy }, "application/problem+json");
    }

    answer(request, response) {
        const url = new URL(request.url, "http://x");
        let path = url.pathname;
        const params = url.searchParams;

        this.requests.push(request.method + " " + request.url);
        if (!path.startsWith(this.prefix + "/"))
            return this.problem(response, 404, "outside of the prefix");
        path = path.slice(this.prefix.length);
        if (this.files[path])
            return this.send(response, 200, this.files[path].body, this.files[path].type);
        if (path === "/api/v1/jvms")
            return this.send(response, 200, { jvms: this.jvms.map(jittered) });
        if (/^\/api\/v1\/jvms\/\d+\/heap$/.test(path))
            return this.send(response, 200, this.heapAt(Date.now()));
        if (path.startsWith("/api/v1/jvms/"))
            return this.oneJvm(response, Number(path.slice(13)));
        if (path === "/api/v1/timeline")
            return this.timeline(response, params);
        if (path === "/api/v1/services")
            return this.send(response, 200, this.services());
        if (path === "/api/v1/changes")
            return this.send(response, 200, this.changes(params));
        if (path === "/api/v1/words")
            return this.words(response, params);
        if (path === "/api/v1/signals") {
            const isAsked = ({ pid }) => !params.get("pid") || pid === Number(params.get("pid"));

            return this.send(response, 200, { signals: this.signals.filter(isAsked), past: this.pastSignals.filter(isAsked) });
        }
        if (path === "/api/v1/events")
            return this.send(response, 200, { events: eventsHere() });
        if (path === "/profile" || path === "/api/v1/query")
            return this.past(response, params);
        if (path === "/top")
            return this.events(response, (send) => this.repeat(response, 2000, () => send("top", this.topOf(0.4 + Math.random() * 0.2))));
        if (path === "/openapi.json")
            return this.send(response, 200, execFileSync(process.env.FLAMED_OPENAPI));
        if (path === "/readyz")
            return this.send(response, this.problems.some((p) => p.fatal) ? 503 : 200, { status: "ready", problems: this.problems, captures: 0, recorder: { cpu: this.recorder, waits: this.recorder, alloc: this.recordsAllocations } });
        if (path === "/api/v1/whoami")
            return this.send(response, 200, this.who);
        if (path === "/logout" && request.method === "POST") {
            this.who = { ...this.who, subject: "user 1001", known_by: "kernel", role: "profile", sees: "own", session: undefined };
            return this.send(response, 200, {});
        }
        if (path === "/api/v1/schedules")
            return this.send(response, 200, { schedules: this.schedules, triggers: this.triggers });
        if (path === "/metrics")
            return this.send(response, 200, this.metrics(), "text/plain");
        if (path.startsWith("/api/v1/captures"))
            return this.captureRoutes(request, response, path, params);
        return this.problem(response, 404, `there is nothing at '${path}'`);
    }

    heapAt(now) {
        return { resident: memoryOf(now), resident_problem: "", history: { ...historyOf(now), collections: historyOf(now).collections.map((n) => n + this.collected) },
            allocation: { time: iso(now), bytes: 2 ** 34, bytes_per_second: 40 * 2 ** 20, seconds: 2 } };
    }

    oneJvm(response, pid) {
        const jvm = this.jvms.find((j) => j.pid === pid);

        return jvm ? this.send(response, 200, jittered(jvm))
            : this.problem(response, 404, `process ${pid} is no JVM on this node`, "GET /api/v1/jvms lists the JVMs");
    }

    services() {
        const services = new Map();
        const of = (main) => {
            const name = main.replace(/^.*[./]/, "") || "unnamed";

            if (!services.has(name))
                services.set(name, { name, versions: [], environments: [], jvms: [], ended: [], marks: [] });
            return services.get(name);
        };

        for (const { pid, main, start_time, service } of this.jvms)
            of(main).jvms.push({ pid, main, version: (service && service.version) || null, start_time });
        for (const { main, ...mark } of this.marks)
            of(main).marks.push(mark);
        for (const one of this.ended)
            of(one.main).ended.push(one);
        return { services: [...services.values()], ended_left_out: 0 };
    }

    words(response, params) {
        const pid = params.get("pid"), service = params.get("service");

        if (pid && !this.jvms.some((j) => j.pid === Number(pid)))
            return this.problem(response, 404, `there is no process ${pid}`);
        const of = `${pid ? `pid=${pid}` : `service=${service}`}&from=${iso(Date.now() - 300000)}&to=${iso(Date.now())}`;
        const one = (kind, sentence, evidence) => ({ kind, sentence, evidence });

        return this.send(response, 200, { samples: 812, sentences: [
            one("time", "Of the CPU time: 86 % java, 9 % gc; 41 % in com.acme.shop.PriceTable.lookup, and there 38 % in java.util.HashMap.getNode", `/profile?event=cpu&${of}&format=html`),
            one("signal", "gc-pauses: 12 % of 30 s went to collections", `/profile?${of}`),
            one("change", "com.acme.shop.PriceTable.lookup takes 52.5 % in place of 38.0 %", "/api/v1/diff?a=1&b=2"),
            one("sure", "812 samples: a share of 50 % is right within 3.4 points", `/profile?event=cpu&${of}&format=summary`),
        ] });
    }

    changes(params) {
        const one = (kind, name, before, after, q) => ({ kind, name, before, after, difference: after - before, low: (after - before) * 0.8,
            high: (after - before) * 1.2, q, unit: "percent of CPU time", sentence: `${name} takes ${after} % in place of ${before} %.`, diff: "/api/v1/diff" });
        const now = Date.now(), sideOf = (name, [first, last]) => {
            const [from, to] = params.has(name) ? params.get(name).split("..").map((t) => (t === "now" ? now : Date.parse(t))) : [now - first * 1000, now - last * 1000];

            return { from: iso(from), to: iso(to) };
        };
        const ranges = { a: sideOf("a", [3600, 600]), b: sideOf("b", [600, 0]) };
        const changes = (params.get("b") || "").endsWith("..now") ? [] : [one("function", "com.acme.shop.PriceTable.lookup", 38, 52.5, 0.0001), one("category", "gc", 13, 5.5, 0.004)];

        return { changes, sentences: [...changes.map(({ sentence }) => sentence), "Samples cover 4.5 of the 5.0 minutes before, and 5.0 of the 5.0 after"], enough: true, minutes: { a: 4.5, b: 5 },
            samples: { a: 5130, b: 5700 }, needed: { samples: 300, seconds: 45 }, times: params.get("b") ? "asked" : "before", ranges };
    }

    // A JVM that ended so many seconds @ago. @how: the sentence of its signal, "": it has none any more.
    addEnded({ pid, main = "com.acme.shop.Importer", ago = 300, ran = 7200, how = "", version = "1.4.2" }) {
        const end = Date.now() - ago * 1000;

        this.ended.push({ pid, main, version, java_version: "17.0.13", start_time: iso(end - ran * 1000), last_seen: iso(end + 20000) });
        if (how)
            this.signals.push({ signal: "ended", severity: 3, service: "Importer", pid, since: iso(end), value: 9, unit: "status",
                sentence: how, evidence: `/profile?pid=${pid}`, remedy: "its own log says more" });
    }

    // Something that is wrong with a JVM, @ago seconds.
    addSignal({ pid = 4242, signal, severity = 2, ago = 60, sentence, remedy = `see which code allocates (/profile?pid=${pid}&event=alloc)`, evidence }) {
        const jvm = this.jvms.find((j) => j.pid === pid);

        jvm.signals = [...jvm.signals || [], signal];
        this.signals.push({ signal, severity, service: "Application", pid, since: iso(Date.now() - ago * 1000), value: 1, unit: "percent",
            sentence, evidence, remedy });
    }

    // Something that was wrong with a JVM, from @ago until @over seconds ago.
    addPastSignal({ over, times = 1, ...one }) {
        const { signals } = this.jvms.find((j) => j.pid === (one.pid || 4242));

        this.addSignal(one);
        this.jvms.find((j) => j.pid === (one.pid || 4242)).signals = signals;
        this.pastSignals.push({ ...this.signals.pop(), until: iso(Date.now() - over * 1000), times });
    }

    range(params) {
        const now = Date.now();
        const time = (text, missing) => !text ? missing : /^-/.test(text) ? now - parseFloat(text.slice(1)) *
            ({ s: 1000, m: 60000, h: 3600000 }[text.slice(-1)] || 1000) : Date.parse(text);

        return { from: time(params.get("from"), now - 60000), to: time(params.get("to"), now) };
    }

    timeline(response, params) {
        if (!this.recorder)
            return this.problem(response, 503, "the flight recorder is off", "start flamed with --recorder-hz 19");
        const { from, to } = this.range(params);
        const count = Number(params.get("buckets") || 100), seconds = (to - from) / 1000 / count;
        const pids = (params.get("pid") || "").split(",").filter(Boolean).map(Number);
        const jvms = this.jvms.filter((j) => !pids.length || pids.includes(j.pid));
        const byJvm = params.get("by") === "jvm-category";
        const shares = [0.56, 0.07, 0.09, 0.11, 0.03, 0.06, 0.08];
        const line = (category, c, of, pid) => {
            const samples = Array.from({ length: count }, (_, i) => {
                const t = Math.floor((from / 1000 + i * seconds) / 4);

                return of.slice(0, 20).reduce((sum, { pid: p, cpu_percent: cpu }) => sum + Math.round(cpu / 100 * 19 * seconds * shares[c] *
                    (0.6 + 0.6 * noise(p, category, t) + (t % 19 < 3 && c === 3 ? 1.5 : 0)) + noise(p, c, i) * 0.4), 0);
            });

            return { category, pid, total: samples.reduce((sum, n) => sum + n, 0), samples };
        };
        const series = byJvm ? jvms.flatMap((j) => CATEGORIES.map((category, c) => line(category, c, [j], j.pid)))
            : CATEGORIES.map((category, c) => line(category, c, jvms, null));

        return this.send(response, 200, { from: iso(from), to: iso(to), oldest: iso(Date.now() - 4 * 60 * 1000 - 12000),
            bucket_seconds: seconds, hz: 19, series, others: 0, moments: this.stops(pids[0] || 4242, from, to), moments_left_out: 0,
            resolution_seconds: 0, warnings: this.timelineWarnings, marks: [],
            gaps: this.timelineGaps.map((gap) => ({ from: iso(Date.now() - gap.from * 1000), to: iso(Date.now() - gap.to * 1000) })), gaps_left_out: 0 });
    }

    // A collection every 8 seconds, and a second of long safepoints every 40; of a day, sums of minutes.
    stops(pid, from, to) {
        const list = [];

        if (to - from > 3600e3) {
            for (let t = Math.ceil(from / 60e3) * 60e3; t < to; t += 60e3)
                list.push({ kind: "collections", pid, at: iso(t), seconds: 60, stopped_seconds: 0.5 + (t / 60e3) % 10, count: 8 },
                    ...t / 60e3 % 5 ? [] : [{ kind: "throttled", pid, at: iso(t), seconds: 60, stopped_seconds: 12 }]);
            return list;
        }
        for (let t = Math.ceil(from / 8000) * 8000; t < to; t += 8000) {
            list.push({ kind: "gc", pid, at: iso(t), seconds: 0.0125, stopped_seconds: 0.0125, name: "G1 young collection pauses (G1 Evacuation Pause)" });
            if (this.isThrottled)
                list.push({ kind: "throttled", pid, at: iso(t), seconds: 8, stopped_seconds: 9.6 }); // of two processors
            if (t % 40000 === 0)
                list.push({ kind: "safepoints", pid, at: iso(t + 3000), seconds: 1, stopped_seconds: 0.045, count: 3 });
        }
        return list;
    }

    past(response, params) {
        const { from, to } = this.range(params);
        const service = params.get("service");
        const pid = Number(params.get("pid")) || (this.jvms.find(({ main }) => service && main.endsWith(service)) || { pid: 0 }).pid;

        if (pid && ![...this.jvms, ...this.ended].some((j) => j.pid === pid))
            return this.problem(response, 404, `there is no process ${pid}`, "JVMs here: 4242 (Application)");
        const event = params.get("event") || "cpu";

        if (!this.recorder || to < this.reaches || (event === "cpu" && pid && pid === this.waiting))
            return this.problem(response, 404, "no samples of this target are known in that time",
                "the flight recorder is off or empty; GET /api/v1/captures lists what is stored", "from");
        const profile = withoutIdle(params, event === "lock" ? lockProfile(this.lockTimes, this.lockClasses) : this.profile({ pid, seconds: (to - from) / 1000, shape: pid ? 1 : 0.5, event }));

        return params.get("format") === "heatmap" ? this.send(response, 200, heatPage(profile), "text/html") : this.send(response, 200, profile);
    }

    events(response, begin) {
        response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
        begin((name, data) => { response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`); });
    }

    // Calls @step now and every @ms until it is true, or the client left.
    repeat(response, ms, step) {
        if (step())
            return response.end();
        const timer = setInterval(() => step() && (clearInterval(timer), response.end()), ms);

        return response.on("close", () => clearInterval(timer));
    }

    topOf(share) {
        const row = (name, kind, self, total = self) => ({ name, kind, self: self * 100, total: total * 100, self_percent: self * 100, total_percent: total * 100 });

        return { target: "", event: "cpu", hz: 99, seconds: 2, samples: 198, lost: 0, unknown: 0, truncated: 0, functions: [
            row("com.acme.shop.PriceTable.lookup", "c2", share), row("java.util.HashMap.getNode", "inlined", 0.2),
            row("tcp_sendmsg", "kernel", 0.05), row("java.util.concurrent.ThreadPoolExecutor$Worker.runWithin", "interpreted", 0, 0.9),
            row("java.lang.Thread.run", "interpreted", 0, 0.9)] };
    }

    captureStream(response, capture) {
        this.events(response, (send) => this.repeat(response, 300, () => {
            this.advance();
            send(capture.state === "running" ? "progress" : "done", capture);
            if (capture.state !== "running")
                return true;
            send("top", this.topOf(0.5));
            return false;
        }));
    }

    captureRoutes(request, response, path, params) {
        const [, , , , id, action] = path.split("/");
        const capture = this.captures.find((c) => c.id === id);

        this.advance();
        if (!id && request.method === "GET") {
            const pid = Number(params.get("pid"));
            const list = this.captures.filter((c) => !pid || c.processes.some((p) => p.pid === pid));
            const at = Number(params.get("cursor") || 0), limit = Number(params.get("limit") || 100);

            return this.send(response, 200, { captures: list.slice(at, at + limit), next: at + limit < list.length ? String(at + limit) : null });
        }
        if (!id) {
            let text = "";

            request.on("data", (data) => { text += data; });
            request.on("end", () => this.create(response, JSON.parse(text)));
            return undefined;
        }
        if (!capture)
            return this.problem(response, 404, `there is no capture '${id}'`, "GET /api/v1/captures lists them");
        if (request.method === "DELETE") {
            this.captures = this.captures.filter((c) => c !== capture);
            response.writeHead(204);
            return response.end();
        }
        if (action === "stop") {
            capture.until = 0;
            this.advance();
            return this.send(response, 200, capture);
        }
        if (action === "stream")
            return this.captureStream(response, capture);
        if (action === "profile") {
            const profile = withoutIdle(params, this.profile({ pid: capture.processes[0].pid, seconds: capture.seconds, shape: capture.shape || 1,
                event: params.get("event") || capture.event.split(",")[0], id }));

            if (capture.by)
                profile.quality.requests = { named: 600, no_request: 300 };
            profile.moments = capture.moments;
            if (params.get("format") === "heatmap")
                return this.send(response, 200, heatPage(profile), "text/html");
            if (params.get("format") === "requests")
                return this.send(response, 200, singleRequests(params.get("trace")));
            return this.send(response, 200, params.get("by") ? groupByRequest(profile, params.get("operation")) : profile);
        }
        return this.send(response, 200, capture);
    }

    create(response, body) {
        if (body.from) {
            const from = Date.parse(body.from), seconds = (Date.parse(body.to) - from) / 1000;
            const capture = this.addCapture({ pid: body.pid, seconds, event: body.event, ago: Date.now() - from });

            return this.send(response, 201, { id: capture.id, state: "running" });
        }
        if (!(body.seconds >= 0.1 && body.seconds <= 3600))
            return this.problem(response, 400, `seconds is a number from 0.1 to 3600, not '${body.seconds}'`);
        const capture = this.addCapture({ pid: body.pid, seconds: body.seconds, event: body.event, by: body.by, running: true });

        return this.send(response, 201, { id: capture.id, state: "running" });
    }

    addCapture({ pid = 4242, seconds = 30, event = "cpu", running = false, ago = 0, shape = 1, schedule = null, failure = null, warnings = [], by = "", collections = 3 }) {
        const jvm = this.jvms.find((j) => j.pid === pid) || this.jvms[0];
        const start = Date.now() - ago;
        const capture = {
            id: (this.captures.length + 1).toString(16).padStart(32, "a"), state: running ? "running" : failure ? "failed" : "done",
            progress: running ? 0 : 1, event, events: event.split(",").map((name) => ({ name })), target: `pid=${pid}`, hz: 99, start: iso(start), end: running ? null : iso(start + seconds * 1000),
            seconds: running ? 0 : seconds, samples: running || failure ? 0 : Math.round(seconds * 17), lost: 0, unknown: 0, truncated: 0,
            symbols: "memory", schedule, failure, warnings, processes: [{ pid, name: jvm.main, container: null, pod: null, namespace: null, service: jvm.service ? jvm.service.name : null, samples: 500 }],
            bytes: running || failure ? 0 : 48211, started: start, wanted: seconds, until: start + seconds * 1000, shape, by,
            moments: [{ kind: "collections", process: 0, at_ns: 0, ns: 1e9, count: collections, total_ns: 1e6 }],
        };

        this.captures.unshift(capture);
        return capture;
    }

    advance() {
        const now = Date.now();

        for (const c of this.captures.filter(({ state }) => state === "running")) {
            c.seconds = Math.min(c.wanted, (now - c.started) / 1000);
            c.progress = Math.min(1, c.seconds / c.wanted);
            c.samples = Math.round(c.seconds * 17);
            if (now >= c.until) {
                c.state = "done";
                c.progress = 1;
                c.end = iso(now);
                c.bytes = 48211;
            }
        }
    }

    metrics() {
        return `# HELP flamed_cpu_seconds_total CPU time that flamed's own processes used.
# TYPE flamed_cpu_seconds_total counter
flamed_build_info{version="0.1.0"} 1
flamed_cpu_seconds_total{process="flamed"} ${(Date.now() / 1000 % 1e6 * 0.004).toFixed(2)}
flamed_cpu_seconds_total{process="flamed-broker"} ${(Date.now() / 1000 % 1e6 * 0.001).toFixed(2)}
flamed_resident_memory_bytes{process="flamed"} 48234496
flamed_resident_memory_bytes{process="flamed-broker"} 9437184
flamed_samples_total 1204391
flamed_samples_lost_total{reason="ring_full"} 12
flamed_samples_lost_total{reason="other"} 0
flamed_samples_unknown_total 8120
flamed_samples_truncated_total{reason="depth"} 402
flamed_samples_truncated_total{reason="not_taken"} 9000000
flamed_captures_running 1
flamed_jvms ${this.jvms.length}
flamed_processes 214
flamed_flight_recorder_bytes 18874368
flamed_flight_recorder_seconds 3541
flamed_store_bytes 73400320
flamed_store_captures ${this.captures.length}
flamed_store_healthy 1
`;
    }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const server = new FakeServer();

    server.addCapture({ ago: 86400000, seconds: 30, shape: 0.4 });
    server.addCapture({ ago: 7200000, seconds: 60, pid: 4311, schedule: "hourly" });
    server.addCapture({ ago: 3600000, seconds: 30, pid: 5120, failure: "the process ended before the first sample" });
    server.addCapture({ ago: 600000, seconds: 30, shape: 1.6 });
    server.addCapture({ ago: 12000, seconds: 60, pid: 4311, running: true });
    process.stdout.write(await server.listen(Number(process.argv[2] || 0)) + "\n");
}
