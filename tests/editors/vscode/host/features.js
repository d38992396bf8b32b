/** Everything that the extension does in one folder, whose path has blanks and characters beyond ASCII. */

const { WORLD, append, assert, codes, extension, found, fs, gone, open, ours, statusText, suite, until, vscode } =
  require("./steps.js");

const { sample } = WORLD;
let model, train;

/** Where the policy in the line with the mistake begins, in UTF-16 units, and the line. */
const lineOf = (document, text) => {
  const number = document.getText().split("\n").findIndex((line) => line.includes(text));
  const column = document.lineAt(number).text.indexOf(text);
  return new vscode.Range(number, column, number, column + text.length);
};
const execute = vscode.commands.executeCommand;
const set = (name, value, target = vscode.ConfigurationTarget.Global) =>
  vscode.workspace.getConfiguration().update(name, value, target);

exports.run = suite({
  "nothing runs before Python is seen": async () => {
    assert.equal(extension().isActive, false);
    const before = process.cpuUsage();
    const began = performance.now();
    const api = await extension().activate();
    const took = performance.now() - began;
    const used = process.cpuUsage(before);
    await api.ready;
    return { activationMilliseconds: Math.round(took), ofProcessor: Math.round((used.user + used.system) / 1000) };
  },

  "the mistake is marked at the right characters": async () => {
    model = await open(sample.model);
    const diagnostic = await found(model.uri, sample.rule);
    assert.deepEqual(diagnostic.range, lineOf(model, sample.mistake));
    return { message: diagnostic.message, range: diagnostic.range };
  },

  "a hover says what it is": async () => {
    const place = lineOf(model, sample.hovered).start.translate(0, 2);
    const hovers = await execute("vscode.executeHoverProvider", model.uri, place);
    const text = hovers.flatMap((hover) => hover.contents.map((content) => content.value)).join("\n");
    assert.ok(text.includes(sample.hover), text);
  },

  "the status item tells the version and where it is from": async () => {
    await until("the version", () => statusText().label.includes("JAX 0.10.2"));
    await until("the end of indexing", () => !statusText().label.includes("sync"));
    const { details } = statusText();
    assert.match(details, /\d+ rules/);
    assert.match(details, /JAX 0\.10\.2\*\* · setting/);
    return statusText();
  },

  "inlay hints are shown": async () => {
    train = await open(sample.train);
    const whole = new vscode.Range(0, 0, train.lineCount, 0);
    const hints = await until("hints", async () => {
      const given = await execute("vscode.executeInlayHintProvider", train.uri, whole);
      return given.length > 0 && given;
    });
    return hints.map((hint) => String(hint.label));
  },

  "hints that are switched off are gone": async () => {
    await set("jaxpert.inlayHints.policy", false);
    await set("jaxpert.inlayHints.checkpointNames", false);
    const whole = new vscode.Range(0, 0, train.lineCount, 0);
    await until("no hints", async () => (await execute("vscode.executeInlayHintProvider", train.uri, whole)).length === 0);
    await set("jaxpert.inlayHints.policy", undefined);
    await set("jaxpert.inlayHints.checkpointNames", undefined);
  },

  "code lenses lead to places": async () => {
    const lenses = await until("lenses", async () => {
      const given = await execute("vscode.executeCodeLensProvider", model.uri);
      return given.length > 0 && given;
    });
    const lens = lenses.find((each) => each.command?.command === "jaxpert.showPlaces");
    assert.ok(lens, JSON.stringify(lenses));
    await execute(lens.command.command, ...lens.command.arguments);
    await execute("closeReferenceSearch");
    return lenses.map((each) => each.command.title);
  },

  "a name is completed": async () => {
    await append(train, sample.completed);
    const end = train.lineAt(train.lineCount - 1).range.end;
    const labels = await until("the name", async () => {
      const list = await execute("vscode.executeCompletionItemProvider", train.uri, end, '"');
      const all = list.items.map((item) => String(item.label.label ?? item.label));
      return all.includes(sample.name) && all;
    });
    await execute("undo");
    return labels.slice(0, 5);
  },

  "a name is renamed in both files": async () => {
    const place = lineOf(model, sample.name).start.translate(0, 1);
    const edit = await execute("vscode.executeDocumentRenameProvider", model.uri, place, sample.newName);
    assert.equal(edit.entries().length, 2);
    assert.ok(await vscode.workspace.applyEdit(edit));
    for (const document of [model, train]) {
      assert.ok(document.getText().includes(sample.newName) && !document.getText().includes(sample.name));
    }
  },

  "a quick fix is applied and the mistake is gone": async () => {
    const { range } = await found(model.uri, sample.rule);
    const actions = await execute("vscode.executeCodeActionProvider", model.uri, range, "quickfix", 10);
    const fix = actions.find((action) => action.isPreferred);
    assert.ok(fix?.edit, JSON.stringify(actions.map((action) => action.title)));
    assert.ok(await vscode.workspace.applyEdit(fix.edit));
    await gone(model.uri, sample.rule);
    assert.ok(model.getText().includes(sample.fixed));
    return actions.map((action) => action.title);
  },

  "a new mistake is seen as it is typed": async () => {
    await append(model, sample.newMistake);
    await found(model.uri, sample.newRule);
  },

  "the page of the rule at the cursor is shown": async () => {
    const { range } = await found(model.uri, sample.newRule);
    const editor = await vscode.window.showTextDocument(model);
    editor.selection = new vscode.Selection(range.start, range.start);
    await execute("jaxpert.explainRule");
    const page = await until("the page", () =>
      vscode.workspace.textDocuments.find((document) => document.uri.scheme === "jaxpert"),
    );
    assert.ok(page.getText().startsWith(`# ${sample.newRule}\n`), page.getText().slice(0, 100));
    await until("the preview", () =>
      vscode.window.tabGroups.all.flatMap((group) => group.tabs).find((tab) => tab.label.includes(sample.newRule)),
    );
  },

  "the page of a policy is shown": async () => {
    const editor = await vscode.window.showTextDocument(train, vscode.ViewColumn.One);
    const { start } = lineOf(train, "policy=");
    editor.selection = new vscode.Selection(start.line, 0, start.line, 0);
    await execute("jaxpert.showPolicy");
    const page = await until("the page", () =>
      vscode.workspace.textDocuments.find((document) => document.uri.path === "/policy.md"),
    );
    assert.match(page.getText(), /on the backward pass/);
    await execute("workbench.action.closeEditorsInOtherGroups");
    return page.getText();
  },

  "a rule that is ignored is silent at once": async () => {
    await vscode.window.showTextDocument(model, vscode.ViewColumn.One);
    await set("jaxpert.ignore", [sample.newRule]);
    await gone(model.uri, sample.newRule);
    await set("jaxpert.ignore", undefined);
    await found(model.uri, sample.newRule);
  },

  "another version of JAX counts at once": async () => {
    await vscode.window.showTextDocument(model, vscode.ViewColumn.One);
    await set("jaxpert.jaxVersion", "0.7.2");
    await until("JAX 0.7.2", () => statusText().label.includes("JAX 0.7.2"));
    await set("jaxpert.jaxVersion", undefined);
    await until("JAX 0.10.2", () => statusText().label.includes("JAX 0.10.2"));
  },

  "saving fixes all": async () => {
    await set("editor.codeActionsOnSave", { "source.fixAll.jaxpert": "explicit" });
    const path = sample.model.replace("model.py", "saved.py");
    fs.writeFileSync(path, `${sample.text}`);
    const document = await open(path);
    await found(document.uri, sample.rule);
    await append(document, "\n");
    assert.ok(await document.save());
    await gone(document.uri, sample.rule);
    assert.ok(fs.readFileSync(path, "utf8").includes(sample.fixed));
    await set("editor.codeActionsOnSave", undefined);
    fs.unlinkSync(path);
  },

  "an untitled buffer is checked": async () => {
    const document = await vscode.workspace.openTextDocument({ language: "python", content: sample.text });
    await vscode.window.showTextDocument(document);
    const diagnostic = await found(document.uri, sample.rule);
    assert.deepEqual(diagnostic.range, lineOf(document, sample.mistake));
    await execute("jaxpert.fixAll");
    await until("the fix", () => document.getText().includes(sample.fixed));
  },

  "a file outside of the folder is checked": async () => {
    const document = await open(sample.outside);
    await found(document.uri, sample.rule);
  },

  "a cell of a notebook is checked": async () => {
    const data = new vscode.NotebookData([
      new vscode.NotebookCellData(vscode.NotebookCellKind.Code, 'x = "🎉"\nimport jax', "python"),
      new vscode.NotebookCellData(vscode.NotebookCellKind.Code, `y = "🎉"; ${sample.newMistake}`, "python"),
      new vscode.NotebookCellData(vscode.NotebookCellKind.Code, "def layer(x):\n    return x", "python"),
    ]);
    const notebook = await vscode.workspace.openNotebookDocument("jupyter-notebook", data);
    await vscode.window.showNotebookDocument(notebook);
    const cell = notebook.cellAt(1).document;
    const diagnostic = await found(cell.uri, sample.newRule);
    assert.ok(cell.getText(diagnostic.range).includes("save_only_these_names"), cell.getText(diagnostic.range));
    assert.equal(ours(cell.uri).length, 1);
    const place = diagnostic.range.end.translate(0, -2);
    assert.notEqual((await execute("vscode.executeHoverProvider", cell.uri, place)).length, 0);
    const edit = new vscode.WorkspaceEdit();
    edit.replace(cell.uri, new vscode.Range(0, 0, cell.lineCount, 0), "pass");
    await vscode.workspace.applyEdit(edit);
    await gone(cell.uri, sample.newRule);
    await until("the version", () => statusText().label.includes("JAX 0"));
  },

  "the server has the environment of the editor": async () => {
    const environment = fs.readFileSync(`/proc/${extension().exports.processId()}/environ`, "utf8").split("\0");
    assert.ok(environment.some((entry) => entry.startsWith("JAXPERT_VSCODE_TEST=")));
    assert.ok(environment.includes("PYTHONUTF8=1"));
  },

  "a debug report is copied": async () => {
    await execute("jaxpert.copyDebugReport");
    const report = await vscode.env.clipboard.readText();
    assert.match(report, /jaxpert debug report/);
    assert.match(report, /run_server\.py useBundled/);
    return report;
  },

  "the server that is killed comes back": async () => {
    const before = extension().exports.processId();
    process.kill(before, "SIGKILL");
    await until("another process", () => {
      const now = extension().exports.processId();
      return now !== undefined && now !== before;
    });
    await vscode.window.showTextDocument(model);
    await until("findings", () => codes(model.uri).includes(sample.newRule));
  },

  "restarts come one at a time": async () => {
    const before = extension().exports.processId();
    const restarts = [1, 2, 3, 4].map(() => execute("jaxpert.restart"));
    await Promise.all(restarts);
    assert.notEqual(extension().exports.processId(), before);
    await found(model.uri, sample.newRule);
    assert.equal(ours(model.uri).length, 1, "findings of an earlier server are gone");
  },

  "a setting about the start restarts": async () => {
    const before = extension().exports.processId();
    await set("jaxpert.args", ["--stdio"]);
    await until("another process", () => {
      const now = extension().exports.processId();
      return now !== undefined && now !== before;
    });
    await found(model.uri, sample.newRule);
  },

  "switched off, nothing is said": async () => {
    await set("jaxpert.enable", false);
    await until("silence", () => ours(model.uri).length === 0 && extension().exports.processId() === undefined);
    await set("jaxpert.enable", undefined);
    await found(model.uri, sample.newRule);
  },

  "what does not start says why": async () => {
    await set("jaxpert.path", "/nowhere/jaxpert");
    await until("the problem", () => statusText().label.includes("error"));
    const { details } = statusText();
    await set("jaxpert.path", undefined);
    await found(model.uri, sample.newRule);
    return details;
  },
});
