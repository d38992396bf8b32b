/** Two folders with different JAX versions in one window, of which one is a symbolic link. */

const { WORLD, assert, found, open, statusText, suite, until } = require("./steps.js");

exports.run = suite({
  "each folder has its own JAX": async () => {
    const seen = [];
    for (const [path, version] of WORLD.versions) {
      const document = await open(path);
      await found(document.uri, WORLD.sample.rule);
      await until(`JAX ${version}`, () => statusText().label.includes(`JAX ${version}`));
      seen.push(statusText().details);
    }
    assert.equal(seen.length, 2);
    return seen;
  },
});
