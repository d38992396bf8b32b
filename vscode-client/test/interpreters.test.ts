import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import test from "node:test";
import { candidates, firstUsable, isNewEnough, liesInside, versionOf, type Surroundings } from "../src/interpreters";

const AROUND: Surroundings = {
  platform: process.platform,
  environment: { VIRTUAL_ENV: "/env", CONDA_PREFIX: "/conda", PATH: "/bin:tools::/usr/bin" },
  folders: ["/one", "/two"],
  isTrusted: true,
};
const onPosix = { skip: process.platform === "win32" };

/** A folder of its own, with programs that say that they are this Python. */
function withPrograms(versions: Record<string, string>, check: (folder: string) => Promise<void>) {
  return async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "jaxpert größe "));
    try {
      for (const [name, version] of Object.entries(versions)) {
        const program = path.join(folder, name);
        mkdirSync(path.dirname(program), { recursive: true });
        writeFileSync(program, `#!/bin/sh\n${version}\n`);
        chmodSync(program, 0o755);
      }
      await check(folder);
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
}

test("the workspace comes first, then the environment, then PATH", onPosix, () => {
  const found = candidates(AROUND);
  assert.deepEqual(found.slice(0, 2), ["/one/.venv/bin/python", "/one/venv/bin/python"]);
  assert.deepEqual(found.slice(6), [
    "/env/bin/python",
    "/conda/bin/python",
    "/bin/python3",
    "/bin/python",
    "/usr/bin/python3",
    "/usr/bin/python",
  ]);
});

test("without trust only PATH counts", onPosix, () => {
  const found = candidates({ ...AROUND, isTrusted: false });
  assert.deepEqual(found, ["/bin/python3", "/bin/python", "/usr/bin/python3", "/usr/bin/python"]);
});

test("the version is asked for", onPosix, withPrograms({ a: "echo 3.12", b: "exit 1", c: "echo words" }, async (folder) => {
  assert.deepEqual(await versionOf(path.join(folder, "a")), [3, 12]);
  for (const name of ["b", "c", "missing"]) {
    assert.equal(await versionOf(path.join(folder, name)), undefined);
  }
}));

for (const [version, isEnough] of [[[3, 9], false], [[3, 10], true], [[4, 0], true], [[2, 99], false]] as const) {
  test(`${version.join(".")} is ${isEnough ? "" : "not "}new enough`, () => {
    assert.equal(isNewEnough(version), isEnough);
  });
}

test("an old one is passed over, with the reason", onPosix, withPrograms({ old: "echo 3.8", good: "echo 3.11" }, async (folder) => {
  const rejected: string[] = [];
  const programs = ["missing", "old", "good"].map((name) => path.join(folder, name));
  const found = await firstUsable(programs, AROUND, (program, reason) => rejected.push(`${path.basename(program)} ${reason}`));
  assert.equal(found, programs[2]);
  assert.deepEqual(rejected, ["old is Python 3.8, and the server needs 3.10 or later"]);
}));

test("nothing inside an untrusted workspace is run, links or not", onPosix, withPrograms(
  { "ws/python": 'touch "$0.ran"; echo 3.12', "out/python": "echo 3.12" },
  async (folder) => {
    const workspace = path.join(folder, "ws");
    symlinkSync(workspace, path.join(folder, "link"));
    symlinkSync(path.join(workspace, "python"), path.join(folder, "out", "linked"));
    symlinkSync(path.join(folder, "out"), path.join(workspace, "outside"));
    const programs = ["ws/python", "link/python", "out/linked", "ws/outside/python", "out/python"];
    const paths = programs.map((name) => path.join(folder, name));
    for (const folders of [[workspace], [path.join(folder, "link")]]) {
      const around = { ...AROUND, folders, isTrusted: false };
      assert.equal(await firstUsable(paths.slice(0, 3), around, () => undefined), undefined);
      assert.equal(await firstUsable(paths, { ...around, folders: [workspace] }, () => undefined), paths[4]);
    }
    assert.equal(await versionOf(path.join(workspace, "python.ran")), undefined);
    assert.equal(await liesInside(path.join(folder, "wsx"), [workspace]), false);
  },
));
