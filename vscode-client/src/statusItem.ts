/** The item in the status bar: the JAX that code is checked against, and what is amiss. */

import * as vscode from "vscode";
import type { Status } from "./protocol";
import type { Server } from "./server";
import { statusText } from "./statusText";

const QUIET = 100;

export class StatusItem {
  private readonly item = vscode.window.createStatusBarItem("jaxpert", vscode.StatusBarAlignment.Right, 90);
  private readonly subscriptions: { dispose(): unknown }[];
  private timer: NodeJS.Timeout | undefined;

  /** What was last shown. */
  status: Status | undefined;

  constructor(private readonly server: Server) {
    this.item.name = "jaxpert";
    this.item.command = "jaxpert.showMenu";
    const soon = () => {
      this.soon();
    };
    this.subscriptions = [
      this.item,
      server.onDidChange(soon),
      vscode.window.onDidChangeActiveTextEditor(soon),
      vscode.window.onDidChangeActiveNotebookEditor(soon),
      vscode.workspace.onDidOpenTextDocument(soon), // also when the language of a document is changed
    ];
    this.soon();
  }

  /** The label and the paragraphs behind it. */
  get text(): { label: string; details: string } {
    const { tooltip } = this.item;
    return { label: this.item.text, details: typeof tooltip === "object" ? tooltip.value : (tooltip ?? "") };
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
  }

  private soon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.update(), QUIET);
  }

  private async update(): Promise<void> {
    const document = activeDocument();
    if (document === undefined) {
      this.item.hide();
      return;
    }
    const { isRunning } = this.server;
    this.status = isRunning ? ((await this.server.ask("jaxpert/status", { uri: document })) ?? this.status) : undefined;
    const { problem, processId } = this.server;
    const text = statusText(problem, processId !== undefined, this.status);
    this.item.text = text.label;
    this.item.tooltip = new vscode.MarkdownString(text.details.join("\n\n"));
    this.item.backgroundColor = text.isWarning ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    this.item.show();
  }
}

/** The URI of the Python document that the user looks at; of a notebook, that of a cell. */
export function activeDocument(): string | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.languageId === "python") {
    return editor.document.uri.toString();
  }
  const cells = vscode.window.activeNotebookEditor?.notebook.getCells() ?? [];
  return cells.find((cell) => cell.document.languageId === "python")?.document.uri.toString();
}
