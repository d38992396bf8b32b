import assert from "node:assert/strict";
import test from "node:test";
import { withVariables } from "../src/variables";

const VALUES = {
  home: "/home/me",
  folder: "/code/größe project",
  folders: { two: "/code/two" },
  environment: { PYTHON: "/opt/python" },
};

const CASES: [string, string][] = [
  ["~/bin/python", "/home/me/bin/python"],
  ["a~b", "a~b"],
  ["~me", "~me"],
  ["${workspaceFolder}/.venv/bin/python", "/code/größe project/.venv/bin/python"],
  ["${workspaceFolder:two}/x", "/code/two/x"],
  ["${workspaceFolder:three}/x", "${workspaceFolder:three}/x"],
  ["${userHome}", "/home/me"],
  ["${env:PYTHON} ${env:NOTHING}", "/opt/python "],
  ["${unknown}", "${unknown}"],
  ["", ""],
];

for (const [written, meant] of CASES) {
  test(`"${written}"`, () => {
    assert.equal(withVariables(written, VALUES), meant);
  });
}

test("without a folder, its variable stays", () => {
  assert.equal(withVariables("${workspaceFolder}", { ...VALUES, folder: undefined }), "${workspaceFolder}");
});
