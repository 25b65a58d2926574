import { describe, expect, test } from 'vitest'
import { fuzz } from './readers/fuzz.ts'
import type { Target } from './readers/target.ts'
import { targets } from './readers/targets.ts'

// A sample of `npm run test:fuzz`: the corpus of each reader, and a few hundred mutations of it.
const inputs = 300
const seed = 1

describe('a reader of untrusted bytes keeps its rules for any input:', () => {
  test.each(targets.map((target) => [target.name, target] as const))('%s', async (_, target) => {
    const { violation } = await fuzz(target, { inputs, seed })
    expect(violation && { error: violation.error, bytes: violation.input.toString('base64') }).toBeUndefined()
  })
})

test('the first input that breaks a rule ends a run, and is reported', async () => {
  const broken: Target = {
    name: 'tokens',
    weight: 1,
    dictionary: [],
    check(input) {
      if (input.length > 100) throw new Error('a broken rule')
    },
  }
  const run = await fuzz(broken, { inputs: 100_000, seed })
  expect(run.violation).toMatchObject({ target: 'tokens', error: new Error('a broken rule') })
  expect(run.inputs).toBeLessThan(100_000)
})

test('the same seed repeats the same inputs', async () => {
  const inputsOf = async (from: number) => {
    const seen: string[] = []
    const check = (input: Buffer) => void seen.push(input.toString('base64'))
    await fuzz({ name: 'csv-rows', weight: 1, dictionary: ['"'], check }, { inputs: 50, seed: from })
    return seen
  }
  expect(await inputsOf(seed)).toEqual(await inputsOf(seed))
  expect(await inputsOf(seed)).not.toEqual(await inputsOf(seed + 1))
})
