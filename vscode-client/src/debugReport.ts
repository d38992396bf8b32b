/** What somebody who looks into a problem needs to know, ready to be pasted. */

import * as vscode from "vscode";
import type { Server } from "./server";
import { SECTION } from "./settings";
import { activeDocument } from "./statusItem";

interface Manifest {
  contributes: { configuration: { properties: object } };
}

/** The report as Markdown. Nothing of the user's code is in it. */
export async function debugReport(context: vscode.ExtensionContext, server: Server): Promise<string> {
  const uri = activeDocument();
  const status = await server.ask("jaxpert/status", uri === undefined ? {} : { uri });
  const { command, problem } = server;
  const facts = {
    "Extension": versionOf(context.extension) ?? "",
    "Editor": `${vscode.env.appName} ${vscode.version}, ${vscode.env.remoteName ?? "local"}`,
    "System": `${process.platform} ${process.arch}`,
    "Python extension": versionOf(vscode.extensions.getExtension("ms-python.python")) ?? "none",
    "Workspace": `${vscode.workspace.workspaceFolders?.length ?? 0} folders, ${vscode.workspace.isTrusted ? "trusted" : "not trusted"}`,
    "Server": command ? [command.command, ...command.args].join(" ") : "not started",
    "Problem": problem ?? "none",
  };
  return [
    "### jaxpert debug report",
    Object.entries(facts)
      .map(([name, value]) => `- ${name}: ${value}`)
      .join("\n"),
    "Status:",
    fenced(status ?? null),
    "Settings that are not the default:",
    fenced(changedSettings(context)),
    "",
  ].join("\n\n");
}

function versionOf(extension: vscode.Extension<unknown> | undefined): string | undefined {
  return (extension?.packageJSON as { version?: string } | undefined)?.version;
}

function changedSettings(context: vscode.ExtensionContext): Record<string, unknown> {
  const folder = vscode.workspace.workspaceFolders?.[0];
  const settings = vscode.workspace.getConfiguration(SECTION, folder);
  const changed: Record<string, unknown> = {};
  for (const name of settingNames(context)) {
    const { globalValue, workspaceValue, workspaceFolderValue } = settings.inspect(name) ?? {};
    const set = workspaceFolderValue ?? workspaceValue ?? globalValue;
    if (set !== undefined) {
      changed[name] = set;
    }
  }
  return changed;
}

/** The names of all settings, without the section. */
function settingNames(context: vscode.ExtensionContext): string[] {
  const { contributes } = context.extension.packageJSON as Manifest;
  return Object.keys(contributes.configuration.properties).map((name) => name.slice(SECTION.length + 1));
}

function fenced(value: unknown): string {
  return `\`\`\`json\n${JSON.stringify(value, undefined, 2)}\n\`\`\``;
}
