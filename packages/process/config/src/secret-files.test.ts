import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { isSecret, readSecretFiles, readSettings } from './read.ts'
import { settings } from './settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-secrets-'))
afterAll(() => rmSync(folder, { recursive: true }))

function fileOf(text: string): string {
  const path = join(folder, crypto.randomUUID())
  writeFileSync(path, text)
  return path
}

const secrets = Object.keys(settings).filter(isSecret)

// second-day.md §7, Secrets from files.
test('the secret settings are the settings that hold a password or a key', () => {
  expect(secrets).toEqual([
    'DATABASE_URL',
    'MIGRATION_DATABASE_URL',
    'REDIS_URL',
    'REDIS_SENTINELS',
    'S3_ACCESS_KEY_ID',
    'S3_SECRET_ACCESS_KEY',
    'ENCRYPTION_KEYS',
    'SMTP_URL',
    'SMTP_OAUTH2_CLIENT_SECRET',
    'SMTP_OAUTH2_REFRESH_TOKEN',
    'CELL_DATABASES',
    'OIDC_CLIENT_SECRET',
  ])
})

describe('a secret in a file', () => {
  test.each(['\n', '\r\n', ''])('is read without the line break %j at its end', (end) => {
    const env = { S3_SECRET_ACCESS_KEY_FILE: fileOf(` two words \n${end}`) }
    const { S3_SECRET_ACCESS_KEY: read } = readSettings(env, ['S3_SECRET_ACCESS_KEY'])
    expect(read).toBe(end === '' ? ' two words ' : ' two words \n')
  })

  test.each(secrets)('%s and its file together are refused, and the error names both', (name) => {
    const env = { [name]: 'hunter2', [`${name}_FILE`]: fileOf('hunter3') }
    const read = () => readSettings(env, [name as keyof typeof settings])
    expect(read).toThrow(`${name} and ${name}_FILE are both set: keep one of them`)
    expect(read).not.toThrow(/hunter/)
    expect(() => readSecretFiles(env)).toThrow(`${name} and ${name}_FILE are both set`)
  })

  test('a file that is missing is an error at the start', () => {
    const env = { SMTP_URL_FILE: join(folder, 'missing') }
    expect(() => readSettings(env, ['SMTP_URL'])).toThrow('SMTP_URL_FILE cannot be read: ENOENT')
    expect(() => readSecretFiles(env)).toThrow('SMTP_URL_FILE cannot be read: ENOENT')
  })

  test('is checked as a variable is', () => {
    const read = (text: string) => readSettings({ SMTP_URL_FILE: fileOf(text) }, ['SMTP_URL']).SMTP_URL
    expect(read('smtp://mail:587\n')).toBe('smtp://mail:587')
    expect(() => read('ftp://mail')).toThrow('SMTP_URL must be an address')
    expect(() => read('\n')).toThrow('SMTP_URL is not set')
  })

  test('only secrets are read from files', () => {
    expect(() => readSettings({ S3_BUCKET_FILE: fileOf('bucket') }, ['S3_BUCKET'])).toThrow('S3_BUCKET is not set')
  })

  test('becomes a variable for programs that pass the environment on', () => {
    const path = fileOf('secret\n')
    expect(readSecretFiles({ S3_SECRET_ACCESS_KEY_FILE: path, PATH: '/bin', X_FILE: 'x' })).toEqual({
      S3_SECRET_ACCESS_KEY: 'secret',
      S3_SECRET_ACCESS_KEY_FILE: undefined,
      PATH: '/bin',
      X_FILE: 'x',
    })
  })
})

describe('DATABASE_URL', () => {
  const read = (DATABASE_URL: string, others = {}) =>
    readSettings({ DATABASE_URL, ...others }, ['DATABASE_URL']).DATABASE_URL

  test('carries the file of the password, which the connections read', () => {
    const path = fileOf('secret')
    const parameter = `password_file=${encodeURIComponent(path)}`
    const others = { DATABASE_PASSWORD_FILE: path }
    expect(read('postgres://sluice@db/sluice', others)).toBe(`postgres://sluice@db/sluice?${parameter}`)
    expect(read('postgres://sluice@db/sluice?sslmode=require', others)).toMatch(`sslmode=require&${parameter}`)
    expect(() => read('postgres://sluice:x@db/sluice', others)).toThrow(/has a password, and DATABASE_PASSWORD_FILE/)
    expect(() => read('postgres://sluice@db/s', { DATABASE_PASSWORD_FILE: '/missing' })).toThrow('ENOENT')
  })

  test.each(['db', 'one,two', 'one:5432,[::1]:5433', 'one:5432,two:5433'])('accepts the hosts %s', (hosts) => {
    expect(read(`postgres://u:p@${hosts}/sluice`)).toBe(`postgres://u:p@${hosts}/sluice`)
    expect(read(`postgresql://${hosts}/s?target_session_attrs=read-write`)).toMatch(hosts)
  })

  test.each(['postgres://one:x,two/s', 'postgres://one,two:99999/s', 'mysql://one/s', 'one,two'])(
    'refuses %s',
    (url) => {
      expect(() => read(url)).toThrow('DATABASE_URL must be an address')
    },
  )

  test.each(['read-only', 'standby', 'prefer-standby'])('refuses servers that cannot write: %s', (target) => {
    expect(() => read(`postgres://one,two/s?target_session_attrs=${target}`)).toThrow('any, read-write or primary')
  })
})
