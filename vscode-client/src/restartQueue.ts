/**
 * Runs one restart at a time. Requests that come while one runs are answered together by one more after it, so that
 * a burst of changed settings costs at most two.
 */
export class RestartQueue {
  private running: Promise<void> | undefined;
  private next: Promise<void> | undefined;

  constructor(private readonly restart: () => Promise<void>) {}

  /** Resolves when a restart that began after this call is done. */
  request(): Promise<void> {
    if (this.running === undefined) {
      return this.run();
    }
    this.next ??= this.running
      .catch(() => undefined)
      .then(() => {
        this.next = undefined;
        return this.run();
      });
    return this.next;
  }

  /** Resolves when nothing runs any more. */
  async settled(): Promise<void> {
    while (this.running !== undefined) {
      await (this.next ?? this.running).catch(() => undefined);
    }
  }

  private run(): Promise<void> {
    const run = this.restart().finally(() => {
      this.running = undefined;
    });
    this.running = run;
    return run;
  }
}
