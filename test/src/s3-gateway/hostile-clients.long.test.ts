import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { answerOf, begin } from '@sluice/s3-endpoint/testing'
import { beforeAll, describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { watchMemory } from '../memory/peak-memory.ts'
import { startGateway } from './gateway-process.ts'
import type { Owner } from './test-gateway.ts'

// While one app attacks a gateway process, another app's uploads succeed, and the process stays alive.
const gateway = openBeforeAll(() => startGateway({ S3_GATEWAY_BODY_GRACE: '5s' }))
let attacker: Owner
let neighbour: Owner

beforeAll(async () => {
  attacker = await gateway.openOwner()
  neighbour = await gateway.openOwner()
})

const file = 'user_id,name\nalice,Alice\n'
/** Memory limit of a gateway's container in the chart, bytes. */
const memoryLimit = 512 * 1024 * 1024
const at = ({ path }: Owner, name: string) => `/${gateway.bucket}/${path}${name}`

/** Uploads a small file. Returns the answer's status, or 'no answer' after half a minute. */
async function upload(owner: Owner, name: string): Promise<number | 'no answer'> {
  const stop = new AbortController()
  const answer = gateway.send(owner, { method: 'PUT', path: at(owner, name), body: file }).then(({ status }) => status)
  const late = delay(30_000, 'no answer' as const, { signal: stop.signal })
  late.catch(() => {}) // no longer awaited
  return await Promise.race([answer, late]).finally(() => stop.abort())
}

/** Uploads files of another app one by one until the attack has ended. Returns the distinct statuses. */
async function neighbourDuring(attack: Promise<unknown>, neighbour: Owner): Promise<Set<unknown>> {
  const statuses = new Set<unknown>()
  let over = false
  const end = () => {
    over = true
  }
  attack.then(end, end)
  do statuses.add(await upload(neighbour, `${randomUUID()}.csv`))
  while (!over && !statuses.has('no answer'))
  return statuses
}

describe('documents', () => {
  const empties = (bytes: number) => '<a/>'.repeat(bytes / 4)

  test('of 4 MiB are refused before they are read', async () => {
    const body = `<CompleteMultipartUpload>${empties(4 * 1024 * 1024 - 100)}</CompleteMultipartUpload>`
    const begun = await gateway.send(attacker, { method: 'POST', path: `${at(attacker, 'a.csv')}?uploads` })
    const [, uploadId] = /<UploadId>(.*)<\/UploadId>/.exec(begun.text) ?? []
    const completion = { method: 'POST', path: `${at(attacker, 'a.csv')}?uploadId=${uploadId}`, body }
    const requests = Array.from({ length: 6 }, () => gateway.send(attacker, completion))
    const attack = Promise.allSettled(requests)
    expect(await neighbourDuring(attack, neighbour)).toEqual(new Set([200]))
    const outcomes = await attack
    const answers = outcomes.filter((outcome) => outcome.status === 'fulfilled')
    expect(answers).not.toEqual([])
    for (const { value } of answers) expect(value).toMatchObject({ status: 400, code: 'MaxMessageLengthExceeded' })
    // A client on a busy machine may still be sending when the gateway ends the connection, and then sees no answer.
    const cut = outcomes.filter((outcome) => outcome.status === 'rejected')
    for (const { reason } of cut) expect(['EPIPE', 'ECONNRESET']).toContain(reason.code)
  })

  test('that configure the bucket change nothing', async () => {
    const body =
      '<CreateBucketConfiguration><LocationConstraint>us-east-1</LocationConstraint></CreateBucketConfiguration>'
    expect(await gateway.send(attacker, { method: 'PUT', path: `/${gateway.bucket}`, body })).toMatchObject({
      status: 409,
      code: 'BucketAlreadyOwnedByYou',
    })
  })

  test('that complete an upload which does not exist are not read', async () => {
    const path = `${at(attacker, 'a.csv')}?uploadId=${randomUUID()}`
    const body = empties(1024 * 1024)
    expect(await gateway.send(attacker, { method: 'POST', path, body })).toMatchObject({
      status: 404,
      code: 'NoSuchUpload',
    })
  })

  test('that list parts which were never sent do not reach storage', async () => {
    const begun = await gateway.send(attacker, { method: 'POST', path: `${at(attacker, 'b.csv')}?uploads` })
    const [, uploadId] = /<UploadId>(.*)<\/UploadId>/.exec(begun.text) ?? []
    const parts = Array.from({ length: 1_000 }, (_, index) => {
      return `<Part><PartNumber>${index + 1}</PartNumber><ETag>${'a'.repeat(32)}</ETag></Part>`
    })
    const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
    const path = `${at(attacker, 'b.csv')}?uploadId=${uploadId}`
    const attack = Promise.all(Array.from({ length: 6 }, () => gateway.send(attacker, { method: 'POST', path, body })))
    expect(await neighbourDuring(attack, neighbour)).toEqual(new Set([200]))
    for (const answer of await attack) {
      expect(answer).toMatchObject({ status: 400, code: 'InvalidPart' })
      expect(answer.text).toContain('<PartNumber>1</PartNumber>')
    }
    const tooMany = body.replace('<Part>', '<Part><PartNumber>1001</PartNumber><ETag>a</ETag></Part><Part>')
    expect(await gateway.send(attacker, { method: 'POST', path, body: tooMany })).toMatchObject({
      status: 400,
      code: 'MalformedXML',
    })
  })
})

describe('slow senders', () => {
  /**
   * Sends a large file byte by byte until the gateway closes the connection. Returns the error code of the answer, or
   * of the connection: a byte that was in flight may end it before the answer is read.
   */
  async function trickle(owner: Owner, name: string): Promise<string | undefined> {
    const { accessKeyId, secretAccessKey } = owner
    const headers = { 'content-length': '1000000' }
    const request = begin(gateway.url, {
      ...{ accessKeyId, secretAccessKey, method: 'PUT', path: at(owner, name), headers },
      payloadHash: 'UNSIGNED-PAYLOAD',
    })
    const closed = new Promise((resolve) => request.once('close', resolve))
    const answer = answerOf(request).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') throw error
      return { code: error.code }
    })
    request.on('error', () => {}) // the gateway closes the connection while bytes are in flight
    request.flushHeaders()
    const drip = setInterval(() => request.write('x'), 500)
    try {
      const [{ code }] = await Promise.all([answer, closed])
      return code
    } finally {
      clearInterval(drip)
    }
  }

  test('of one access key are answered and closed, and uploads with all other keys succeed meanwhile', async () => {
    const memory = watchMemory(async () => [gateway.pid])
    const otherKey = await gateway.openKey(attacker)
    const attack = Promise.all(Array.from({ length: 1_005 }, (_, index) => trickle(attacker, `${index}.csv`)))
    const others = [neighbour, otherKey].map((owner) => neighbourDuring(attack, owner))
    expect(await Promise.all(others)).toEqual([new Set([200]), new Set([200])])
    // On a busy machine, storage may also refuse some connections.
    expect(await attack).toEqual(expect.arrayContaining(['SlowDown', 'RequestTimeout']))
    expect(await upload(attacker, 'after.csv')).toBe(200)
    expect(await memory.end()).toBeLessThan(memoryLimit)
  }, 180_000)
})
