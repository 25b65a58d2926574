import { describe, inject } from 'vitest'

/** Describes the same tests for each store of counts. Those for Redis are skipped if there is no Redis. */
export function describeStores(title: string, tests: (store: 'Postgres' | 'Redis') => void): void {
  for (const store of ['Postgres', 'Redis'] as const)
    describe.runIf(store === 'Postgres' || inject('redisUrl') !== undefined)(`${title} in ${store}`, () => tests(store))
}
