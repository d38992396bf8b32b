/** What to run as the server. */

import * as path from "node:path";
import * as vscode from "vscode";
import { candidates, firstUsable, OLDEST_PYTHON, type Surroundings } from "./interpreters";
import { selectedInterpreter } from "./pythonExtension";
import { startSettings } from "./settings";

export interface ServerCommand {
  command: string;
  args: string[];
  cwd: string;
}

/** There is no Python that runs the server. */
export class NoPython extends Error {
  constructor() {
    super(`no Python ${OLDEST_PYTHON.join(".")} or later found to run the server`);
  }
}

/**
 * What to run now.
 *
 * In a workspace that is not trusted that is the bundled server, with a Python from PATH that lies outside of it.
 *
 * @throws NoPython there is nothing to run it with.
 */
export async function serverCommand(context: vscode.ExtensionContext, log: vscode.LogOutputChannel): Promise<ServerCommand> {
  const cwd = context.globalStorageUri.fsPath; // empty, so that nothing is imported or configured from there
  await vscode.workspace.fs.createDirectory(context.globalStorageUri);
  const { isTrusted } = vscode.workspace;
  const settings = startSettings();
  if (isTrusted && settings.path !== "") {
    return { command: settings.path, args: ["lsp", ...settings.args], cwd };
  }
  const around: Surroundings = {
    platform: process.platform,
    environment: process.env,
    folders: (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath),
    isTrusted,
  };
  const chosen = isTrusted ? [settings.interpreter, await selectedInterpreter()].filter(isText) : [];
  const python = await firstUsable([...chosen, ...candidates(around)], around, (program, reason) => {
    log.warn(`${program} ${reason}`);
  });
  if (python === undefined) {
    throw new NoPython();
  }
  const script = path.join(context.extensionPath, "bundled", "run_server.py");
  const strategy = isTrusted ? settings.importStrategy : "useBundled";
  // Isolated, Python takes nothing from its environment variables and from the user's own packages.
  const isolated = isTrusted ? [] : ["-I"];
  return { command: python, args: [...isolated, script, strategy, ...(isTrusted ? settings.args : [])], cwd };
}

function isText(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}
