// Opens a page and keeps it open until standard input ends: node open.cjs CHROMIUM PROFILE URL SCREENSHOT
const { chromium } = require("playwright-core");
const { FLAGS } = require("./flags.cjs");

const [executablePath, profile, url, screenshot] = process.argv.slice(2);

(async () => {
  const browser = await chromium.launchPersistentContext(profile, { executablePath, args: FLAGS });
  const page = browser.pages()[0] ?? (await browser.newPage());
  page.on("console", (message) => console.log(message.type(), message.text().slice(0, 300)));
  await page.goto(url, { waitUntil: "domcontentloaded" });
  process.stdin.resume();
  await new Promise((resolve) => process.stdin.on("end", resolve));
  await page.screenshot({ path: screenshot }).catch(() => undefined);
  await browser.close();
})();
