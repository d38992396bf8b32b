/** The part of the Python extension's interface that matters to others: which interpreter is selected. */

const vscode = require("vscode");

exports.activate = () => {
  const changed = new vscode.EventEmitter();
  let selected = JSON.parse(process.env.JAXPERT_VSCODE_TEST).interpreters[0].path;
  return {
    environments: {
      getActiveEnvironmentPath: () => ({ id: selected, path: selected }),
      resolveEnvironment: async ({ path }) => ({ executable: { uri: vscode.Uri.file(path) } }),
      onDidChangeActiveEnvironmentPath: changed.event,
    },
    select(path) {
      selected = path;
      changed.fire({ path });
    },
  };
};
