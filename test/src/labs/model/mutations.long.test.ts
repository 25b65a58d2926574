import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openScratch } from '../../environment/scratch.ts'
import { modelFile, modelMutations, simulate } from './quint.ts'

const model = readFileSync(modelFile, 'utf8')

test.each(modelMutations())('$change: $invariant is broken', async ({ find, replace, invariant }) => {
  await using scratch = await openScratch('sluice-model-')
  const file = join(scratch.path, 'imports.qnt')
  await writeFile(
    file,
    model.replace(find, () => replace),
  )
  const { holds, output } = await simulate(file, { traces: 20_000, steps: 35, invariants: [invariant] })
  expect(holds, output).toBe(false)
})
