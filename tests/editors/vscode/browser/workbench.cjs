// The user interface as its user meets it: keys, the mouse, and what can be seen.

const assert = require("node:assert/strict");
const { chromium } = require("playwright-core");
const { FLAGS } = require("./flags.cjs");

const PATIENCE = 30_000;

class Workbench {
  /** A window of the editor at `url`; `pictures` is the folder that pictures go to. */
  static async open({ chromium: executablePath, profile, url, pictures }) {
    const viewport = { width: 1120, height: 700 };
    const browser = await chromium.launchPersistentContext(profile, { executablePath, args: FLAGS, viewport });
    const page = browser.pages()[0] ?? (await browser.newPage());
    page.setDefaultTimeout(PATIENCE);
    await page.goto(url, { waitUntil: "domcontentloaded" });
    await page.waitForSelector(".monaco-workbench");
    return new Workbench(browser, page, pictures);
  }

  constructor(browser, page, pictures) {
    Object.assign(this, { browser, page, pictures });
  }

  /** What `found` gives, as soon as it is something. */
  async until(what, found, patience = PATIENCE) {
    const end = Date.now() + patience;
    for (;;) {
      const value = await found();
      if (value) {
        return value;
      }
      assert.ok(Date.now() < end, `waited in vain for ${what}`);
      await this.page.waitForTimeout(100);
    }
  }

  async picture(name, clip) {
    await this.page.waitForTimeout(400); // animations
    await this.page.screenshot({ path: `${this.pictures}/${name}.png`, ...(clip && { clip }) });
  }

  press(keys) {
    return this.page.keyboard.press(keys);
  }

  type(text) {
    return this.page.keyboard.type(text, { delay: 15 });
  }

  /** Runs a command as the palette lists it. */
  async command(title) {
    await this.press("F1");
    await this.page.waitForSelector(".quick-input-widget:visible input");
    await this.page.keyboard.insertText(title);
    const row = this.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: title }).first();
    await row.waitFor();
    await row.click();
  }

  /** Opens a file of the folder. */
  async file(name) {
    await this.press("Control+p");
    await this.page.waitForSelector(".quick-input-widget:visible input");
    await this.page.keyboard.insertText(name);
    await this.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: name }).first().click();
    await this.page.locator(".tab.active", { hasText: name }).first().waitFor();
    await this.page.waitForTimeout(300);
  }

  /** Sets all settings of the user, in the file that they are in. */
  async setSettings(settings) {
    await this.command("Preferences: Open User Settings (JSON)");
    await this.page.locator(".tab.active", { hasText: "settings.json" }).first().waitFor();
    await this.page.waitForTimeout(300);
    await this.press("Control+A");
    await this.page.keyboard.insertText(JSON.stringify(settings));
    await this.press("Control+S");
    await this.until("the saved settings", async () => (await this.page.locator(".tab.active.dirty").count()) === 0);
    await this.command("View: Close Editor");
  }

  /** The lines that are shown. */
  async text() {
    const lines = await this.page.locator(".editor-instance .view-line").allInnerTexts();
    return lines.map((line) => line.replaceAll("\u00a0", " "));
  }

  /** Puts the cursor at the end of the file, in a line of its own. */
  async newLastLine() {
    await this.press("Control+End");
    await this.press("Enter");
    await this.press("Home");
  }

  /** Deletes the last line, in which the cursor is. */
  async deleteLine(part) {
    await this.press("Control+Shift+K");
    await this.until("the end of the line", async () => !(await this.text()).some((line) => line.startsWith(part)));
  }

  /** Where `part` of the first line that contains it is on the screen. */
  box(part) {
    return this.until(`"${part}" on the screen`, () =>
      this.page.evaluate((wanted) => {
        const top = (line) => line.getBoundingClientRect().y; // they lie in the page in any order
        const lines = [...document.querySelectorAll(".editor-instance .view-line")];
        for (const line of lines.sort((one, other) => top(one) - top(other))) {
          const whole = line.textContent.replaceAll("\u00a0", " ");
          let at = whole.indexOf(wanted);
          if (at < 0) {
            continue;
          }
          const range = document.createRange();
          let left = wanted.length;
          const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
          let begun = false;
          for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            if (!begun && at < node.length) {
              range.setStart(node, at);
              left += at;
              begun = true;
            }
            if (begun && left <= node.length) {
              range.setEnd(node, left);
              const { x, y, width, height } = range.getBoundingClientRect();
              return width > 0 ? { x, y, width, height } : undefined;
            }
            at -= node.length;
            left -= begun ? node.length : 0;
          }
        }
        return undefined;
      }, part),
    );
  }

  /** The hover over `part` that says `text`; the mouse comes again when lines have moved under it. */
  async hover(part, text, offset = 0.5) {
    const hover = this.page.locator(".monaco-hover:visible", { hasText: text }).first();
    await this.until(`a hover that says "${text}"`, async () => {
      const { x, y, width, height } = await this.box(part);
      await this.page.mouse.move(x + width * offset - 30, y + height / 2);
      await this.page.mouse.move(x + width * offset, y + height / 2, { steps: 5 });
      return hover.waitFor({ timeout: 3000 }).then(
        () => true,
        () => false,
      );
    });
    return hover.innerText();
  }

  /** The line that says `text` in the menu of quick fixes; the keys come again when something has closed the menu. */
  async quickFix(text) {
    const row = this.page.locator(".action-widget .monaco-list-row", { hasText: text }).first();
    await this.until(`the quick fix "${text}"`, async () => {
      await this.press("Control+.");
      return row.waitFor({ timeout: 5000 }).then(
        () => true,
        () => this.press("Escape"),
      );
    });
    return row;
  }

  /** Clicks on `part`, which does not move any more. */
  async click(part, offset = 0.5) {
    let before;
    const { x, y, width, height } = await this.until(`"${part}" at rest`, async () => {
      const box = await this.box(part);
      const rests = before?.y === box.y && before.x === box.x;
      before = box;
      return rests && box;
    });
    await this.page.mouse.click(x + width * offset, y + height / 2);
  }

  /** The boxes of all squiggles of a severity, from top to bottom. */
  async squiggles(severity = "error") {
    const boxes = await this.page.evaluate(
      (name) => [...document.querySelectorAll(`.squiggly-${name}`)].map((node) => node.getBoundingClientRect().toJSON()),
      severity,
    );
    return boxes.filter((box) => box.width > 0).sort((one, other) => one.y - other.y);
  }

  /** Waits until exactly `part` is underlined. */
  async underlined(part, severity = "error") {
    const off = [];
    await this.until(`a line under "${part}"`, async () => {
      const box = await this.box(part);
      const boxes = await this.squiggles(severity);
      off.splice(0, off.length, box, ...boxes);
      return boxes.some(
        (each) =>
          Math.abs(each.x - box.x) < 2 &&
          Math.abs(each.width - box.width) < 3 &&
          each.y < box.y + box.height &&
          box.y < each.y + each.height,
      );
    }).catch((error) => {
      throw new Error(`${error.message}: ${JSON.stringify(off)}`);
    });
  }

  async statusItem() {
    const item = this.page.locator('.statusbar-item[id="jaxpert.jaxpert.jaxpert"], .statusbar-item[aria-label*="JAX"]');
    return (await item.count()) > 0 ? (await item.first().innerText()).trim() : "";
  }
}

module.exports = { Workbench, assert };
