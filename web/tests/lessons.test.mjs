// Lessons: every step from its own address, what the engine says of answers and goals, progress, the teacher's page and the presenter.
import assert from "node:assert/strict";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { expectAccessible, expectNoSidewaysScroll, screenshot, screenshots, settled, withPage } from "./harness.mjs";
import { root } from "./texts.mjs";

const IDS = ["new", "memory", "engineer"];
const FOLDER = join(root, "assets/lessons");

/** The steps of a lesson's text: their fields, each once. */
const stepsOf = (id) =>
  readFileSync(join(FOLDER, `${id}.txt`), "utf8")
    .split(/^step: /m)
    .slice(1)
    .map((part) => {
      const [title, ...lines] = part.split("\n");
      const fields = Object.fromEntries(lines.map((line) => /^(\w+): (.*)$/.exec(line)).filter(Boolean).map(([, key, value]) => [key, value]));
      const [figure] = fields.show.split(" ");
      return { title, figure, ...fields };
    });

const hash = (page) => page.evaluate(() => location.hash);
const desk = (page) => page.locator(".desk");
const title = (page) => page.locator("#step-title");
const button = (scope, name) => scope.getByRole("button", { name, exact: true });
const next = (page) => button(page.getByRole("navigation", { name: "Lesson" }), "Next");
const previous = (page) => button(page.getByRole("navigation", { name: "Lesson" }), "Previous");
const goal = (page) => page.locator(".step .puzzle .verdict");

/** A step is open: its title, and its figure alone and awake. */
async function opened(page, { title: words, figure }) {
  await title(page).filter({ hasText: words }).waitFor();
  await page.locator(`#${figure} .stage:not(.asleep)`).waitFor();
  await settled(page);
  const seen = await page.evaluate(() => [...document.querySelectorAll("main .figure")].filter((f) => f.checkVisibility()).map((f) => f.id));
  assert.deepEqual(seen, [figure], "one figure is to be seen");
}

/** Opens a step by its address within the page. */
async function go(page, id, n, step, state) {
  await page.evaluate((to) => (location.hash = to), `#v2/${step.figure}/${state ? `${step.figure}=${state}&` : ""}lesson=${id}.${n + 1}`);
  await opened(page, step);
}

const isDone = (page, n) => page.locator(".lesson-dots a").nth(n).evaluate((a) => a.classList.contains("done"));

test("there is a list of lessons, and it says which texts there are", () => {
  assert.deepEqual(readdirSync(FOLDER).sort(), IDS.map((id) => `${id}.txt`).sort());
});

for (const id of IDS) {
  test(`${id}: every step opens from its address, with nothing done; what it asks can be done`, () =>
    withPage({ path: `#v2/x/lesson=${id}.1` }, async (page) => {
      const steps = stepsOf(id);
      for (const [n, step] of steps.entries()) {
        await go(page, id, n, step);
        assert.equal(await page.locator(".lesson-place").innerText(), `Step ${n + 1} of ${steps.length}`);
        if (step.goal) {
          await page.locator(".step .puzzle").filter({ hasText: /Not yet\. ./ }).waitFor();
          assert.equal(await isDone(page, n), false, step.title);
          await page.locator(".step .help summary").click();
          await button(page, "Show a solution").click();
          await page.locator(".step .puzzle.solved").waitFor();
        } else if (step.predict) {
          assert.equal(await isDone(page, n), false, step.title);
          await page.locator(".step .choices input").first().check();
          await button(desk(page), "See what the engine says").click();
          await page.locator(".step .verdict").filter({ hasText: /^(Right|Not so)\. \S/ }).waitFor();
          assert.equal(await page.locator(".step .choices .right").count(), 1);
        } else if (step.puzzle) {
          const puzzle = page.locator(`[data-puzzle=${step.puzzle}]`);
          await puzzle.filter({ hasText: "Not yet. " }).waitFor();
          assert.ok(await puzzle.isVisible());
          assert.equal(await isDone(page, n), false, step.title);
          await go(page, id, n, step, step.solution);
          await page.locator(`[data-puzzle=${step.puzzle}].solved`).waitFor();
          await page.locator(".to-do", { hasText: "The puzzle is solved." }).waitFor();
        } else if (step.question) {
          const question = page.locator(`[data-predict=${step.question}]`);
          assert.ok(await question.isVisible());
          assert.equal(await isDone(page, n), false, step.title);
          await question.locator("input").first().check();
          await button(question, "See what the engine says").click();
          await question.locator(".verdict").filter({ hasText: /^(Right|Not so)\. \S/ }).waitFor();
        }
        await settled(page);
        assert.equal(await isDone(page, n), true, `${step.title} is done`);
      }
      assert.match(await page.locator(".at-end").innerText(), /^This was the last step, and all are done\.$/);
      assert.ok(await next(page).isDisabled());
    }));
}

