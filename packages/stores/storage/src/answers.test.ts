import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from './client.ts'
import { deleteObjects } from './delete-objects.ts'
import { readCalls } from './objects.ts'

/** Starts a server that keeps the last request and answers with these answers, one after the other. */
async function startStorage(...answers: string[]) {
  const seen = { md5: '', body: Buffer.alloc(0) }
  const server = createServer(async (request, response) => {
    seen.md5 = String(request.headers['content-md5'])
    seen.body = await buffer(request)
    response.setHeader('Content-Type', 'application/xml').end(answers.shift())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const settings = { S3_REGION: 'us-east-1', S3_BUCKET: 'b', S3_ACCESS_KEY_ID: 'k', S3_SECRET_ACCESS_KEY: 's' }
  const endpoint = `http://127.0.0.1:${address.port}`
  const client = connect({ ...settings, S3_ENDPOINT: endpoint }, endpoint, {
    requestTimeoutMs: 0,
    socketTimeoutMs: 0,
    maxSockets: 1,
  })
  onTestFinished(() => client.destroy())
  return { client, seen }
}

test('a request to delete objects has the MD5 of its body, which some storages require', async () => {
  const { client, seen } = await startStorage('<DeleteResult></DeleteResult>')
  await deleteObjects(client, 'b', ['one', 'two'])
  expect(seen.body.toString()).toContain('<Key>two</Key>')
  expect(seen.md5).toBe(createHash('md5').update(seen.body).digest('base64'))
})

test('an object that storage keeps is an error that names it', async () => {
  const { client } = await startStorage(
    '<DeleteResult><Error><Key>one</Key><Code>AccessDenied</Code><Message>Access Denied</Message></Error></DeleteResult>',
  )
  await expect(deleteObjects(client, 'b', ['one'])).rejects.toThrow('storage did not remove one: Access Denied')
})

test('a list goes on after a page without objects', async () => {
  const page = (content: string) => `<ListBucketResult>${content}</ListBucketResult>`
  const { client } = await startStorage(
    page('<IsTruncated>true</IsTruncated><NextContinuationToken>next</NextContinuationToken>'),
    page('<IsTruncated>false</IsTruncated><Contents><Key>one</Key><Size>1</Size></Contents>'),
  )
  const keys: string[] = []
  for await (const objects of readCalls({ bucket: 'b', calls: client, long: client }).list('')) {
    keys.push(...objects.map(({ key }) => key))
  }
  expect(keys).toEqual(['one'])
})
