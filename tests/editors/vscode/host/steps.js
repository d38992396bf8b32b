/** What the suites that run inside the extension host have in common: steps that are told to the outside. */

const assert = require("node:assert/strict");
const fs = require("node:fs");
const vscode = require("vscode");

const EXTENSION = "jaxpert.jaxpert";
const PATIENCE = 40_000;
const WORLD = JSON.parse(process.env.JAXPERT_VSCODE_TEST);

/** What `found` gives, as soon as it is something. */
async function until(what, found, patience = PATIENCE) {
  const end = Date.now() + patience;
  for (;;) {
    const value = await found();
    if (value) {
      return value;
    }
    assert.ok(Date.now() < end, `waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/**
 * A `run` for the extension host: does the `steps`, by name, in turn, and writes how they went. The names of those
 * that failed come with the reason; the others with what they return.
 */
function suite(steps) {
  return async () => {
    const outcome = { version: vscode.version, steps: {}, failed: {} };
    for (const [name, step] of Object.entries(steps)) {
      try {
        outcome.steps[name] = (await step()) ?? null;
      } catch (error) {
        outcome.failed[name] = String(error.stack);
      }
    }
    fs.writeFileSync(`${WORLD.result}.part`, JSON.stringify(outcome, undefined, 1));
    fs.renameSync(`${WORLD.result}.part`, WORLD.result);
  };
}

const extension = () => vscode.extensions.getExtension(EXTENSION);

/** Our diagnostics of a document. */
const ours = (uri) => vscode.languages.getDiagnostics(uri).filter((each) => each.source === "jaxpert");
const codes = (uri) => ours(uri).map((each) => String(each.code?.value ?? each.code));

async function open(path) {
  const document = await vscode.workspace.openTextDocument(path);
  await vscode.window.showTextDocument(document, { preview: false });
  return document;
}

/** The first diagnostic of `rule`, when it is there. */
const found = (uri, rule) =>
  until(`${rule} in ${uri}`, () => ours(uri).find((each) => String(each.code?.value ?? each.code) === rule));

/** Waits until `rule` is no longer reported. */
const gone = (uri, rule) => until(`the end of ${rule} in ${uri}`, () => !codes(uri).includes(rule));

/** Inserts `text` at the end of a document, as if it were typed. */
async function append(document, text) {
  const editor = await vscode.window.showTextDocument(document);
  const end = document.lineAt(document.lineCount - 1).range.end;
  await editor.edit((edit) => {
    edit.insert(end, text);
  });
}

const statusText = () => extension().exports.statusText();

module.exports = { WORLD, append, assert, codes, extension, found, fs, gone, open, ours, statusText, suite, until, vscode };
