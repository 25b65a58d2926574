import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './copy.ts'
import { mutationProblem, readMutations } from './mutate.ts'

test('each mutation can be applied, and names a test that exists', async () => {
  const mutations = await readMutations()
  expect(mutations.length).toBeGreaterThanOrEqual(60)
  for (const mutation of mutations) {
    const { change, file, test, title } = mutation
    expect(mutationProblem(mutation, await readFile(join(root, file), 'utf8')), change).toBeUndefined()
    expect((await readFile(join(root, test), 'utf8')).includes(title), `${change} ${test}: ${title}`).toBe(true)
  }
})
