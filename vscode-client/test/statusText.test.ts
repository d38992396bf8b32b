import assert from "node:assert/strict";
import test from "node:test";
import type { Status } from "../src/protocol";
import { statusText } from "../src/statusText";

const STATUS: Status = {
  server: { version: "1.2.3", python: "/usr/bin/python3", pythonVersion: "3.12.1" },
  jax: { version: "0.7.2", origin: ".venv" },
  rules: { enabled: 91, known: 91 },
  isIndexing: false,
  missing: [],
};

test("the version is the label, and where it is from a detail", () => {
  const { label, details } = statusText(undefined, true, STATUS);
  assert.equal(label, "JAX 0.7.2");
  assert.deepEqual(details, ["**JAX 0.7.2** · .venv", "91 rules", "jaxpert 1.2.3 · Python 3.12.1", "`/usr/bin/python3`"]);
});

test("what is amiss is said", () => {
  const { label, details } = statusText(undefined, true, {
    ...STATUS,
    rules: { enabled: 3, known: 91 },
    isIndexing: true,
    missing: ["libcst"],
  });
  assert.equal(label, "$(sync~spin) JAX 0.7.2");
  assert.ok(details.includes("3 of 91 rules are switched on"));
  assert.ok(details.some((each) => each.includes("`libcst` is not installed")));
});

test("a document that is not checked has no version", () => {
  assert.equal(statusText(undefined, true, { ...STATUS, jax: null, rules: null }).label, "jaxpert");
});

test("before the first answer it starts", () => {
  assert.equal(statusText(undefined, true, undefined).label, "$(sync~spin) jaxpert");
});

test("it does not run, or cannot", () => {
  assert.equal(statusText(undefined, false, undefined).label, "$(circle-slash) jaxpert");
  const { label, details, isWarning } = statusText("no Python", false, STATUS);
  assert.deepEqual([label, details, isWarning], ["$(error) jaxpert", ["jaxpert does not run: no Python"], true]);
});
