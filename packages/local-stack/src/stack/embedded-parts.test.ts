import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { embeddedPorts } from './embedded-parts.ts'
import { defaultHome, workerCount } from './settings.ts'

// design.md §2, Ports.
test('without settings, the embedded parts have the documented ports of this machine', () => {
  const ports = { STORAGE_PORT: 3002, INBOX_PORT: 3003, SMTP_PORT: 3004, POSTGRES_PORT: 3005 }
  const wanted = Object.entries(ports).map(([setting, port]) => ({ setting, host: '127.0.0.1', port }))
  expect(embeddedPorts({})).toEqual(wanted)
  expect(workerCount({})).toBe(1)
})

// design.md §2, npm start.
test('without SLUICE_HOME, the data is in .sluice at the root of the repository', () => {
  expect(defaultHome).toBe(fileURLToPath(new URL('../../../../.sluice', import.meta.url)))
})

// design.md §2, Embedded parts.
test('a part that the environment configures is not embedded', () => {
  const outside = { S3_ENDPOINT: 'http://s3.test', SMTP_URL: 'smtp://mail.test', DATABASE_URL: 'postgres://db.test/x' }
  expect(embeddedPorts(outside)).toEqual([])
})
