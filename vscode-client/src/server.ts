/** The life of the server process: started, restarted in turn, stopped. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { STATUS_CHANGED, type Requests } from "./protocol";
import { canSelectInterpreter } from "./pythonExtension";
import { RestartQueue } from "./restartQueue";
import { NoPython, serverCommand, type ServerCommand } from "./serverCommand";
import { isWanted } from "./settings";

const SELECT_INTERPRETER = "Select Interpreter";
const OPEN_SETTINGS = "Open Settings";
const SHOW_LOG = "Show Log";

export class Server implements vscode.Disposable {
  private current: LanguageClient | undefined;
  private isEnding = false;
  private readonly queue = new RestartQueue(() => this.restartNow());
  private readonly changed = new vscode.EventEmitter<void>();

  /** Its state, or what it has to say about itself, is another one. */
  readonly onDidChange = this.changed.event;
  /** Why it does not run; undefined while it runs, or should not. */
  problem: string | undefined;
  /** What was started last. */
  command: ServerCommand | undefined;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  /** Whether the server answers. */
  get isRunning(): boolean {
    return this.current?.isRunning() === true;
  }

  /** The id of the process, while it runs. */
  get processId(): number | undefined {
    return this.current?.serverProcess?.pid;
  }

  /** The answer to a request of ours; undefined when the server does not run, or refuses. */
  async ask<Method extends keyof Requests>(
    method: Method,
    params: Requests[Method][0],
  ): Promise<Requests[Method][1] | undefined> {
    try {
      return this.isRunning ? await this.current?.sendRequest<Requests[Method][1]>(method, params) : undefined;
    } catch (error) {
      this.log.debug(`${method}: ${String(error)}`);
      return undefined;
    }
  }

  /** Start, or start anew. Never rejects: what goes wrong is in the log, the status, and a message. */
  restart(): Promise<void> {
    return this.queue.request();
  }

  /** Stop for good. */
  async end(): Promise<void> {
    this.isEnding = true;
    await this.queue.settled();
    await this.stop();
  }

  dispose(): void {
    this.changed.dispose();
  }

  private async restartNow(): Promise<void> {
    await this.stop();
    this.problem = undefined;
    if (this.isEnding || !isWanted()) {
      this.tell();
      return;
    }
    try {
      this.command = await serverCommand(this.context, this.log);
      this.log.info(`starting ${[this.command.command, ...this.command.args].join(" ")}`);
      const { createClient } = await import("./client"); // most of what there is to load, so after the activation
      this.current = createClient(this.command, this.log);
      this.current.onDidChangeState(() => {
        this.tell();
      });
      this.current.onNotification(STATUS_CHANGED, () => {
        this.tell();
      });
      await this.current.start();
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      this.log.error(this.problem);
      void this.offerHelp(error instanceof NoPython);
    }
    this.tell();
  }

  private async stop(): Promise<void> {
    const client = this.current;
    this.current = undefined;
    try {
      await client?.dispose();
    } catch (error) {
      this.log.debug(`stopping: ${String(error)}`); // it has ended by itself, or never began
    }
  }

  private tell(): void {
    if (!this.isEnding) {
      void vscode.commands.executeCommand("setContext", "jaxpert.isRunning", this.isRunning);
      this.changed.fire();
    }
  }

  private async offerHelp(needsPython: boolean): Promise<void> {
    const offers = [needsPython && canSelectInterpreter() ? SELECT_INTERPRETER : OPEN_SETTINGS, SHOW_LOG];
    const chosen = await vscode.window.showErrorMessage(`jaxpert does not run: ${this.problem ?? ""}`, ...offers);
    if (chosen === SELECT_INTERPRETER) {
      await vscode.commands.executeCommand("python.setInterpreter");
    } else if (chosen === OPEN_SETTINGS) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "jaxpert.interpreter");
    } else if (chosen === SHOW_LOG) {
      this.log.show();
    }
  }
}
