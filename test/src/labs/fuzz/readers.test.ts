import { expect, test } from 'vitest'
import { fuzz } from './readers/target.ts'
import { targets } from './readers/targets.ts'

// A sample of `npm run test:fuzz`.
test.each(targets)('$name, a reader of untrusted bytes, keeps its rules for any input', async (target) => {
  const violation = await fuzz(target, { inputs: 300, seed: 1 })
  expect(violation && { error: violation.error, bytes: violation.input.toString('base64') }).toBeUndefined()
})
