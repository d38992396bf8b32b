/** The language client: how VS Code talks with one server process. */

import * as vscode from "vscode";
import {
  LanguageClient,
  RevealOutputChannelOn,
  type ClientCapabilities,
  type LanguageClientOptions,
  type StaticFeature,
} from "vscode-languageclient/node";
import { SHOW_PLACES } from "./protocol";
import { selectedInterpreter } from "./pythonExtension";
import type { ServerCommand } from "./serverCommand";
import { interpreterSetting, SECTION } from "./settings";

/** Tells the server what this client can do beyond the protocol. */
class Abilities implements StaticFeature {
  fillClientCapabilities(capabilities: ClientCapabilities): void {
    capabilities.experimental = {
      ...(capabilities.experimental as object | undefined),
      commands: { commands: [SHOW_PLACES] },
      jaxpertStatus: true,
    };
  }
  initialize(): void {
    // Nothing in the server's answer concerns it.
  }
  getState(): ReturnType<StaticFeature["getState"]> {
    return { kind: "static" };
  }
  clear(): void {
    // It holds nothing.
  }
}

/** A client of the server that `server` starts; it is not started yet. */
export function createClient(server: ServerCommand, log: vscode.LogOutputChannel): LanguageClient {
  const schemes = ["file", "untitled", "vscode-notebook-cell"];
  const options: LanguageClientOptions = {
    documentSelector: schemes.map((scheme) => ({ scheme, language: "python" })),
    outputChannel: log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationFailedHandler: () => false,
    // What the server logs comes as messages; of standard error nothing is left but what Python itself says.
    stdioOptions: {
      stdout: () => undefined,
      stderr: (stream, output) => {
        stream.setEncoding("utf8").on("data", (text: string) => {
          output.warn(text.trimEnd());
        });
      },
    },
    middleware: {
      workspace: {
        configuration: async (params, token, next) => {
          const answer = await next(params, token);
          if (!Array.isArray(answer)) {
            return answer;
          }
          const values = answer as unknown[];
          return Promise.all(
            params.items.map((item, index) =>
              item.section === SECTION ? withInterpreter(values[index], item.scopeUri) : values[index],
            ),
          );
        },
      },
    },
  };
  const env = { ...process.env, PYTHONUTF8: "1" }; // the whole of it: what is given is not added to what there is
  const executable = { command: server.command, args: server.args, options: { cwd: server.cwd, env } };
  const client = new LanguageClient(SECTION, "jaxpert", executable, options);
  client.registerFeature(new Abilities());
  return client;
}

/** The settings of a folder with the interpreter that counts there: the one that is set, else the one selected. */
async function withInterpreter(settings: unknown, scope: string | undefined): Promise<unknown> {
  const uri = scope === undefined ? undefined : vscode.Uri.parse(scope);
  const set = interpreterSetting(uri && vscode.workspace.getWorkspaceFolder(uri));
  const interpreter = set === "" ? await selectedInterpreter(uri) : set;
  return { ...(settings as object | null), interpreter: interpreter ?? "" };
}
