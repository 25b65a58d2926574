import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { clientPolicy } from './policy.ts'

// The other tests of this folder shorten these limits.
test('docs/security.md names the limits for clients', () => {
  const document = readFileSync(new URL('../../../../../docs/security.md', import.meta.url), 'utf8')
  const { headersMs, body, upload, answer, waiting } = clientPolicy
  const kib = ({ minimumBytesPerSecond }: { minimumBytesPerSecond: number }) => `${minimumBytesPerSecond / 1_024} KiB/s`
  expect(document.replaceAll(/\s+/g, ' ')).toContain(
    `headers have ${headersMs / 1_000} s, bodies ${kib(body)}, files ${kib(upload)}, readers of answers ${kib(answer)}. ` +
      `An address has ${waiting.perAddress} waiting connections.`,
  )
})
