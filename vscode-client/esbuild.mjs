// Bundles the extension into one file; `--tests` bundles each file of unit tests instead.
import { readdirSync, rmSync } from "node:fs";
import { build, context } from "esbuild";

const production = process.argv.includes("--production");
const common = { bundle: true, platform: "node", format: "cjs", target: "node20", logLevel: "warning" };

if (process.argv.includes("--tests")) {
  rmSync("out/test", { recursive: true, force: true });
  const entryPoints = readdirSync("test").map((name) => `test/${name}`);
  await build({ ...common, entryPoints, outdir: "out/test", sourcemap: "inline" });
} else {
  const options = {
    ...common,
    entryPoints: ["src/extension.ts"],
    outfile: "out/extension.js",
    external: ["vscode"],
    minify: production,
    sourcemap: !production,
  };
  if (process.argv.includes("--watch")) {
    await (await context(options)).watch();
  } else {
    rmSync("out/extension.js.map", { force: true });
    await build(options);
  }
}
