import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { makeSigningSecret, signedHeaders } from './signature.ts'

// second-day.md §5, Signature; second-day.md §5, Endpoints.
test('a secret is whsec_ and 24 random bytes in base64', () => {
  const secrets = Array.from({ length: 100 }, makeSigningSecret)
  for (const secret of secrets) expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/)
  expect(new Set(secrets).size).toBe(100)
})

test('the library of Standard Webhooks accepts 1,000 signed bodies with any data, and refuses each altered request', () => {
  const anyData = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue())
  const now = () => Math.floor(Date.now() / 1000)
  fc.assert(
    fc.property(anyData, fc.uuid(), fc.nat(), (data, id, at) => {
      const secret = makeSigningSecret()
      const body = JSON.stringify({ type: 'import.completed', data })
      const older = makeSigningSecret()
      const headers = signedHeaders([older, secret], id, now(), body)
      const webhook = new Webhook(secret)
      expect(webhook.verify(body, headers)).toEqual(JSON.parse(body))
      expect(new Webhook(older).verify(body, headers)).toEqual(JSON.parse(body))
      const position = at % body.length
      const altered = `${body.slice(0, position)}\u0001${body.slice(position + 1)}`
      expect(() => webhook.verify(altered, headers)).toThrow()
      expect(() => webhook.verify(body, { ...headers, 'webhook-id': `${id}0` })).toThrow()
      expect(() => new Webhook(makeSigningSecret()).verify(body, headers)).toThrow()
    }),
    { numRuns: 1_000 },
  )
})
