import { describe, expect, test } from 'vitest'
import { readSettings } from './read.ts'

// design.md §2, Missing settings.
describe('readSettings', () => {
  test('returns typed values: milliseconds, bytes, numbers, lists', () => {
    const read = readSettings(
      { UPLOAD_ORDER_WAIT: '500ms', UNCOMPRESSED_LIMIT: '100MiB', BATCH_ROWS: '7', WORKER_QUEUES: 'imports, mails' },
      ['UPLOAD_ORDER_WAIT', 'UNCOMPRESSED_LIMIT', 'BATCH_ROWS', 'WORKER_QUEUES'],
    )
    expect(read).toEqual({
      UPLOAD_ORDER_WAIT: 500,
      UNCOMPRESSED_LIMIT: 104_857_600,
      BATCH_ROWS: 7,
      WORKER_QUEUES: ['imports', 'mails'],
    })
  })

  test.each([
    ['30', 30_000],
    ['30s', 30_000],
    ['0.5', 500],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
  ])('reads the duration %s as %d ms', (text, expected) => {
    expect(readSettings({ API_UPLOAD_TIMEOUT: text }, ['API_UPLOAD_TIMEOUT']).API_UPLOAD_TIMEOUT).toBe(expected)
  })

  test('an empty variable counts as unset: the default applies, or the setting is missing', () => {
    expect(readSettings({ LOG_LEVEL: '' }, ['LOG_LEVEL'])).toEqual({ LOG_LEVEL: 'info' })
    expect(readSettings({ REDIS_URL: '' }, ['REDIS_URL'])).toEqual({})
    expect(() => readSettings({ S3_BUCKET: '' }, ['S3_BUCKET'])).toThrow('S3_BUCKET is not set')
  })

  test('one error names every bad setting, but no value, which may be a secret', () => {
    const read = () =>
      readSettings({ DATABASE_URL: 'mysql://root:hunter2@db', BATCH_ROWS: '0', API_PORT: 'x' }, [
        'DATABASE_URL',
        'BATCH_ROWS',
        'API_PORT',
        'SMTP_URL',
      ])
    expect(read).toThrow(/DATABASE_URL must.*\n.*BATCH_ROWS must.*\n.*API_PORT must.*\n.*SMTP_URL is not set/)
    expect(read).not.toThrow('hunter2')
  })
})

test.each(['', 'hunter2', 'A'.repeat(44), `${'A'.repeat(42)}==`, `${'A'.repeat(43)}=,`, `${'A'.repeat(43)}=,hunter2`])(
  'keys that are not 32 bytes each are refused, and the error does not show them: %j',
  (text) => {
    const read = () => readSettings({ ENCRYPTION_KEYS: text }, ['ENCRYPTION_KEYS'])
    expect(read).toThrow('ENCRYPTION_KEYS')
    expect(read).not.toThrow('hunter2')
  },
)

test('several keys are returned in their order', () => {
  const keys = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  const text = keys.map((key) => key.toString('base64')).join(', ')
  expect(readSettings({ ENCRYPTION_KEYS: text }, ['ENCRYPTION_KEYS']).ENCRYPTION_KEYS).toEqual(keys)
})

describe('a secret that infra/compose.yaml publishes', () => {
  const published = {
    ENCRYPTION_KEYS: 'Zm9yIHRyeWluZyBpdCBvdXQsIG5vdGhpbmcgZWxzZSE=',
    S3_SECRET_ACCESS_KEY: 'sluice-secret',
  }

  test('is refused, and the error says how to fix it', () => {
    const read = () => readSettings(published, ['ENCRYPTION_KEYS', 'S3_SECRET_ACCESS_KEY'])
    expect(read).toThrow('ENCRYPTION_KEYS is the value that infra/compose.yaml publishes: make your own')
    expect(read).toThrow('S3_SECRET_ACCESS_KEY is the value that infra/compose.yaml publishes: make your own')
  })

  test('is refused beside a key of your own', () => {
    const own = Buffer.alloc(32, 1).toString('base64')
    expect(() =>
      readSettings({ ENCRYPTION_KEYS: `${own}, ${published.ENCRYPTION_KEYS}` }, ['ENCRYPTION_KEYS']),
    ).toThrow('publishes')
    expect(readSettings({ ENCRYPTION_KEYS: own }, ['ENCRYPTION_KEYS']).ENCRYPTION_KEYS).toHaveLength(1)
  })

  test('is refused in another spelling of the same bytes', () => {
    const sameBytes = published.ENCRYPTION_KEYS.replace('ZSE=', 'ZSF=')
    expect(Buffer.from(sameBytes, 'base64').equals(Buffer.from(published.ENCRYPTION_KEYS, 'base64'))).toBe(true)
    expect(() => readSettings({ ENCRYPTION_KEYS: sameBytes }, ['ENCRYPTION_KEYS'])).toThrow('publishes')
  })

  test('is accepted only if the environment says so, as that file does', () => {
    const read = (value: string) =>
      readSettings({ ...published, PUBLISHED_SECRETS: value }, ['ENCRYPTION_KEYS', 'S3_SECRET_ACCESS_KEY'])
    expect(read('accept').S3_SECRET_ACCESS_KEY).toBe(published.S3_SECRET_ACCESS_KEY)
    for (const other of ['refuse', 'yes', '']) expect(() => read(other)).toThrow('publishes')
  })
})

// Whether cookies are restricted to https depends on how the address begins.
test.each(['HTTPS://dashboard.test', ' https://dashboard.test', 'https://dashboard.test ', 'https:dashboard.test'])(
  'the address %j is refused, although a browser would accept it',
  (text) => {
    const read = () => readSettings({ DASHBOARD_URL: text }, ['DASHBOARD_URL'])
    expect(read).toThrow('DASHBOARD_URL must be an address that begins with http:// or https://')
  },
)

describe('trusted proxies', () => {
  test('are networks, some of them by name', () => {
    const { API_TRUSTED_PROXIES } = readSettings({ API_TRUSTED_PROXIES: 'loopback, 10.0.0.0/8,fd00::/8,192.0.2.7' }, [
      'API_TRUSTED_PROXIES',
    ])
    expect(API_TRUSTED_PROXIES).toEqual(['loopback', '10.0.0.0/8', 'fd00::/8', '192.0.2.7'])
  })

  test.each(['everything', '10.0.0.0/33', 'loopback,', '*', 'ingress.example.com'])('%j is refused', (text) => {
    expect(() => readSettings({ DASHBOARD_TRUSTED_PROXIES: text }, ['DASHBOARD_TRUSTED_PROXIES'])).toThrow(
      'DASHBOARD_TRUSTED_PROXIES must be networks',
    )
  })
})
