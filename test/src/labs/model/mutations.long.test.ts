import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openScratch } from '../../environment/scratch.ts'
import { invariants, modelFile, simulate } from './quint.ts'

interface ModelMutation {
  change: string
  find: string
  replace: string
  invariant: string
}

const mutations: ModelMutation[] = JSON.parse(readFileSync(join(import.meta.dirname, 'mutations.json'), 'utf8'))
const model = readFileSync(modelFile, 'utf8')

test('each invariant has a mutation of the model that breaks it', () => {
  expect([...new Set(mutations.map(({ invariant }) => invariant))].toSorted()).toEqual([...invariants].toSorted())
})

test.each(mutations)('$change: $invariant is broken', async ({ find, replace, invariant }) => {
  expect(model.split(find)).toHaveLength(2)
  await using scratch = await openScratch('sluice-model-')
  const file = join(scratch.path, 'imports.qnt')
  await writeFile(
    file,
    model.replace(find, () => replace),
  )
  const { holds, output } = await simulate(file, { traces: 20_000, steps: 35, invariants: [invariant] })
  expect(holds, output).toBe(false)
})
