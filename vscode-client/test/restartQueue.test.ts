import assert from "node:assert/strict";
import test from "node:test";
import { RestartQueue } from "../src/restartQueue";

/** A queue whose restarts end when they are told to. */
function controlled() {
  const ends: ((error?: Error) => void)[] = [];
  let running = 0;
  let most = 0;
  const queue = new RestartQueue(async () => {
    running += 1;
    most = Math.max(most, running);
    try {
      await new Promise<void>((resolve, reject) => {
        ends.push((error) => {
          if (error === undefined) {
            resolve();
          } else {
            reject(error);
          }
        });
      });
    } finally {
      running -= 1;
    }
  });
  return { queue, ends, most: () => most };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("a burst of requests costs one more restart", async () => {
  const { queue, ends, most } = controlled();
  const requests = [queue.request(), queue.request(), queue.request()];
  ends[0]?.();
  await requests[0];
  await turn();
  assert.equal(ends.length, 2);
  ends[1]?.();
  await Promise.all(requests);
  await queue.settled();
  assert.equal(ends.length, 2);
  assert.equal(most(), 1);
});

test("a restart that fails lets the next one run", async () => {
  const { queue, ends } = controlled();
  const first = queue.request();
  const second = queue.request();
  ends[0]?.(new Error("no"));
  await assert.rejects(first, /no/);
  await turn();
  ends[1]?.();
  await second;
});

test("a request after the end starts anew", async () => {
  const { queue, ends } = controlled();
  const first = queue.request();
  ends[0]?.();
  await first;
  const second = queue.request();
  ends[1]?.();
  await second;
  assert.equal(ends.length, 2);
});

test("settled waits for what was asked for last", async () => {
  const { queue, ends } = controlled();
  void queue.request();
  void queue.request();
  let isSettled = false;
  const settled = queue.settled().then(() => {
    isSettled = true;
  });
  ends[0]?.();
  await turn();
  await turn();
  assert.equal(isSettled, false);
  ends[1]?.();
  await settled;
});
