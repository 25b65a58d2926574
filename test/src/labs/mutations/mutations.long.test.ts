import { expect, test } from 'vitest'
import { type MutationResult, readMutations, runMutations } from './mutate.ts'

// A sample: another tenth each day. `npm run test:mutations` runs all.
test('the tests notice a tenth of the faults that can be put into the code', { timeout: 40 * 60_000 }, async () => {
  const day = Math.floor(Date.now() / (24 * 60 * 60_000))
  const chosen = (await readMutations()).filter((_, place) => place % 10 === day % 10)
  const results: MutationResult[] = []
  await runMutations(chosen, 1, (result) => results.push(result))
  const unnoticed = results.filter(({ verdict }) => verdict !== 'noticed')
  expect(unnoticed.map(({ mutation, verdict, output }) => `${mutation.change} ${verdict}: ${output}`)).toEqual([])
})
