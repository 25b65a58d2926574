import { describe, expect, test } from 'vitest'
import { joinClaims, lacksClaims, readIdentity } from './identity.ts'

const issuer = 'https://id.example.com'
const claims = { sub: 'a1', email: 'Anna@Example.com', email_verified: true, groups: ['staff'] }

// second-day.md §6, Operator group.
test('the address is read in its normal form', () => {
  const identity = { issuer, subject: 'a1', email: 'anna@example.com', isInOperatorGroup: false }
  expect(readIdentity(claims, issuer, 'operations')).toEqual(identity)
})

describe('an address counts only if the provider says that it is verified:', () => {
  test.each([
    [true, 'anna@example.com'],
    ['true', 'anna@example.com'],
    [false, undefined],
    ['false', undefined],
    [undefined, undefined],
    [null, undefined],
    [1, undefined],
  ])('%s', (email_verified, expected) => {
    expect(readIdentity({ ...claims, email_verified }, issuer, undefined).email).toBe(expected)
  })
})

test('claims of the ID token take precedence, but an address and its verification come from one source', () => {
  const userInfo = { email: 'ben@example.com', email_verified: true, groups: ['staff'] }
  expect(joinClaims({ sub: 'a1', email: 'anna@example.com' }, userInfo)).toEqual({ sub: 'a1', ...userInfo })
  expect(joinClaims({ sub: 'a1', email_verified: true }, { email: 'ben@example.com' }).email_verified).toBeUndefined()
  expect(joinClaims(claims, userInfo)).toEqual(claims)
})

test.each([[undefined], [['anna@example.com']], ['no address'], ['Änna@example.com']])(
  'an address that is none (%s) does not count',
  (email) => {
    expect(readIdentity({ ...claims, email }, issuer, undefined).email).toBeUndefined()
  },
)

describe('only a list that contains the exact name of the group makes operators:', () => {
  test.each([
    [['staff', 'operations'], 'operations', true],
    [['Operations'], 'operations', false],
    [['operations-readers'], 'operations', false],
    ['operations', 'operations', false],
    [undefined, 'operations', false],
    [['operations'], undefined, false],
    [[undefined], undefined, false],
  ])('%j', (groups, group, expected) => {
    expect(readIdentity({ ...claims, groups }, issuer, group).isInOperatorGroup).toBe(expected)
  })
})

test.each([[undefined], [''], [7], ['a\0'], ['a'.repeat(256)]])(
  'claims without a valid subject (%j) are refused',
  (sub) => {
    expect(() => readIdentity({ ...claims, sub }, issuer, undefined)).toThrow('no valid subject')
  },
)

test('the userinfo endpoint is asked for claims that the ID token lacks', () => {
  expect(lacksClaims(claims, 'operations')).toBe(false)
  expect(lacksClaims({ sub: 'a1', email: 'anna@example.com', email_verified: true }, undefined)).toBe(false)
  expect(lacksClaims({ sub: 'a1', email: 'anna@example.com', email_verified: true }, 'operations')).toBe(true)
  expect(lacksClaims({ sub: 'a1', email: 'anna@example.com' }, undefined)).toBe(true)
})
