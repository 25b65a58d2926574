import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { isIP } from 'node:net'
import { authenticator, normalEmail } from '@sluice/accounts'
import { checkRequest, importCursor, importListQuery, isIdempotencyKey } from '@sluice/contract'
import type { Database, Schema } from '@sluice/database'
import { checkUrl, openAddressRule } from '@sluice/webhooks'
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import type { Target } from './target.ts'

const token = `slc_7_${'A'.repeat(43)}`
const storedToken = {
  app_id: 7,
  token_hash: createHash('sha256').update(token).digest(),
  bulk_import_limit: null,
}

/** Returns a database in which app 7 has the token, whatever is asked. */
function databaseWithToken(): Database {
  const connection = {
    executeQuery: async () => ({ rows: [storedToken] }),
    async *streamQuery() {},
  }
  class OneToken extends DummyDriver {
    override async acquireConnection() {
      return connection as never
    }
  }
  return new Kysely<Schema>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new OneToken(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
}

const authenticate = authenticator(databaseWithToken())

/** Fuzzes the readers of tokens, idempotency keys and cursors. Each value is accepted in exactly one spelling. */
export const tokens: Target = {
  name: 'tokens',
  dictionary: ['slc_', 'slc_7_', '_', '0', '7', '\0', '\n', ' ', '-', 'AAAAAAAAAQI', '='],
  seeds: [token, importCursor(258), importCursor(2 ** 53 - 1), '8e03978e-40d5-43dd-bc93-6894a57f9324'],
  async check(input) {
    const text = input.toString('latin1')
    const owner = await authenticate(text)
    assert.equal(owner?.appId, text === token ? 7 : undefined)
    assert.equal(
      isIdempotencyKey(text),
      text.length > 0 && text.length < 256 && ![...text].some((one) => one <= ' ' || one > '~'),
    )
    const list = checkRequest(importListQuery, { cursor: text })
    if ('value' in list && list.value.cursor !== undefined) assert.equal(importCursor(list.value.cursor), text)
  },
}

const isAllowed = openAddressRule()
const rule = { allowsHttp: false, isAllowed }

/**
 * Fuzzes the readers of e-mail and web addresses. The normal form of a normal form is itself. No IP address that is not
 * public is accepted.
 */
export const addresses: Target = {
  name: 'addresses',
  dictionary: [
    ...'https:// http:// @ : / // [ ] :: ::ffff: 127.0.0.1 0x7f.1 2130706433 0 localhost . % %31 \\ # ?'.split(' '),
    ...['\t', '\n', '169.254.169.254', '64:ff9b::', 'fe80::1%eth0', '\xe3\x80\x82', '"', '<', '>', ',', '\xc2\xad'],
    ...['\xe2\x84\xaa', 'xn--', '\xef\xbc\x91'],
  ],
  seeds: [
    ...['Ann.Smith@Example.com', 'https://localhost./', 'https://[::ffff:7f00:1]/', '172.31.255.255'],
    ...['https://hooks.example.com/a?b#c', 'https://8.8.8.8/', 'https://[64:ff9b::8.8.8.8]/'],
  ],
  check(input) {
    const text = input.toString()
    checkEmail(text)
    if (isIP(text) === 4) assert.equal(isAllowed(text), isPublicV4(text))
    const checked = checkUrl(text, rule)
    if ('problem' in checked) return
    const { protocol, username, password, hostname, hash } = new URL(checked.url)
    assert.deepEqual([protocol, username, password, hash], ['https:', '', '', ''])
    assert.deepEqual(checkUrl(checked.url, rule), checked)
    if (isIP(hostname) === 4) assert(isPublicV4(hostname), `${hostname} is accepted`)
    assert(!/(?:^|\.)localhost\.?$/.test(hostname), `${hostname} is accepted`)
  },
}

function checkEmail(text: string): void {
  const email = normalEmail(text)
  if (email === undefined) return
  assert(/^[!-~]{3,254}$/.test(email) && email.split('@').length === 2 && !/[<>(),;:"[\]\\]/.test(email))
  assert.equal(email, text.toLowerCase())
  assert.equal(normalEmail(email), email)
}

/** Whether an IPv4 address is public, decided by its four numbers alone. */
function isPublicV4(address: string): boolean {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
  if ([0, 10, 127].includes(a) || a >= 224) return false
  if ((a === 169 && b === 254) || (a === 192 && b === 168)) return false
  if ((a === 172 && b >= 16 && b < 32) || (a === 100 && b >= 64 && b < 128) || (a === 198 && (b === 18 || b === 19)))
    return false
  const special = ['192.0.0', '192.0.2', '192.88.99', '198.51.100', '203.0.113']
  return !special.includes([a, b, c].join('.')) && [a, b, c, d].join('.') !== '168.63.129.16'
}
