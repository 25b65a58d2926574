/** Lets one piece of work at a time run per name; others of that name wait in the order in which they came. */
export class NamedLocks {
  readonly #last = new Map<string, Promise<void>>()

  async run<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(name) ?? Promise.resolve()
    const { promise: done, resolve: release } = Promise.withResolvers<void>()
    this.#last.set(name, done)
    await before
    try {
      return await work()
    } finally {
      release()
      if (this.#last.get(name) === done) this.#last.delete(name)
    }
  }
}
