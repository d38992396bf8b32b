/** Which Pythons could run the server, where no setting and no other extension says so. */

import { execFile } from "node:child_process";
import { promises as files } from "node:fs";
import * as path from "node:path";

export interface Surroundings {
  platform: NodeJS.Platform;
  environment: Record<string, string | undefined>;
  /** Paths of the workspace folders. */
  folders: readonly string[];
  /** Whether programs inside the workspace folders may run. */
  isTrusted: boolean;
}

export const OLDEST_PYTHON: readonly [number, number] = [3, 10];
const PATIENCE = 10_000;

/** Paths where a Python may be, the best first: in the workspace, in the active environment, on PATH. */
export function candidates(around: Surroundings): string[] {
  const found: string[] = [];
  if (around.isTrusted) {
    for (const folder of around.folders) {
      found.push(...[".venv", "venv", "env"].map((name) => inPrefix(path.join(folder, name), around.platform)));
    }
    for (const name of ["VIRTUAL_ENV", "CONDA_PREFIX"]) {
      const prefix = around.environment[name];
      if (prefix) {
        found.push(inPrefix(prefix, around.platform, name === "CONDA_PREFIX"));
      }
    }
  }
  const windows = around.platform === "win32";
  const names = windows ? ["python.exe", "python3.exe"] : ["python3", "python"];
  const onPath = around.environment.PATH ?? around.environment.Path ?? "";
  for (const folder of onPath.split(windows ? ";" : ":")) {
    // A relative entry would be looked up wherever the editor happens to run.
    if (path.isAbsolute(folder)) {
      found.push(...names.map((name) => path.join(folder, name)));
    }
  }
  return [...new Set(found)];
}

/** Where a virtual environment has its Python. */
function inPrefix(prefix: string, platform: NodeJS.Platform, isConda = false): string {
  if (platform !== "win32") {
    return path.join(prefix, "bin", "python");
  }
  return isConda ? path.join(prefix, "python.exe") : path.join(prefix, "Scripts", "python.exe");
}

/**
 * Whether running `program` would run something that lies in one of `folders`: by its own path, or by where its links
 * lead, in folders as they are named and as they really are.
 */
export async function liesInside(program: string, folders: readonly string[]): Promise<boolean> {
  const places = [program, await realPath(program)];
  const roots = [...folders, ...(await Promise.all(folders.map(realPath)))];
  return roots.some((root) => places.some((place) => isBelow(place, root)));
}

function isBelow(place: string, root: string): boolean {
  const relative = path.relative(root, place);
  return relative !== ".." && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
}

async function realPath(place: string): Promise<string> {
  return files.realpath(place).catch(() => path.resolve(place));
}

/** The version of a Python as two numbers; undefined when there is none at `program` or it does not answer. */
export async function versionOf(program: string): Promise<[number, number] | undefined> {
  const isThere = await files.access(program).then(
    () => true,
    () => false,
  );
  if (!isThere) {
    return undefined;
  }
  const code = "import sys; print('%d.%d' % sys.version_info[:2])";
  return new Promise((resolve) => {
    execFile(program, ["-I", "-c", code], { timeout: PATIENCE, windowsHide: true }, (error, output) => {
      const match = error ? null : /^(\d+)\.(\d+)\s*$/.exec(output);
      resolve(match ? [Number(match[1]), Number(match[2])] : undefined);
    });
  });
}

/** Whether the server runs on this version of Python. */
export function isNewEnough([major, minor]: readonly [number, number]): boolean {
  return major > OLDEST_PYTHON[0] || (major === OLDEST_PYTHON[0] && minor >= OLDEST_PYTHON[1]);
}

/** The first of `programs` that runs the server; `rejected` hears why another one does not. */
export async function firstUsable(
  programs: readonly string[],
  around: Surroundings,
  rejected: (program: string, reason: string) => void,
): Promise<string | undefined> {
  for (const program of programs) {
    if (!around.isTrusted && (await liesInside(program, around.folders))) {
      rejected(program, "lies in a workspace that is not trusted");
      continue;
    }
    const version = await versionOf(program);
    if (version !== undefined && isNewEnough(version)) {
      return program;
    }
    if (version !== undefined) {
      rejected(program, `is Python ${version.join(".")}, and the server needs ${OLDEST_PYTHON.join(".")} or later`);
    }
  }
  return undefined;
}
