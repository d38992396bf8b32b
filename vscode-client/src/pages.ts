/** Pages beside the code: of rules and of policies, as virtual Markdown documents in the preview. */

import * as vscode from "vscode";
import type { Server } from "./server";

const SCHEME = "jaxpert";

export class Pages implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly contents = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);

  readonly onDidChange = this.changed.event;

  constructor(private readonly server: Server) {}

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.contents.get(uri.path) ?? "This page is gone. Ask for it again.\n";
  }

  dispose(): void {
    this.registration.dispose();
    this.changed.dispose();
  }

  /** Show the page of the rule `name`, else of that of a finding at the cursor, else of one that the user picks. */
  async explainRule(name?: string): Promise<void> {
    const rule = name ?? ruleAtCursor() ?? (await this.pickRule());
    const page = rule === undefined ? undefined : await this.server.ask("jaxpert/rulePage", { name: rule });
    if (rule !== undefined && typeof page === "string") {
      await this.show(rule, page);
    }
  }

  /** Show what the policy at the cursor does. */
  async showPolicy(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) {
      return;
    }
    const { line, character } = editor.selection.active;
    const place = { uri: editor.document.uri.toString(), position: { line, character } };
    const page = await this.server.ask("jaxpert/policyPage", place);
    if (typeof page !== "string") {
      void vscode.window.showInformationMessage("There is no rematerialization policy at the cursor.");
    } else {
      await this.show("policy", `# Policy\n\n${page}\n`);
    }
  }

  private async pickRule(): Promise<string | undefined> {
    const rules = (await this.server.ask("jaxpert/rules", {})) ?? [];
    const items = rules.map((rule) => ({ label: rule.name, description: rule.code, detail: rule.summary }));
    const options = { title: "Explain a rule", matchOnDescription: true, matchOnDetail: true };
    return (await vscode.window.showQuickPick(items, options))?.label;
  }

  private async show(name: string, content: string): Promise<void> {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${name}.md` });
    this.contents.set(uri.path, content);
    this.changed.fire(uri);
    await vscode.commands.executeCommand("markdown.showPreviewToSide", uri);
  }
}

/** The rule of the finding of ours at the cursor, else of the first one in its line. */
function ruleAtCursor(): string | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    return undefined;
  }
  const { active } = editor.selection;
  const ours = vscode.languages.getDiagnostics(editor.document.uri).filter((each) => each.source === "jaxpert");
  const found =
    ours.find((each) => each.range.contains(active)) ??
    ours.find((each) => each.range.start.line <= active.line && active.line <= each.range.end.line);
  const code = typeof found?.code === "object" ? found.code.value : found?.code;
  return code?.toString();
}
