import { randomBytes } from 'node:crypto'
import { createAccessKey } from '@sluice/access-keys'
import { createApp } from '@sluice/accounts'
import { warnOfForeignSecrets } from '@sluice/operations'
import { addEndpoint } from '@sluice/webhooks'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'

test('a process whose keys decrypt none of the secrets of a kind names the kinds and the setting at its start', async () => {
  const { db, close } = await openTestDatabase()
  onTestFinished(close)
  const [own, other] = [randomBytes(32), randomBytes(32)]
  const warn = vi.fn<(about: object, text: string) => void>()
  const warnings = async (...keys: Buffer[]) => {
    warn.mockClear()
    await warnOfForeignSecrets(db, keys, { warn })
    return warn.mock.calls.map(([, text]) => text)
  }
  expect(await warnings(own)).toEqual([])

  const { appId } = await createApp(db, { name: 'Shop', email: 'anna@example.com' })
  await createAccessKey(db, [other], appId)
  expect(await warnings(own)).toEqual([expect.stringMatching(/^none of ENCRYPTION_KEYS decrypts .* access keys: add/)])
  expect(await warnings(own, other)).toEqual([])
  await createAccessKey(db, [own], appId)
  expect(await warnings(own)).toEqual([])

  const rule = { allowsHttp: true, isAllowed: () => true }
  await addEndpoint(db, { keys: [other], rule }, appId, { url: 'https://example.com/' })
  expect(await warnings(own)).toEqual([expect.stringMatching(/ webhooks: add .* sluice access-keys reencrypt /)])
})
