/** Runs one function at a time for each name. Further calls under the name wait and run in the order of the calls. */
export class NamedLocks {
  readonly #last = new Map<string, Promise<void>>()

  async run<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const preceding = this.#last.get(name) ?? Promise.resolve()
    const { promise: done, resolve: release } = Promise.withResolvers<void>()
    this.#last.set(name, done)
    await preceding
    try {
      return await work()
    } finally {
      release()
      if (this.#last.get(name) === done) this.#last.delete(name)
    }
  }
}
