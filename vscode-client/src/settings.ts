/** The settings that the extension itself reads; all others it only passes on to the server. */

import { homedir } from "node:os";
import * as vscode from "vscode";
import { withVariables } from "./variables";

export const SECTION = "jaxpert";

/** Those that count only when the server starts. */
const ABOUT_THE_START = ["enable", "path", "interpreter", "importStrategy", "args"];

export type ImportStrategy = "useBundled" | "fromEnvironment";

export interface StartSettings {
  path: string;
  interpreter: string;
  importStrategy: ImportStrategy;
  args: string[];
}

/** How to start the server, which serves all folders: as set for the first one. */
export function startSettings(): StartSettings {
  const folder = vscode.workspace.workspaceFolders?.[0];
  const settings = vscode.workspace.getConfiguration(SECTION, folder);
  const replaced = (text: string) => replaceVariables(text, folder);
  return {
    path: replaced(settings.get<string>("path", "")),
    interpreter: replaced(settings.get<string>("interpreter", "")),
    importStrategy: settings.get<ImportStrategy>("importStrategy", "useBundled"),
    args: settings.get<string[]>("args", []).map(replaced),
  };
}

/** The interpreter that is set for a folder, or for what lies in none; "" when none is. */
export function interpreterSetting(folder: vscode.WorkspaceFolder | undefined): string {
  const settings = vscode.workspace.getConfiguration(SECTION, folder);
  return replaceVariables(settings.get<string>("interpreter", ""), folder);
}

/** Whether any folder wants to be checked. */
export function isWanted(): boolean {
  const folders = vscode.workspace.workspaceFolders;
  const scopes = folders !== undefined && folders.length > 0 ? folders : [undefined];
  return scopes.some((folder) => vscode.workspace.getConfiguration(SECTION, folder).get<boolean>("enable", true));
}

/** Whether the server must be started anew because of a change. */
export function concernsTheStart(event: vscode.ConfigurationChangeEvent): boolean {
  return ABOUT_THE_START.some((name) => event.affectsConfiguration(`${SECTION}.${name}`));
}

function replaceVariables(text: string, folder: vscode.WorkspaceFolder | undefined): string {
  const folders = vscode.workspace.workspaceFolders ?? [];
  return withVariables(text, {
    home: homedir(),
    folder: folder?.uri.fsPath,
    folders: Object.fromEntries(folders.map((each) => [each.name, each.uri.fsPath])),
    environment: process.env,
  });
}
