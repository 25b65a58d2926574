import { openStorage, type StorageSettings } from '@sluice/storage'
import { afterEach, beforeEach, describe, expect, inject, onTestFinished, test, vi } from 'vitest'

const settings = (): StorageSettings => ({
  S3_ENDPOINT: inject('s3Endpoint'),
  S3_REGION: 'us-east-1',
  S3_BUCKET: 'test',
})

function open(overrides: Partial<StorageSettings> = {}) {
  const storage = openStorage({ ...settings(), ...overrides })
  onTestFinished(() => storage.close())
  return storage
}

const terms = { contentType: 'text/csv', byteSize: 1, checksum: 'DMF1ucDxtqgxw5niaXcmYQ==' }
const fiveMinutes = 300_000
const presign = (storage = open()) => storage.presignUpload('key', terms, fiveMinutes)
const secondsOf = (url: string) => Number(new URL(url).searchParams.get('X-Amz-Expires'))

// second-day.md §7, Storage.
describe('without keys in the settings', () => {
  beforeEach(() => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'test:test')
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test-secret')
  })
  afterEach(() => {
    vi.unstubAllEnvs()
  })
  const expireInMs = (ms: number) => vi.stubEnv('AWS_CREDENTIAL_EXPIRATION', new Date(Date.now() + ms).toISOString())

  test("the SDK's own chain finds the credentials, and storage accepts them", async () => {
    const storage = open()
    await storage.check()
    await storage.write('credentials/of-the-chain', Buffer.from('x'), 'text/csv')
    expect(await storage.stat('credentials/of-the-chain')).toMatchObject({ byteSize: 1 })
  })

  test('a credential that lasts leaves the lifetime of an address as it is', async () => {
    expect(secondsOf(await presign())).toBe(300)
    expireInMs(3_600_000)
    expect(secondsOf(await presign())).toBe(300)
  })

  test('an address never outlives its temporary credential', async () => {
    expireInMs(120_000)
    const storage = open()
    for (const url of [await presign(storage), await storage.presignDownload('key', 'errors.csv')]) {
      expect(secondsOf(url)).toBeLessThanOrEqual(120)
      expect(secondsOf(url)).toBeGreaterThan(60)
    }
  })

  test('an address is refused if its credential is about to expire', async () => {
    expireInMs(10_000)
    await expect(presign()).rejects.toThrow(/the credential of storage expires in \d+ ms/)
  })

  test('a session token is part of the address', async () => {
    vi.stubEnv('AWS_SESSION_TOKEN', 'token-of-the-session')
    expect(new URL(await presign()).searchParams.get('X-Amz-Security-Token')).toBe('token-of-the-session')
  })
})

// second-day.md §7, Storage.
test.each(['S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'])('%s alone is refused at the start', (name) => {
  expect(() => open({ [name]: 'test' })).toThrow(
    'S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY must both be set, or neither',
  )
})

// second-day.md §7, Storage.
test.each([
  [true, 'https://s3.example.com/bucket/key?'],
  [false, 'https://bucket.s3.example.com/key?'],
])('with S3_PATH_STYLE %s, an address begins with %s', async (pathStyle, start) => {
  const keys = { S3_ACCESS_KEY_ID: 'test', S3_SECRET_ACCESS_KEY: 'test-secret' }
  const place = { S3_ENDPOINT: 'https://s3.example.com', S3_BUCKET: 'bucket', S3_PATH_STYLE: pathStyle }
  expect((await presign(open({ ...keys, ...place }))).startsWith(start)).toBe(true)
})
