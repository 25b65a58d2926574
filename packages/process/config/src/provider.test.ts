import { expect, test } from 'vitest'
import { providerSettings, signInSettings } from './provider.ts'
import { readSettings } from './read.ts'

const given = { OIDC_ISSUER: 'https://id.example.com/', OIDC_CLIENT_ID: 'sluice', OIDC_CLIENT_SECRET: 'secret' }
const read = (environment: Record<string, string>) => providerSettings(readSettings(environment, signInSettings))

test('without an issuer, people sign in by mail only', () => {
  expect(read({})).toBeUndefined()
})

test('the issuer keeps its trailing slash, which is a part of its name', () => {
  expect(read({ ...given, OIDC_OPERATOR_GROUP: 'ops' })).toEqual({
    issuer: 'https://id.example.com/',
    clientId: 'sluice',
    clientSecret: 'secret',
    operatorGroup: 'ops',
  })
})

// second-day.md §6, SIGN_IN_MAIL.
test('a process does not start if nobody could sign in', () => {
  expect(() => read({ SIGN_IN_MAIL: 'off' })).toThrow('nobody could sign in')
  expect(read({ ...given, SIGN_IN_MAIL: 'off' })).toBeDefined()
})

test('an issuer needs a client ID and a client secret', () => {
  expect(() => read({ ...given, OIDC_CLIENT_SECRET: '' })).toThrow('OIDC_CLIENT_SECRET')
  expect(() => read({ ...given, OIDC_CLIENT_ID: '' })).toThrow('OIDC_CLIENT_ID')
})

test.each(['http://id.example.com', 'id.example.com', 'https://id.example.com?tenant=1', 'ftp://id.example.com'])(
  'the issuer %s is refused: secrets would travel in plain text, or it names no provider',
  (issuer) => {
    expect(() => read({ ...given, OIDC_ISSUER: issuer })).toThrow('OIDC_ISSUER must be')
  },
)

test('a provider on the same machine needs no https', () => {
  for (const host of ['localhost', '127.0.0.1', '[::1]'])
    expect(read({ ...given, OIDC_ISSUER: `http://${host}:4000` })).toBeDefined()
})
