// Three browsers behind one handle, each spoken to in the protocol it has without anything in between: Chromium and WebKit in
// WebDriver, over HTTP; Firefox in WebDriver BiDi, over a socket. Pointers and keys are the browser's own in all of them.
//
// `open(name)` gives a handle, or throws with the reason why that browser is not there.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import WebSocket from "ws";

const WIDTH = 1280;
const HEIGHT = 900;
/** How long a browser may take to answer, and a page to become what it is waited for; generous, for slow machines. */
const PATIENCE = 60_000;

/** Keys by their names in WebDriver. */
const KEYS = { ArrowLeft: "\uE012", ArrowRight: "\uE014", Enter: "\uE007", Tab: "\uE004" };
/** The member under which WebDriver hands over an element. */
const ELEMENT = "element-6066-11e4-a52e-4f735466cecf";

/** Where a program is: what the variable says, else where distributions put it. */
function program(variable, paths) {
  const path = process.env[variable] ?? paths.find((known) => existsSync(known));
  if (!path || !existsSync(path)) throw new Error(`${variable} is not set, and none of ${paths.join(", ")} is there`);
  return path;
}

const freePort = () =>
  new Promise((done, failed) => {
    const server = createServer();
    server.once("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });

/** Repeats until `attempt` gives something. */
async function until(what, attempt) {
  const end = Date.now() + PATIENCE;
  for (let last; ; await wait(50)) {
    try {
      const found = await attempt();
      if (found) return found;
      last = "";
    } catch (error) {
      last = `: ${error.message}`;
    }
    if (Date.now() > end) throw new Error(`waited ${PATIENCE / 1000} s for ${what}${last}`);
  }
}

/** Starts a program in a group of its own, so that what it starts ends with it. */
function start(path, args, options = {}) {
  const child = spawn(path, args, { detached: true, stdio: ["ignore", "ignore", "pipe"], ...options });
  const said = { text: "" };
  child.stderr.on("data", (data) => (said.text = (said.text + data).slice(-20_000)));
  const end = () => {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  };
  process.on("exit", end);
  return { said, end, ended: () => child.exitCode !== null };
}

/** A browser behind WebDriver. */
async function classic(driver, capabilities) {
  const call = async (method, path, body) => {
    const response = await fetch(`${driver.url}${path}`, {
      method,
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE * 2),
    });
    const { value } = await response.json();
    if (!response.ok) throw new Error(`${path.replace(/^\/session\/[^/]+/, "")}: ${value.message || value.error}`);
    return value;
  };
  await until("the driver", () => fetch(`${driver.url}/status`).then(() => true));
  const { sessionId } = await call("POST", "/session", { capabilities: { alwaysMatch: capabilities } });
  const session = (method, path, body) => call(method, `/session/${sessionId}${path}`, body);
  await session("POST", "/window/rect", { width: WIDTH, height: HEIGHT });
  return {
    go: (url) => session("POST", "/url", { url }),
    run: (work, ...args) => session("POST", "/execute/sync", { script: `return (${work}).apply(null, arguments)`, args }),
    act: (actions) => session("POST", "/actions", { actions }),
    files: async (selector, path) => {
      const found = await session("POST", "/element", { using: "css selector", value: selector });
      await session("POST", `/element/${found[ELEMENT]}/value`, { text: path });
    },
    picture: () => session("GET", "/screenshot"),
    logged: () => [],
    close: () => session("DELETE", "").catch(() => {}),
  };
}

async function chromium() {
  const binary = program("CHROMIUM", ["/usr/bin/chromium", "/usr/bin/google-chrome"]);
  const port = await freePort();
  const driver = start(program("CHROMEDRIVER", ["/usr/bin/chromedriver"]), [`--port=${port}`]);
  const args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"];
  const browser = await classic({ url: `http://127.0.0.1:${port}` }, { browserName: "chrome", "goog:chromeOptions": { binary, args } });
  return { ...browser, end: driver.end };
}

async function webkit() {
  const binary = program("MINIBROWSER", ["x86_64", "aarch64"].map((cpu) => `/usr/lib/${cpu}-linux-gnu/webkit2gtk-4.1/MiniBrowser`));
  const webdriver = program("WEBKIT_DRIVER", ["/usr/bin/WebKitWebDriver"]);
  const port = await freePort();
  // The driver hands its screen to the browser, and does not give up when there is none.
  const driver = start(program("XVFB_RUN", ["/usr/bin/xvfb-run"]), ["-a", "-s", "-screen 0 1400x1000x24", webdriver, `--port=${port}`]);
  const browser = await classic(
    { url: `http://127.0.0.1:${port}` },
    { browserName: "MiniBrowser", "webkitgtk:browserOptions": { binary, args: ["--automation"] } },
  );
  return { ...browser, end: driver.end };
}

async function firefox() {
  const binary = program("FIREFOX", ["/usr/bin/firefox-esr", "/usr/bin/firefox"]);
  const profile = mkdtempSync(join(tmpdir(), "firefox-"));
  const off = ["app.normandy.enabled", "app.update.enabled", "datareporting.policy.dataSubmissionEnabled", "extensions.update.enabled"];
  const quiet = ["network.captive-portal-service.enabled", "network.connectivity-service.enabled", "services.settings.server"];
  writeFileSync(join(profile, "user.js"), [...off, ...quiet].map((name) => `user_pref("${name}", ${name.endsWith("server") ? '""' : false});\n`).join(""));
  const args = ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0", `--width=${WIDTH}`, `--height=${HEIGHT}`];
  const child = start(binary, args, { env: { ...process.env, HOME: profile } });
  const [, address] = await until("Firefox", () => /WebDriver BiDi listening on (ws:\S+)/.exec(child.said.text));
  const socket = new WebSocket(`${address}/session`);
  await new Promise((done, failed) => socket.once("open", done).once("error", failed));
  const waiting = new Map();
  const logged = [];
  let ticket = 0;
  socket.on("message", (data) => {
    const message = JSON.parse(data);
    if (message.method === "log.entryAdded" && message.params.level === "error") logged.push(message.params.text);
    const answered = waiting.get(message.id);
    if (!answered) return;
    waiting.delete(message.id);
    if (message.type === "error") answered.failed(new Error(`${message.error}: ${message.message}`));
    else answered.done(message.result);
  });
  const call = (method, params) =>
    new Promise((done, failed) => {
      waiting.set(++ticket, { done, failed });
      socket.send(JSON.stringify({ id: ticket, method, params }));
      setTimeout(() => failed(new Error(`${method} was not answered`)), PATIENCE * 2).unref();
    });
  await call("session.new", { capabilities: {} });
  await call("session.subscribe", { events: ["log.entryAdded"] });
  const { contexts } = await call("browsingContext.getTree", {});
  const { context } = contexts[0];
  await call("browsingContext.setViewport", { context, viewport: { width: WIDTH, height: HEIGHT } });
  const callFunction = async (functionDeclaration, args) => {
    const said = await call("script.callFunction", { functionDeclaration, awaitPromise: true, target: { context }, arguments: args });
    if (said.type === "exception") throw new Error(said.exceptionDetails.text);
    return said.result;
  };
  return {
    go: (url) => call("browsingContext.navigate", { context, url, wait: "complete" }),
    run: async (work, ...args) => {
      const { value } = await callFunction(`async (args) => JSON.stringify(await (${work}).apply(null, JSON.parse(args)))`, [
        { type: "string", value: JSON.stringify(args) },
      ]);
      return value === undefined ? undefined : JSON.parse(value);
    },
    act: (actions) => call("input.performActions", { context, actions }),
    files: async (selector, path) => {
      const { sharedId } = await callFunction("(selector) => document.querySelector(selector)", [{ type: "string", value: selector }]);
      await call("input.setFiles", { context, element: { sharedId }, files: [path] });
    },
    picture: async () => (await call("browsingContext.captureScreenshot", { context })).data,
    logged: () => logged.splice(0),
    close: async () => {
      await call("browser.close", {}).catch(() => {});
      socket.terminate();
    },
    end: () => {
      child.end();
      rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    },
  };
}

const BROWSERS = { Chromium: chromium, Firefox: firefox, WebKit: webkit };

/** Opens a browser; what a reader does is put together here from what the three have in common. */
export async function open(name) {
  const browser = await BROWSERS[name]();
  const { run, act } = browser;
  const pointer = (...actions) => act([{ type: "pointer", id: "mouse", parameters: { pointerType: "mouse" }, actions }]);
  const move = ([x, y], duration = 0) => ({ type: "pointerMove", origin: "viewport", x: Math.round(x), y: Math.round(y), duration });
  return {
    ...browser,
    /** Waits until `work`, run in the page, gives something. */
    until: (what, work, ...args) => until(`${what} in ${name}`, () => run(work, ...args)),
    /** The middle of the first element with these words in it, put into view, once it stays where it is. */
    middle: (selector, text = "") => {
      const seen = [];
      return until(`${selector} ${text} at rest in ${name}`, async () => {
        const at = await run(
          (css, words) => {
            const element = [...document.querySelectorAll(css)].find((one) => one.textContent.includes(words));
            if (!element) return null;
            element.scrollIntoView({ block: "center", behavior: "instant" });
            const { x, y, width, height } = element.getBoundingClientRect();
            return width > 0 ? [x + width / 2, y + height / 2] : null;
          },
          selector,
          text,
        );
        // Chapters that come later, above it, move it.
        seen.unshift(String(at));
        return at && seen.length > 3 && seen.slice(0, 4).every((place) => place === seen[0]) ? at : null;
      });
    },
    click: (at) => pointer(move(at), { type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 }),
    /** Presses at the first place, moves through the others, and lets go at the last. */
    drag: ([from, ...through]) =>
      pointer(move(from), { type: "pointerDown", button: 0 }, ...through.map((at) => move(at, 50)), { type: "pointerUp", button: 0 }),
    press: (...keys) =>
      act([{ type: "key", id: "keys", actions: keys.flatMap((key) => ["keyDown", "keyUp"].map((type) => ({ type, value: KEYS[key] ?? key }))) }]),
  };
}
