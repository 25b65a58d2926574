import assert from 'node:assert/strict'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { embeddedStorageAccess } from '@sluice/local-stack'
import { openStorage, type Storage } from '@sluice/storage'
import { type App, openApp } from '../../stack/client.ts'
import { type RunningStack, startStack } from '../../stack/running-stack.ts'
import { type MadeFile, makeFile, shapesOf } from './import/file.ts'
import { openScratch } from './scratch.ts'
import { median } from './statistics.ts'
import { printTargets, type Target } from './targets.ts'

/** Slightly below the largest allowed v2 body. */
const defaultRows = '900000'

/**
 * Compares v2 uploads through the API to writing the same bytes directly to storage, alternately: `[--rows N] [--rounds
 * N]`. Returns whether the target is met.
 */
export async function benchUploads(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: { rows: { type: 'string', default: defaultRows }, rounds: { type: 'string', default: '5' } },
  })
  await using scratch = await openScratch('sluice-bench-uploads-')
  // No worker imports the files: only the uploads are measured.
  const stack = await startStack({ env: { RATE_LIMIT_BULK_IMPORT_V2: '1000000/60s', WORKER_QUEUES: 'mails' } })
  try {
    const file = await makeFile(scratch.path, shapesOf(Number(values.rows)).first)
    return printTargets([await measureUploads(stack, file, Number(values.rounds))])
  } finally {
    await stack.stop()
  }
}

async function measureUploads(stack: RunningStack, file: MadeFile, rounds: number): Promise<Target> {
  const app = await openApp(stack)
  const access = await embeddedStorageAccess(stack.home, {})
  const storage = openStorage({ S3_ENDPOINT: (await stack.info()).storage, ...access })
  const content = await readFile(file.path)
  const straight: number[] = []
  const through: number[] = []
  try {
    for (let round = 0; round <= rounds; round++) {
      const first = await secondsOf(() => writeStraight(storage, content))
      const second = await secondsOf(() => uploadV2(stack, app, file))
      if (round === 0) continue // warm-up
      straight.push(first)
      through.push(second)
    }
  } finally {
    storage.close()
  }
  const rate = (seconds: readonly number[]) => (file.bytes / 1e6 / median(seconds)).toFixed(0)
  console.log(`${file.bytes} bytes: straight to storage ${rate(straight)} MB/s, as a v2 upload ${rate(through)} MB/s`)
  const measured = median(through.map((seconds, round) => (straight[round] ?? Number.NaN) / seconds))
  const name = 'rate of a v2 upload ÷ straight to storage'
  return { name, measured, must: 0.8, stretch: undefined, higherIsBetter: true, digits: 2 }
}

/** Writes a file by one PUT of the SDK. A pre-signed PUT from disk takes as long; an upload in parts takes longer. */
async function writeStraight(storage: Storage, content: Buffer): Promise<void> {
  await storage.write('straight', content, 'text/csv')
}

/** Uploads a file and waits for the answer, which the API sends when the file is stored and its types are inferred. */
async function uploadV2({ api }: RunningStack, { token }: App, file: MadeFile): Promise<void> {
  const sending = request(`${api}/v2/user_profiles/bulk_import`, {
    method: 'POST',
    headers: { 'Content-Type': 'text/csv', 'Content-Length': file.bytes, 'X-Service-Token': token },
  })
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    sending.on('response', resolve)
    sending.on('error', reject)
  })
  await Promise.all([pipeline(createReadStream(file.path), sending), answered])
  const answer = await answered
  answer.resume()
  assert.equal(answer.statusCode, 202)
}

async function secondsOf(work: () => Promise<void>): Promise<number> {
  const started = performance.now()
  await work()
  return (performance.now() - started) / 1000
}
