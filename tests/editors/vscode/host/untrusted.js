/** A workspace that is not trusted, full of programs that tell when they are run. */

const { WORLD, assert, extension, found, fs, open, suite, until, vscode } = require("./steps.js");

exports.run = suite({
  "findings come, and nothing of the workspace runs": async () => {
    assert.equal(vscode.workspace.isTrusted, false);
    const document = await open(WORLD.sample.model);
    await found(document.uri, WORLD.sample.rule);
    await vscode.commands.executeCommand("jaxpert.restart");
    await until("the server", () => extension().exports.processId() !== undefined);
    await found(document.uri, WORLD.sample.rule);
    await vscode.commands.executeCommand("jaxpert.copyDebugReport");
    const report = await vscode.env.clipboard.readText();
    assert.match(report, /not trusted/);
    assert.equal(fs.existsSync(WORLD.trap), false, "a program of the workspace ran");
    return report;
  },
});
