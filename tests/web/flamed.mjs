// SPDX-License-Identifier: Apache-2.0
// A flamed of the build under test and JVMs, for the browser tests. Environment: FLAMED_PROGRAM (the built program),
// FLAMED_JAVA_HOME (a JDK). Needs root. All of it ends with the test, however that ends.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync, chmodSync, openSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ENDS_WITH_US = ["setpriv", "--pdeathsig", "TERM"];
const JAVA_SOURCES = fileURLToPath(new URL("../jvm/java/", import.meta.url));
const java = (program) => join(process.env.FLAMED_JAVA_HOME, "bin", program);

async function freePort() {
    const server = createServer();

    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    const { port } = server.address();

    await new Promise((done) => server.close(done));
    return port;
}

const ended = (child) => child.exitCode !== null || child.signalCode !== null ? Promise.resolve()
    : new Promise((done) => child.once("exit", done));

export class Flamed {
    // @options: further ones of its command line.
    async start(...options) {
        this.folder = mkdtempSync(join(tmpdir(), "flamed-web-daemon."));
        chmodSync(this.folder, 0o755);
        mkdirSync(join(this.folder, "store"));
        this.port = await freePort();
        this.url = `http://127.0.0.1:${this.port}/`;
        this.options = options;
        await this.run();
        return this;
    }

    // Starts it, with what it stored before.
    async run() {
        const log = openSync(join(this.folder, "log"), "a");

        this.child = spawn(ENDS_WITH_US[0], [...ENDS_WITH_US.slice(1), process.env.FLAMED_PROGRAM, "--listen",
            `127.0.0.1:${this.port}`, "--listen", `unix:${join(this.folder, "sock")}`, "--store", join(this.folder, "store"), ...this.options], { stdio: ["ignore", log, log] });
        for (const end = Date.now() + 20000;;) {
            const answer = await fetch(this.url + "readyz").catch(() => null);

            if (answer && answer.ok)
                return;
            if (this.child.exitCode !== null || Date.now() > end)
                throw new Error("flamed does not start:\n" + this.log());
            await new Promise((done) => setTimeout(done, 100));
        }
    }

    log() {
        return readFileSync(join(this.folder, "log"), "utf8").slice(-4000);
    }

    async get(path) {
        return (await fetch(this.url + path)).json();
    }

    async halt() {
        this.child.kill("SIGTERM");
        await ended(this.child);
    }

    async stop() {
        await this.halt();
        rmSync(this.folder, { recursive: true, force: true });
    }
}

// Classes of tests/jvm/java, compiled once.
export class Workloads {
    constructor() {
        this.folder = mkdtempSync(join(tmpdir(), "flamed-web-classes."));
        this.children = [];
        execFileSync(java("javac"), ["-g", "-d", this.folder, ...["Shift.java", "Locks.java", "Keeps.java"].map((name) => join(JAVA_SOURCES, name))]);
    }

    // A jar of the class @main under any file name.
    jar(name, main) {
        const path = join(this.folder, name);

        writeFileSync(join(this.folder, "manifest"), `Main-Class: ${main}\n`);
        execFileSync(java("jar"), ["cfm", join(this.folder, "plain.jar"), join(this.folder, "manifest"), "-C", this.folder, main + ".class"]);
        execFileSync("cp", [join(this.folder, "plain.jar"), path]);
        return path;
    }

    // Waits until it printed "started".
    async run(...args) {
        const child = spawn(ENDS_WITH_US[0], [...ENDS_WITH_US.slice(1), java("java"), "-cp", this.folder, ...args],
            { stdio: ["pipe", "pipe", "inherit"] });

        this.children.push(child);
        await new Promise((done, fail) => {
            child.stdout.once("data", done);
            child.once("exit", (code) => fail(new Error(`java ${args.join(" ")} ended with ${code}`)));
        });
        return child;
    }

    async stop() {
        for (const child of this.children)
            child.kill("SIGKILL");
        await Promise.all(this.children.map(ended));
        rmSync(this.folder, { recursive: true, force: true });
    }
}