test("a lesson is gone through: next, previous, Back; how far is kept, and can be forgotten", () =>
  withPage({ path: "#lessons" }, async (page) => {
    const steps = stepsOf("new");
    const entry = page.locator(".lessons li").first();
    await entry.getByRole("link", { name: `Begin: ${steps.length} steps` }).click();
    await opened(page, steps[0]);
    assert.equal(await hash(page), "#v2/slabs/lesson=new.1");
    assert.equal(await page.evaluate(() => document.activeElement.id), "step-title", "the keyboard is at the title");
    await screenshot(page, "lesson-first");
    await next(page).click();
    await opened(page, steps[1]);
    await next(page).click();
    await opened(page, steps[2]);
    const clock = page.locator("#clock");
    await button(clock, "Later").click();
    await settled(page);
    assert.match(await hash(page), /^#v2\/clock\/clock=m=attention_grad;o=.*&lesson=new\.3$/);
    await next(page).click();
    await opened(page, steps[3]);
    assert.equal(await hash(page), "#v2/clock/lesson=new.4", "each step begins as it is meant to");
    await previous(page).click();
    await opened(page, steps[2]);
    assert.match(await hash(page), /clock=m=attention_grad;o=.*&lesson=new\.3$/, "and is found as it was left");
    await page.goBack();
    await opened(page, steps[3]);
    assert.equal(await hash(page), "#v2/clock/lesson=new.4");
    await page.reload();
    await opened(page, steps[3]);
  }));

test("storage that is denied is done without", () =>
  withPage(
    {
      path: "#v2/x/lesson=new.5",
      before: () => Object.defineProperty(window, "localStorage", { get: () => { throw new DOMException("denied", "SecurityError"); } }),
    },
    async (page) => {
      const steps = stepsOf("new");
      await opened(page, steps[4]);
      await page.locator(".step .choices input").last().check();
      await button(desk(page), "See what the engine says").click();
      await page.locator(".step .verdict").filter({ hasText: /^Right\. / }).waitFor();
      assert.equal(await isDone(page, 4), true);
    },
  ));

test("a prediction is judged by the engine, right and wrong; progress is shown, goes on, and is forgotten", () =>
  withPage({ path: "#v2/x/lesson=new.5" }, async (page) => {
    const steps = stepsOf("new");
    await opened(page, steps[4]);
    const answer = async (n) => {
      await page.locator(".step .choices input").nth(n).check();
      await button(desk(page), "See what the engine says").click();
      await settled(page);
      return page.locator(".step .verdict").innerText();
    };
    assert.match(await answer(0), /^Not so\. .*do not share/s);
    assert.match(await hash(page), /pair=.*v\.lesson=0/, "an answer is in the link");
    await button(desk(page), "Answer again").click();
    assert.match(await answer(1), /^Right\. .*one step in common, 6\..*do not share/s);
    await button(desk(page), "Leave").click();
    await settled(page);
    assert.ok(await page.locator("#slabs").isVisible(), "the page is whole again");
    assert.equal(await hash(page), "#pair", "the answer stays in the lesson");
    const entry = page.locator(".lessons li").first();
    await entry.scrollIntoViewIfNeeded();
    await entry.getByRole("link", { name: `Go on at step 1: 1 of ${steps.length} done` }).waitFor();
    await page.reload();
    await page.locator(".lessons li").first().getByRole("link", { name: /^Go on at step 1/ }).waitFor();
    await button(entry, "Forget what is done").click();
    await entry.getByRole("link", { name: /^Begin/ }).waitFor();
  }));

test("a goal: how things stand, reached by keys, and not by another program", () =>
  withPage({ path: "#v2/x/lesson=new.7" }, async (page) => {
    const steps = stepsOf("new");
    await opened(page, steps[6]);
    assert.match(await goal(page).innerText(), /^Not yet\. sort\.6 and concatenate\.10 share [\d,]+ B of memory\.$/);
    const later = page.locator("#drag").getByRole("button", { name: "End one step later" });
    for (let n = 0; n < 2; n += 1) await later.click();
    await settled(page);
    assert.match(await goal(page).innerText(), /^Not yet\./);
    await later.click();
    await settled(page);
    assert.match(await goal(page).innerText(), /^Reached\. sort\.6 and concatenate\.10 have no address in common\.$/);
    assert.equal(await isDone(page, 6), true);
    await button(page.locator("#drag"), "Reset").click();
    await settled(page);
    assert.match(await goal(page).innerText(), /^Not yet\. sort\.6/);
    await page.locator("#drag").getByLabel("Module").selectOption("unet_skip");
    await goal(page).filter({ hasText: "Another program is open" }).waitFor();
  }));

test("what is no lesson says so", () =>
  withPage({ path: "#v2/x/lesson=nothing.1" }, async (page) => {
    await title(page).filter({ hasText: "This lesson cannot be opened" }).waitFor();
    for (const [value, words] of [["new.99", /ends at step 9; there is no step 99/], ["~AAAA.1", /cut off or damaged|expected/], ["~.1", /came from a file/], ["new", /does not say which step/]]) {
      await page.evaluate((to) => (location.hash = to), `#v2/x/lesson=${value}`);
      await page.locator(".step p").filter({ hasText: words }).waitFor();
    }
    await button(desk(page), "Leave the lesson").click();
    await page.locator("#slabs").waitFor();
  }));

const field = (row, name) => row.getByLabel(name, { exact: true });

/** Fills a draft: three steps, a question of the teacher's own, a goal. */
async function draft(page, words) {
  const teacher = page.locator("#teacher");
  await teacher.scrollIntoViewIfNeeded();
  await field(teacher, "Title of the lesson").fill(words);
  for (const link of ["https://example.com/page/#v2/drag/drag=m=varied_temp_sizes;s=543", "#clock", "#v2/copies/copies=m=attention_grad;p.case=!pop"]) {
    await field(teacher, "A link to a state").fill(link);
    await button(teacher, "Add as a step").click();
  }
  const rows = teacher.locator(".row");
  assert.equal(await rows.count(), 3);
  await field(rows.nth(0), "Title").fill(words);
  const says = field(rows.nth(0), "What you say; an empty line begins a paragraph");
  await says.fill(`${words}\n\nAnd \`code\`.`);
  await says.blur();
  await rows.nth(0).getByLabel(/^What there is to do/).selectOption("reach");
  await field(rows.nth(0), "The goal, in words").fill(words);
  const conditions = field(rows.nth(0), "What has to hold, a line each; the engine checks it");
  await conditions.fill("apart sort.6 concatenate.10\nheap < 3");
  await conditions.blur();
  await rows.nth(0).getByRole("alert").filter({ hasText: "Line 2, column 1: `heap < 3`; expected" }).waitFor();
  await conditions.fill("apart sort.6 concatenate.10");
  await conditions.blur();
  await rows.nth(1).getByLabel(/^What there is to do/).selectOption("ask");
  await field(rows.nth(1), "The question").fill(words);
  const choices = rows.nth(1).getByLabel(/^Choices, a line each/);
  await choices.fill(`one\n* ${words}\nthree`);
  await choices.blur();
  return { teacher, rows };
}

test("a teacher makes a lesson and a student walks through it; its words are shown as words", () =>
  withPage({ path: "#teacher", clipboard: true }, async (page, server) => {
    const hostile = '<img src=x onerror=alert(1)> {0} "&amp;" ${x}';
    const { teacher, rows } = await draft(page, hostile);
    await button(rows.nth(1), "Up").click();
    await settled(page);
    assert.equal(await field(rows.nth(0), "The question").inputValue(), hostile, "steps change places");
    await button(rows.nth(0), "Down").click();
    await button(rows.nth(2), "Remove").click();
    assert.equal(await rows.count(), 2);
    await expectAccessible(page);
    // From a figure itself.
    await page.locator("#drag").scrollIntoViewIfNeeded();
    await page.locator("#drag .stage:not(.asleep)").waitFor();
    await button(page.locator("#drag"), "Add to lesson").click();
    assert.equal(await rows.count(), 3);
    await teacher.getByText(/^The link has [\d,]+ characters\.$/).waitFor();
    await button(teacher, "Copy the link").click();
    await button(teacher, "Copied").waitFor();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    assert.ok(link.startsWith(`${server.url}#v2/drag/lesson=~`), link.slice(0, 80));
    // The draft is there again after a reload.
    await page.reload();
    await page.locator("#teacher .row").nth(2).waitFor();
    // Another reader's browser.
    const student = await page.context().newPage();
    await student.goto(link);
    await title(student).filter({ hasText: hostile }).waitFor();
    await student.locator("#drag .stage:not(.asleep)").waitFor();
    assert.equal(await student.locator(".desk img").count(), 0);
    assert.equal(await student.locator(".step > p").first().innerText(), hostile);
    assert.equal(await student.locator(".step > p .code").innerText(), "code");
    await goal(student).filter({ hasText: "Not yet. sort.6 and concatenate.10 share" }).waitFor();
    await next(student).click();
    await student.locator("#clock .stage:not(.asleep)").waitFor();
    await student.locator(".step .choices input").first().check();
    await button(desk(student), "Give this answer").click();
    await student.locator(".step .verdict").filter({ hasText: "Another answer was expected." }).waitFor();
    assert.equal(await student.locator(".choices .right").innerText(), `${hostile}\nthe expected answer`);
    await student.close();
  }));

test("a lesson that is too long for a link is a file, which a student opens", () =>
  withPage({ path: "#teacher" }, async (page) => {
    const { teacher } = await draft(page, "Long");
    // Words that cannot be packed well.
    const long = Array.from({ length: 3000 }, (_, n) => ((n * 7919) % 104729).toString(36)).join(" ");
    const text = field(teacher.locator(".row").nth(2), "What you say; an empty line begins a paragraph");
    await text.evaluate((area, words) => {
      area.value = words;
      area.dispatchEvent(new Event("change", { bubbles: true }));
    }, long);
    await teacher.getByText(/characters; some programs cut links after 8,000\./).waitFor();
    const [file] = await Promise.all([page.waitForEvent("download"), button(teacher, "Save as a file").click()]);
    assert.equal(file.suggestedFilename(), "bufferscope-lesson.txt");
    const saved = readFileSync(await file.path(), "utf8");
    assert.match(saved, /^bufferscope lesson 1\ntitle: Long\nstep: Long\nshow: drag m=varied_temp_sizes;s=543\n/);
    const input = page.getByLabel("A lesson from a file:");
    const broken = join(tmpdir(), `bufferscope-lesson-${process.pid}.txt`);
    writeFileSync(broken, "bufferscope lesson 1\nstep: A\nshow: nowhere\n");
    await input.setInputFiles(broken);
    await page.getByRole("alert").filter({ hasText: "Line 3, column 7: `nowhere`; expected a figure of this page" }).waitFor();
    await input.setInputFiles(await file.path());
    await title(page).filter({ hasText: "Long" }).waitFor();
    assert.match(await hash(page), /lesson=~\.1$/);
    // A file does not outlive the page, and that is said.
    await page.reload();
    await page.locator(".step p").filter({ hasText: "This lesson came from a file." }).waitFor();
  }));

test("the presenter: one figure, larger, by keys and by a clicker; Esc leads back", () =>
  withPage({ path: "#clock" }, async (page) => {
    const clock = page.locator("#clock");
    await clock.locator(".stage:not(.asleep)").waitFor();
    await button(clock, "Present").click();
    await opened(page, { title: "Chapter 3: The schedule is a clock", figure: "clock" });
    assert.match(await hash(page), /present=clock$/);
    const bar = page.getByRole("navigation", { name: "Presenter" });
    const size = () => clock.evaluate((f) => f.getBoundingClientRect().width / f.offsetWidth);
    const before = await size();
    assert.ok(before > 1.2, `${before}`);
    await page.keyboard.press("+");
    await settled(page);
    assert.ok((await size()) > before);
    assert.ok(await page.locator(".masthead").isHidden());
    await screenshot(page, "presenter");
    await expectAccessible(page);
    // What is under the pointer is what is seen there, whatever the size.
    const band = clock.locator("svg .band").nth(3);
    await band.evaluate((b) => b.scrollIntoView({ block: "center" }));
    const box = await band.boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    await settled(page);
    assert.match(await hash(page), /clock=m=attention_grad;s=\d+/);
    const at = await bar.getByRole("status").innerText();
    // The handle that the click has chosen keeps the keys that move it; those of a clicker turn the page also from there.
    const handle = clock.getByRole("slider").first();
    await handle.focus();
    await page.keyboard.press("ArrowRight");
    await settled(page);
    assert.equal(await bar.getByRole("status").innerText(), at);
    await page.keyboard.press("PageDown");
    await opened(page, { title: "Chapter 4: Live ranges", figure: "pair" });
    assert.notEqual(await bar.getByRole("status").innerText(), at);
    await page.keyboard.press("ArrowLeft");
    await opened(page, { title: "Chapter 3", figure: "clock" });
    await page.keyboard.press("?");
    await page.locator(".presenter-keys").waitFor();
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".presenter-keys").count(), 0);
    await page.keyboard.press("Escape");
    await settled(page);
    assert.ok(await page.locator(".masthead").isVisible());
    assert.ok(!(await hash(page)).includes("present"));
    await page.goBack();
    await opened(page, { title: "Chapter 3", figure: "clock" });
  }));

