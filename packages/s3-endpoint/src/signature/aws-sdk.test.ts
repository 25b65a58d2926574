import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseHeaders } from '../protocol/headers.ts'
import { parseRequestTarget } from '../protocol/request-target.ts'
import { authenticate, type SignedRequest } from './authenticate.ts'

const credentials = { accessKeyId: 'AKID', secretAccessKey: 'secret/+key' }
const region = 'eu-west-1'

interface Parts {
  key: string
  query: Record<string, string>
  headers: Record<string, string>
}

interface SdkRequest extends Omit<Parts, 'key'> {
  path: string
}

/** Returns a request that the AWS SDK has signed, as a server reads it. */
async function signedBySdk({ key, query, headers }: Parts): Promise<SignedRequest> {
  const signed = Promise.withResolvers<SignedRequest>()
  const client = new S3Client({
    credentials,
    region,
    endpoint: 'http://localhost:9000',
    forcePathStyle: true,
    maxAttempts: 1,
  })
  client.middlewareStack.add(
    (next) => (args) => {
      const request = args.request as SdkRequest
      Object.assign(request.query, query)
      Object.assign(request.headers, headers)
      return next(args)
    },
    { step: 'build' },
  )
  client.middlewareStack.add(
    () => async (args) => {
      const request = args.request as SdkRequest
      const search = Object.entries(request.query).map((pair) => pair.map(encodeURIComponent).join('='))
      signed.resolve({
        method: 'GET',
        ...parseRequestTarget(`${request.path}?${search.join('&')}`),
        headers: parseHeaders(Object.entries(request.headers).flat()),
      })
      return { response: {}, output: { $metadata: {} } }
    },
    { step: 'finalizeRequest', priority: 'low' },
  )
  await client.send(new GetObjectCommand({ Bucket: 'bkt', Key: key }))
  client.destroy()
  return signed.promise
}

// design.md §1, Technology.
test('a request that the AWS SDK signs is accepted, whatever its path, parameters and headers', async () => {
  const name = fc.string({ unit: fc.constantFrom(..."aBz-_.!*()' é"), minLength: 1, maxLength: 4 })
  const text = fc.string({ unit: fc.constantFrom(..."aB/-_.~!*()'+&=%\t\u0001 é😀"), maxLength: 8 })
  const value = fc.string({ unit: fc.constantFrom(...'a,\t  '), maxLength: 8 })
  const key = text.map((end) => `k${end}`)
  const parts = fc.record({ key, query: fc.dictionary(name, text), value })
  await fc.assert(
    fc.asyncProperty(parts, async ({ key, query, value }) => {
      const request = await signedBySdk({ key, query, headers: { 'x-amz-meta-x': value } })
      const findCredentials = async () => ({ ...credentials, identity: 'owner' })
      const found = await authenticate(request, { findCredentials, region, now: new Date() })
      expect(found.identity).toBe('owner')
    }),
  )
})
