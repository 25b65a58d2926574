import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { sampleFile, sampleUserIds } from './sample.ts'

// design.md §2, Demo.
test('the sample file in the repository is the output of the generator', () => {
  const file = readFileSync(new URL('../sample/customers.csv', import.meta.url))
  expect(file.equals(sampleFile(20_260_101)), 'run: node apps/demo/src/make-sample.ts').toBe(true)
})

test('the sample has every kind of row that the documentation promises', () => {
  const text = sampleFile(20_260_101).toString('latin1')
  expect(text.split('\r\n').length).toBeGreaterThan(10_000)
  for (const part of [
    '"Prefers e-mail, not phone"',
    '""call me back""',
    'left over',
    'forty-two',
    '31/12/2025',
    'K\xf8benhavn',
  ]) {
    expect(text).toContain(part)
  }
  expect(sampleUserIds()).not.toContain('customer-without-account')
})
