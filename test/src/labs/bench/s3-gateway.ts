import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { answerOf, begin } from '@sluice/s3-endpoint/testing'
import { watchMemory } from '../../memory/peak-memory.ts'
import { type BucketOwner, openBucketOwner, stackBucket } from '../../s3-gateway/bucket-owner.ts'
import { type RunningStack, startStack } from '../../stack/running-stack.ts'
import { printTargets, type Target } from './targets.ts'

const megabyte = 1_000_000

/**
 * Shows that the S3 gateway's memory does not grow with the size of files, and grows little with the number of
 * simultaneous uploads: `[--uploads 20] [--megabytes 100]`. Returns whether the target is met.
 */
export async function benchGateway(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: { uploads: { type: 'string', default: '20' }, megabytes: { type: 'string', default: '100' } },
  })
  // No worker imports the files: only the uploads are measured.
  const stack = await startStack({ env: { WORKER_QUEUES: 'mails' } })
  try {
    return printTargets([await measure(stack, Number(values.uploads), Number(values.megabytes))])
  } finally {
    await stack.stop()
  }
}

async function measure(stack: RunningStack, uploads: number, megabytes: number): Promise<Target> {
  const owner = await openBucketOwner(stack)
  const memory = watchMemory(async () => (await stack.info()).processes.s3_gateway ?? [])
  const started = performance.now()
  await Promise.all(Array.from({ length: uploads }, (_, index) => upload(owner, `file-${index}.csv`, megabytes)))
  const seconds = (performance.now() - started) / 1000
  const peak = await memory.end()
  console.log(`${uploads} uploads of ${megabytes} MB at once: ${((uploads * megabytes) / seconds).toFixed(0)} MB/s`)
  const measured = Math.ceil(peak / megabyte)
  return {
    name: `peak RSS of the S3 gateway, ${uploads} uploads at once, MB`,
    measured,
    must: 200,
    stretch: 150,
    digits: 0,
  }
}

/** Uploads a file like a client that sends as fast as the gateway accepts. */
async function upload(owner: BucketOwner, name: string, megabytes: number): Promise<void> {
  const chunk = randomBytes(megabyte)
  const request = begin(owner.gateway, {
    ...owner,
    method: 'PUT',
    path: `/${stackBucket}/${owner.path}${name}`,
    headers: { 'content-length': String(megabytes * megabyte) },
    payloadHash: 'UNSIGNED-PAYLOAD',
  })
  const answer = answerOf(request)
  await pipeline(Readable.from(Array.from({ length: megabytes }, () => chunk)), request)
  assert.equal((await answer).status, 200)
}
