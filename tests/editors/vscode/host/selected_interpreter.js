/** Beside the Python extension: the interpreter that is selected there counts, and another one does when it changes. */

const { WORLD, assert, extension, found, open, statusText, suite, until, vscode } = require("./steps.js");

const python = () => vscode.extensions.getExtension("ms-python.python").exports;

exports.run = suite({
  "the selected interpreter's JAX counts, and it runs the server": async () => {
    const document = await open(WORLD.sample.outside);
    await found(document.uri, WORLD.sample.rule);
    await until("its JAX", () => statusText().label.includes(`JAX ${WORLD.interpreters[0].version}`));
    const { details } = statusText();
    assert.ok(details.includes("the selected interpreter"), details);
    assert.ok(details.includes(WORLD.interpreters[0].path), details);
    return details;
  },

  "another selection restarts": async () => {
    const before = extension().exports.processId();
    python().select(WORLD.interpreters[1].path);
    await until("the other JAX", () => statusText().label.includes(`JAX ${WORLD.interpreters[1].version}`));
    assert.notEqual(extension().exports.processId(), before);
  },
});
