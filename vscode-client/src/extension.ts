/** Where VS Code enters. */

import * as vscode from "vscode";
import { registerCommands } from "./commands";
import { Pages } from "./pages";
import { onInterpreterSelected } from "./pythonExtension";
import { Server } from "./server";
import { concernsTheStart } from "./settings";
import { StatusItem } from "./statusItem";

/** What other extensions, and the tests, can see. */
export interface JaxpertApi {
  /** Resolves when the start that is under way is done. */
  readonly ready: Promise<void>;
  /** The id of the server's process, while it runs. */
  processId(): number | undefined;
  /** What the status bar shows. */
  statusText(): { label: string; details: string };
}

let server: Server | undefined;

/** Register everything, and start the server without waiting for it. */
export function activate(context: vscode.ExtensionContext): JaxpertApi {
  const log = vscode.window.createOutputChannel("jaxpert", { log: true });
  const started = new Server(context, log);
  server = started;
  const status = new StatusItem(started);
  const pages = new Pages(started);
  const restart = () => void started.restart();
  context.subscriptions.push(
    log,
    started,
    status,
    pages,
    registerCommands({ context, log, server: started, pages, status }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (concernsTheStart(event)) {
        restart();
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
    onInterpreterSelected(restart),
  );
  return {
    ready: started.restart(),
    processId: () => started.processId,
    statusText: () => status.text,
  };
}

/** The editor closes, or the extension is switched off. */
export async function deactivate(): Promise<void> {
  await server?.end();
}
