import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test, vi } from 'vitest'
import { encryptionKeys, webhookRule } from './stack.ts'

test('a command for another database uses neither the settings nor the keys of the running stack', async () => {
  const home = await mkdtemp(join(tmpdir(), 'sluice-cli-'))
  const lock = new DatabaseSync(join(home, 'lock'))
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    lock.close()
    await rm(home, { recursive: true })
  })
  lock.exec('begin exclusive')
  const database = 'postgres://sluice@127.0.0.1:1/stack'
  const info = { pid: process.pid, database, settings: { WEBHOOK_ALLOW_HTTP: 'true' } }
  await writeFile(join(home, 'stack.json'), JSON.stringify(info))
  vi.stubEnv('SLUICE_HOME', home)
  vi.stubEnv('DATABASE_URL', undefined)
  expect((await webhookRule()).allowsHttp).toBe(true)
  vi.stubEnv('DATABASE_URL', database)
  expect((await webhookRule()).allowsHttp).toBe(true)
  vi.stubEnv('DATABASE_URL', 'postgres://sluice@127.0.0.1:1/other')
  expect((await webhookRule()).allowsHttp).toBe(false)
  vi.stubEnv('ENCRYPTION_KEYS', undefined)
  await expect(encryptionKeys()).rejects.toThrow('set ENCRYPTION_KEYS')
})