test("a lesson's steps as slides; keys that a figure needs are the figure's", () =>
  withPage({ path: "#v2/x/lesson=new.6&present=1" }, async (page) => {
    const steps = stepsOf("new");
    await opened(page, steps[5]);
    await page.keyboard.press("Space");
    await opened(page, steps[6]);
    assert.match(await hash(page), /lesson=new\.7&present=1$/);
    // An end that is pulled follows the pointer, whatever the size.
    const handle = page.locator("#drag .handle.end");
    const middle = async () => {
      const { x, y, width, height } = await handle.boundingBox();
      return [x + width / 2, y + height / 2];
    };
    await handle.evaluate((h) => h.scrollIntoView({ block: "center" }));
    const [x, y] = await middle();
    await page.mouse.move(x, y);
    await page.mouse.down();
    for (const by of [20, 50, 80, 110]) await page.mouse.move(x + by, y);
    await page.mouse.up();
    await settled(page);
    assert.match(await hash(page), /drag=m=varied_temp_sizes;e=543\.16\.(?!27)/);
    assert.ok(Math.abs((await middle())[0] - (x + 110)) < 16, `${await middle()} is not at ${x + 110}`);
    await page.locator("#drag").getByLabel("End", { exact: true }).focus();
    await page.keyboard.press("ArrowUp");
    await settled(page);
    await opened(page, steps[6]);
    await page.keyboard.press("Escape");
    await opened(page, steps[6]);
    assert.match(await hash(page), /lesson=new\.7$/);
    await page.getByRole("navigation", { name: "Lesson" }).waitFor();
    await button(desk(page), "Present").click();
    await page.getByRole("navigation", { name: "Presenter" }).waitFor();
    await title(page).focus();
    await page.keyboard.press("End");
    await opened(page, steps.at(-1));
  }));

