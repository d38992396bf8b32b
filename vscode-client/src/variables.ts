/** Variables in settings, as in VS Code's own: `${workspaceFolder}`, `${userHome}`, `${env:NAME}`, and a leading `~`. */

export interface VariableValues {
  home: string;
  /** The folder that the setting is for. */
  folder?: string | undefined;
  /** Paths of workspace folders by their name. */
  folders: Record<string, string>;
  environment: Record<string, string | undefined>;
}

/** `text` with its variables replaced; one that is not known stays as it is. */
export function withVariables(text: string, values: VariableValues): string {
  const known: Record<string, string | undefined> = { userHome: values.home, workspaceFolder: values.folder };
  return text
    .replace(/^~(?=$|[\\/])/, () => values.home)
    .replace(/\$\{(?:(env|workspaceFolder):)?([^}:]+)\}/g, (whole, kind: string | undefined, name: string) => {
      if (kind === "env") {
        return values.environment[name] ?? "";
      }
      return (kind === undefined ? known[name] : values.folders[name]) ?? whole;
    });
}
