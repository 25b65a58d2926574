import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test, vi } from 'vitest'
import { dashboardUrl, encryptionKeys, linkBase, webhookRule, withDatabase, withStorage } from './stack.ts'

test('a command for another database uses no settings, keys, addresses or storage of the running stack', async () => {
  const home = await mkdtemp(join(tmpdir(), 'sluice-cli-'))
  const lock = new DatabaseSync(join(home, 'lock'))
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    lock.close()
    await rm(home, { recursive: true })
  })
  lock.exec('begin exclusive')
  const database = 'postgres://sluice@127.0.0.1:1/stack'
  const key = randomBytes(32).toString('base64')
  const [api, dashboard] = ['http://127.0.0.1:3000', 'http://127.0.0.1:3001']
  const info = {
    pid: process.pid,
    database,
    api,
    dashboard,
    settings: { WEBHOOK_ALLOW_HTTP: 'true', ENCRYPTION_KEYS: key },
  }
  await writeFile(join(home, 'stack.json'), JSON.stringify(info))
  vi.stubEnv('SLUICE_HOME', home)
  for (const name of ['DATABASE_URL', 'ENCRYPTION_KEYS']) vi.stubEnv(name, undefined)
  expect(await encryptionKeys()).toEqual([Buffer.from(key, 'base64')])
  expect((await webhookRule()).allowsHttp).toBe(true)
  vi.stubEnv('DATABASE_URL', database)
  expect((await webhookRule()).allowsHttp).toBe(true)
  expect([await linkBase(), await dashboardUrl()]).toEqual([api, dashboard])
  vi.stubEnv('DATABASE_URL', 'postgres://sluice@127.0.0.1:1/other')
  expect((await webhookRule()).allowsHttp).toBe(false)
  for (const name of ['API_URL', 'DASHBOARD_URL', 'S3_ENDPOINT', 'ENCRYPTION_KEYS']) vi.stubEnv(name, undefined)
  expect(await linkBase()).toBeUndefined()
  await expect(dashboardUrl()).rejects.toThrow('set DASHBOARD_URL')
  await expect(withStorage(() => Promise.resolve())).rejects.toThrow('set S3_ENDPOINT')
  await expect(encryptionKeys()).rejects.toThrow('set ENCRYPTION_KEYS')
})

test('a command whose database does not answer says so, and names the setting', async () => {
  vi.stubEnv('DATABASE_URL', 'postgres://sluice@127.0.0.1:1/sluice')
  onTestFinished(() => void vi.unstubAllEnvs())
  const command = withDatabase(() => Promise.resolve())
  await expect(command).rejects.toThrow(/the database cannot be used: .*ECONNREFUSED.* check DATABASE_URL/)
})
