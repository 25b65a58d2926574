import { expect, test } from 'vitest'
import { mailLogin, mailLoginSettings } from './mail-login.ts'
import { readSettings } from './read.ts'

const given = {
  SMTP_URL: 'smtps://no-reply%40example.com@mail:465',
  SMTP_OAUTH2_TOKEN_URL: 'https://id.example.com/token?tenant=1',
  SMTP_OAUTH2_CLIENT_ID: 'sluice',
  SMTP_OAUTH2_CLIENT_SECRET: 'secret',
}
const read = (environment: Record<string, string>) => mailLogin(readSettings(environment, mailLoginSettings))

test('without a token endpoint, the login is that of the address', () => {
  expect(read({ SMTP_URL: 'smtp://user:password@mail' })).toBeUndefined()
  expect(read({ SMTP_URL: 'smtp://mail' })).toBeUndefined()
})

test('a client logs in with a refresh token, or for itself', () => {
  const tokenUrl = 'https://id.example.com/token?tenant=1'
  const login = { tokenUrl, clientId: 'sluice', clientSecret: 'secret', refreshToken: undefined, scope: 'mail' }
  expect(read({ ...given, SMTP_OAUTH2_SCOPE: 'mail' })).toEqual(login)
  const refreshing = { ...given, SMTP_OAUTH2_CLIENT_SECRET: '', SMTP_OAUTH2_REFRESH_TOKEN: 'refresh' }
  expect(read(refreshing)).toMatchObject({ clientSecret: undefined, refreshToken: 'refresh' })
})

test.each([
  [{ SMTP_OAUTH2_TOKEN_URL: '' }, 'SMTP_OAUTH2_TOKEN_URL is required too'],
  [{ SMTP_OAUTH2_CLIENT_ID: '' }, 'SMTP_OAUTH2_CLIENT_ID is required too'],
  [{ SMTP_OAUTH2_CLIENT_SECRET: '' }, 'SMTP_OAUTH2_CLIENT_SECRET or SMTP_OAUTH2_REFRESH_TOKEN is required too'],
  [{ SMTP_URL: 'smtps://mail' }, 'SMTP_URL must name the user'],
  [{ SMTP_URL: 'smtps://user:hunter2@mail' }, 'keep one of them'],
  [{ SMTP_OAUTH2_TOKEN_URL: 'http://id.example.com/token' }, 'SMTP_OAUTH2_TOKEN_URL must be an https address'],
])('a process does not start with %j', (change, message) => {
  expect(() => read({ ...given, ...change })).toThrow(message)
  expect(() => read({ ...given, ...change })).not.toThrow('hunter2')
})
