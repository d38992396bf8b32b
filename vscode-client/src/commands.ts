/** The commands that users call. */

import * as vscode from "vscode";
import { debugReport } from "./debugReport";
import type { Pages } from "./pages";
import { showPlaces } from "./places";
import { SHOW_PLACES } from "./protocol";
import type { Server } from "./server";
import type { StatusItem } from "./statusItem";

interface Parts {
  context: vscode.ExtensionContext;
  log: vscode.LogOutputChannel;
  server: Server;
  pages: Pages;
  status: StatusItem;
}

const MENU = [
  { label: "$(book) Explain the rule at the cursor", command: "jaxpert.explainRule" },
  { label: "$(list-tree) Show what this policy does", command: "jaxpert.showPolicy" },
  { label: "$(wand) Fix all in this file", command: "jaxpert.fixAll" },
  { label: "$(output) Show the log", command: "jaxpert.showLog" },
  { label: "$(debug-restart) Restart the server", command: "jaxpert.restart" },
  { label: "$(clippy) Copy a debug report", command: "jaxpert.copyDebugReport" },
  { label: "$(gear) Settings", command: "workbench.action.openSettings", argument: "@ext:jaxpert.jaxpert" },
];

/** Register all of them; they are gone when the result is disposed of. */
export function registerCommands({ context, log, server, pages, status }: Parts): vscode.Disposable {
  const commands: Record<string, (...args: never[]) => unknown> = {
    "jaxpert.restart": () => server.restart(),
    "jaxpert.showLog": () => {
      log.show();
    },
    "jaxpert.explainRule": (name?: unknown) => pages.explainRule(typeof name === "string" ? name : undefined),
    "jaxpert.showPolicy": () => pages.showPolicy(),
    "jaxpert.fixAll": () =>
      vscode.commands.executeCommand("editor.action.sourceAction", { kind: "source.fixAll.jaxpert", apply: "first" }),
    "jaxpert.copyDebugReport": async () => {
      await vscode.env.clipboard.writeText(await debugReport(context, server));
      void vscode.window.showInformationMessage("The debug report is on the clipboard.");
    },
    "jaxpert.showMenu": async () => {
      const title = plain(status.text.details);
      const chosen = await vscode.window.showQuickPick(MENU, { title: "jaxpert", placeHolder: title });
      if (chosen !== undefined) {
        await vscode.commands.executeCommand(chosen.command, chosen.argument);
      }
    },
    [SHOW_PLACES]: showPlaces,
  };
  const registered = Object.entries(commands).map(([name, command]) => vscode.commands.registerCommand(name, command));
  return vscode.Disposable.from(...registered);
}

/** The paragraphs of the status in one line, without markup, and without the path of Python, which is too long for it. */
function plain(details: string): string {
  const short = details.split("\n\n").filter((paragraph) => !paragraph.startsWith("`"));
  return short.join(" · ").replace(/[*`]/g, "");
}
