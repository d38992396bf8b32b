// One pass through the user interface with the installed extension: node user_interface.cjs FACTS
// The window stays open until standard input ends.

const fs = require("node:fs");
const path = require("node:path");
const { Workbench, assert } = require("./workbench.cjs");

const facts = JSON.parse(process.argv[2]);
const { sample } = facts;
const outcome = { steps: [], failed: {} };
const onDisk = (name) => fs.readFileSync(path.join(sample.folder, name), "utf8");

const steps = {
  "the mistake is underlined, behind wide characters": async (window) => {
    await window.page.waitForSelector(".editor-instance .view-line");
    await window.press("Control+B"); // the side bar would hide the end of the line
    await window.underlined(sample.mistake);
  },

  "the hover tells what happens": async (window) => {
    assert.match(await window.hover(sample.hovered, sample.hover), /policy-called/);
    await window.picture("hover-on-mistake");
    await window.press("Escape");
  },

  "the quick fix is applied": async (window) => {
    await window.click(sample.hovered);
    const offer = await window.quickFix("without calling it");
    await window.page.waitForTimeout(300);
    await offer.click();
    await window.until("the fixed line", async () => (await window.text()).includes(sample.fixed));
    await window.until("no line under it", async () => (await window.squiggles()).length === 0);
  },

  "a new mistake is underlined as it is typed": async (window) => {
    await window.newLastLine();
    await window.page.keyboard.insertText(sample.newMistake);
    await window.underlined("jax.checkpoint_policies.save_only_these_names");
    await window.deleteLine("other = ");
    await window.until("no line under it", async () => (await window.squiggles()).length === 0);
  },

  "a name is completed": async (window) => {
    await window.newLastLine();
    await window.type(sample.completed);
    const row = window.page.locator(".suggest-widget .monaco-list-row", { hasText: sample.name });
    await row.first().waitFor();
    await window.picture("completion");
    await window.press("Enter");
    await window.until("the name", async () =>
      (await window.text()).some((line) => line.startsWith(`${sample.completed}${sample.name}`)),
    );
    await window.deleteLine("more = ");
  },

  "a name is renamed in both files": async (window) => {
    await window.until("the box", async () => {
      await window.click(sample.name);
      await window.press("F2");
      const hasFocus = () => document.activeElement?.closest(".rename-box") != null;
      return window.page.waitForFunction(hasFocus, undefined, { timeout: 5000 }).then(
        () => true,
        () => false,
      );
    });
    await window.type(sample.newName);
    await window.press("Enter");
    await window.until("the new name", async () => (await window.text()).some((line) => line.includes(sample.newName)));
    await window.command("File: Save All Files");
    await window.until("both files on disk", () =>
      ["model.py", "train.py"].every((name) => onDisk(name).includes(`"${sample.newName}"`)),
    );
  },

  "the status bar tells the version": async (window) => {
    await window.until("the version", async () => (await window.statusItem()).includes("JAX 0.10.2"));
  },

  "findings of a real file, with the Problems panel": async (window) => {
    await window.file("block.py");
    await window.underlined('"mlp_ot"', "warning");
    await window.page.locator(".codelens-decoration", { hasText: "rematerialized" }).first().waitFor();
    await window.press("Control+Shift+M");
    await window.page.locator(".markers-panel .monaco-list-row", { hasText: "returns None" }).first().waitFor();
    await window.picture("diagnostics");
    await window.press("Control+J");
  },

  "hints and lenses": async (window) => {
    await window.page.locator(".codelens-decoration", { hasText: "rematerialized" }).first().waitFor();
    await window.press("Control+Home");
    await window.until("a hint", async () => (await window.text()).some((line) => line.includes("saves")));
    await window.picture("hints");
  },

  "the hover on a policy": async (window) => {
    await window.hover("policy=names", "on the backward pass", 0.9);
    await window.picture("hover");
    await window.press("Escape");
  },

  "the menu of quick fixes": async (window) => {
    await window.click('"dot_general"');
    await window.quickFix("return False");
    await window.picture("quick-fix");
    await window.press("Escape");
  },

  "a lens leads to the places that it is about": async (window) => {
    await window.page.locator(".codelens-decoration a", { hasText: "2 names" }).first().click();
    await window.page.locator(".peekview-widget").waitFor();
    await window.press("Escape");
    await window.page.locator(".peekview-widget").waitFor({ state: "detached" });
  },

  "the page of a rule": async (window) => {
    await window.click('"dot_general"');
    await window.command("jaxpert: Explain Rule at Cursor");
    await window.page.locator(".tab", { hasText: "Preview policy-falls-through" }).waitFor();
    const outer = window.page.frameLocator("iframe.webview.ready").first();
    await outer.frameLocator("iframe").locator("h1", { hasText: "policy-falls-through" }).waitFor();
    await window.picture("rule-page");
    await window.command("View: Close All Editors in Group");
  },

  "the menu behind the status item": async (window) => {
    await window.file("block.py");
    await window.until("the version", async () => (await window.statusItem()).includes("JAX 0.10.2"));
    await window.page.locator('.statusbar-item[aria-label*="JAX"]').first().click();
    await window.page.locator(".quick-input-list .monaco-list-row", { hasText: "Restart the server" }).first().waitFor();
    await window.picture("status");
    await window.press("Escape");
  },

  "a changed setting counts at once": async (window) => {
    const changed = { "jaxpert.codeLens.enable": false, "jaxpert.jaxVersion": "0.7.2" };
    const onSave = { "editor.codeActionsOnSave": { "source.fixAll.jaxpert": "explicit" } };
    await window.setSettings({ ...facts.settings, ...changed, ...onSave });
    await window.file("block.py");
    await window.until("no lens", async () => (await window.page.locator(".codelens-decoration a").count()) === 0);
    await window.until("the version", async () => (await window.statusItem()).includes("JAX 0.7.2"));
  },

  "saving fixes all": async (window) => {
    await window.newLastLine();
    await window.page.keyboard.insertText("good = jax.checkpoint(mlp, policy=jax.checkpoint_policies.dots_saveable())");
    await window.underlined("jax.checkpoint_policies.dots_saveable()");
    await window.press("Control+S");
    await window.until("the fixed file", () => onDisk("block.py").includes("policy=jax.checkpoint_policies.dots_saveable)"));
    assert.match(onDisk("block.py"), /return False/);
  },

  "a cell of a notebook": async (window) => {
    await window.file("notes.ipynb");
    await window.page.waitForSelector(".notebook-editor .view-line, .notebookOverlay .view-line");
    await window.until("a line under the mistake", async () => (await window.squiggles()).length > 0);
    await window.picture("notebook");
  },

  "an untitled buffer": async (window) => {
    await window.command("File: New Untitled Text File");
    await window.command("Change Language Mode");
    await window.page.waitForSelector(".quick-input-widget:visible input");
    await window.page.keyboard.insertText("Python");
    await window.page.waitForTimeout(300);
    await window.press("Enter");
    await window.page.waitForTimeout(300);
    await window.page.keyboard.insertText(`import jax\n${sample.newMistake}\n`);
    await window.until("a line under the mistake", async () => (await window.squiggles()).length > 0);
    await window.until("the version", async () => (await window.statusItem()).includes("JAX"));
    await window.press("Control+A");
    await window.press("Delete");
  },

  "restart": async (window) => {
    await window.command("jaxpert: Restart Server");
    await window.file("model.py");
    await window.newLastLine();
    await window.page.keyboard.insertText(sample.newMistake);
    await window.underlined("jax.checkpoint_policies.save_only_these_names");
    await window.deleteLine("other = ");
    await window.press("Control+S");
  },

  "the walkthrough": async (window) => {
    await window.command("Welcome: Open Walkthrough");
    await window.page.waitForSelector(".quick-input-widget:visible input");
    await window.page.keyboard.insertText("jaxpert");
    await window.page.waitForTimeout(500);
    await window.press("Enter");
    await window.page.locator(".getting-started-step", { hasText: "Open code that uses JAX" }).first().waitFor();
    await window.picture("walkthrough");
  },
};

(async () => {
  const window = await Workbench.open(facts);
  for (const [name, step] of Object.entries(steps)) {
    try {
      await step(window);
      outcome.steps.push(name);
    } catch (error) {
      outcome.failed[name] = error.stack;
      await window.picture(`failed ${name}`).catch(() => undefined);
      await window.press("Escape");
    }
    console.log(`${new Date().toISOString()} ${name}`);
  }
  fs.writeFileSync(`${facts.result}.part`, JSON.stringify(outcome, undefined, 1));
  fs.renameSync(`${facts.result}.part`, facts.result);
  process.stdin.resume();
  await new Promise((resolve) => process.stdin.on("end", resolve));
  await window.browser.close();
})();