for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [360, "light"], [360, "dark"], [320, "light"]]) {
  test(`a lesson, the list and the teacher's page at ${width} px, ${scheme}`, () =>
    withPage({ width, scheme, path: "#v2/x/lesson=new.7" }, async (page) => {
      await opened(page, stepsOf("new")[6]);
      await screenshot(page, `lesson-goal-${width}-${scheme}`);
      await expectAccessible(page);
      await expectNoSidewaysScroll(page);
      await button(desk(page), "Leave").click();
      await settled(page);
      await draft(page, "Two that share");
      await expectNoSidewaysScroll(page);
      await page.locator("#lessons").screenshot({ path: join(screenshots, `lessons-${width}-${scheme}.png`) });
      await page.locator("#how-this-was-made").screenshot({ path: join(screenshots, `made-${width}-${scheme}.png`) });
      await expectAccessible(page, { whole: true });
    }));
}

test("forced colours and reduced motion", () =>
  withPage({ forcedColors: true, reducedMotion: true, path: "#v2/x/lesson=new.6" }, async (page) => {
    await opened(page, stepsOf("new")[5]);
    await screenshot(page, "lesson-forced");
    await expectAccessible(page);
  }));

test("in Chinese", () =>
  withPage({ locale: "zh-CN", path: "#v2/x/lesson=new.7" }, async (page) => {
    await page.locator("#drag .stage:not(.asleep)").waitFor();
    await settled(page);
    await goal(page).filter({ hasText: /还没有|尚未/ }).waitFor();
    assert.match(await page.locator(".lesson-place").innerText(), /^第 7 步，共 9 步$/);
    await screenshot(page, "lesson-zh");
    const left = await page.locator(".desk").evaluate((d) => d.innerText.split("\n").filter((l) => /[a-z]{3,} [a-z]{2,} [a-z]{2,}/i.test(l)));
    assert.deepEqual(left, [], "no English is left");
  }));
