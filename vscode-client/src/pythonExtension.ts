/** What the Python extension knows, where it is installed: the interpreter that the user selected. */

import * as vscode from "vscode";

const ID = "ms-python.python";

/** The part of its interface that we use. */
interface PythonApi {
  environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
    resolveEnvironment(environment: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
    onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

async function pythonApi(): Promise<PythonApi | undefined> {
  try {
    const api: unknown = await vscode.extensions.getExtension(ID)?.activate();
    return typeof api === "object" && api !== null && "environments" in api ? (api as PythonApi) : undefined;
  } catch {
    return undefined; // it says itself what is wrong
  }
}

/** The interpreter that is selected for `resource`, or for the workspace; undefined when nothing is known. */
export async function selectedInterpreter(resource?: vscode.Uri): Promise<string | undefined> {
  const environments = (await pythonApi())?.environments;
  if (environments === undefined) {
    return undefined;
  }
  try {
    const selected = environments.getActiveEnvironmentPath(resource);
    return (await environments.resolveEnvironment(selected))?.executable.uri?.fsPath;
  } catch {
    return undefined;
  }
}

/** Calls `listener` whenever the user selects another interpreter, also when the Python extension comes later. */
export function onInterpreterSelected(listener: () => void): vscode.Disposable {
  const subscriptions: vscode.Disposable[] = [];
  let isConnected = false;
  const connect = async () => {
    if (!isConnected && vscode.extensions.getExtension(ID) !== undefined) {
      isConnected = true;
      const api = await pythonApi();
      if (api !== undefined) {
        subscriptions.push(api.environments.onDidChangeActiveEnvironmentPath(listener));
      }
    }
  };
  void connect();
  subscriptions.push(vscode.extensions.onDidChange(() => void connect()));
  return new vscode.Disposable(() => {
    for (const subscription of subscriptions) {
      subscription.dispose();
    }
  });
}

/** Whether the Python extension can be asked to let the user select an interpreter. */
export function canSelectInterpreter(): boolean {
  return vscode.extensions.getExtension(ID) !== undefined;
}
