import { createHmac, timingSafeEqual } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { localPath } from '../local-path.ts'
import type { Signer } from '../signer.ts'
import { attemptMs, beginAttempt, findAttempt } from './attempt.ts'

const digest = (purpose: string, text: string) => createHmac('sha256', 'key').update(`${purpose}\0${text}`).digest()
const signer: Signer = {
  sign: async (purpose, text) => digest(purpose, text).toString('base64url'),
  async verify(purpose, text, signature) {
    const [expected, actual] = [digest(purpose, text), Buffer.from(signature, 'base64url')]
    return actual.length === expected.length && timingSafeEqual(actual, expected)
  },
}

test('a state leads back to its sign-in, in the same browser and within ten minutes', async () => {
  const attempt = await beginAttempt(signer, 'browser', '/apps/1/imports?state=failed', 1000)
  expect(await findAttempt(signer, 'browser', attempt.state, 1000 + attemptMs)).toEqual(attempt)
  expect(await findAttempt(signer, 'browser', attempt.state, 1001 + attemptMs)).toBeUndefined()
  expect(await findAttempt(signer, 'another', attempt.state, 1000)).toBeUndefined()
})

test('a sign-in may be finished by a process whose clock is behind, also faster than the clocks differ', async () => {
  const attempt = await beginAttempt(signer, 'browser', '/', attemptMs)
  expect(await findAttempt(signer, 'browser', attempt.state, attemptMs - 1)).toEqual(attempt)
  expect(await findAttempt(signer, 'browser', attempt.state, 0)).toEqual(attempt)
  expect(await findAttempt(signer, 'browser', attempt.state, -1)).toBeUndefined()
})

test('every sign-in has its own state, nonce and code verifier, and the verifier has the form of RFC 7636', async () => {
  const attempts = [await beginAttempt(signer, 'browser', '/'), await beginAttempt(signer, 'browser', '/')]
  const values = attempts.flatMap(({ state, nonce, codeVerifier }) => [state, nonce, codeVerifier])
  expect(new Set(values).size).toBe(6)
  expect(attempts[0]?.codeVerifier).toMatch(/^[\w-]{43,128}$/)
})

test('a state with a changed character is refused', async () => {
  const { state } = await beginAttempt(signer, 'browser', '/apps')
  // Two bits of a signature's last character mean nothing, and + and / are read as - and _.
  const [place, character] = [fc.nat(state.length - 2), fc.string({ minLength: 1, maxLength: 1 })]
  await fc.assert(
    fc.asyncProperty(place, character, async (at, other) => {
      fc.pre(state[at] !== other && !'+/'.includes(other))
      const changed = `${state.slice(0, at)}${other}${state.slice(at + 1)}`
      expect(await findAttempt(signer, 'browser', changed)).toBeUndefined()
    }),
  )
})

test('a path to return to never leads to another host, and a path of the dashboard stays as it is', () => {
  const part = fc.constantFrom(
    '/',
    '//',
    '\\',
    '.',
    '..',
    '@',
    ':',
    'evil.example',
    'https:',
    '\t',
    '\n',
    '?',
    '#',
    'a',
  )
  const target = fc.oneof(
    fc.array(part).map((parts) => parts.join('')),
    fc.string(),
    fc.webUrl(),
  )
  fc.assert(
    fc.property(target, (text) => {
      expect(new URL(localPath(text), 'https://dashboard.example.com').host).toBe('dashboard.example.com')
    }),
  )
  expect(localPath('/apps/1/imports?state=failed&text=a%20b')).toBe('/apps/1/imports?state=failed&text=a%20b')
})
