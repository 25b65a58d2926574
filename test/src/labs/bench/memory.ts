import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { ImportView } from '@sluice/contract'
import { until } from '../../environment/wait.ts'
import { watchMemory } from '../../memory/peak-memory.ts'
import { type App, openApp, put, requestImport, statusOf } from '../../stack/client.ts'
import { type LargeFileCounts, type LargeFileOptions, largeFile, userIds } from '../../stack/large-file.ts'
import { type RunningStack, startStack } from '../../stack/running-stack.ts'
import { printTargets, type Target } from './targets.ts'

const megabyte = 1_000_000

/** The longest time that an import may take, and how often its status is requested, ms. */
const longestMs = 60 * 60_000
const pollMs = 500

/**
 * Shows that a worker's memory does not grow with the file (design.md §4, Bounded memory): `[--size 1GB] [--users
 * 1000000]`. Returns whether the target is met.
 */
export async function benchMemory(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: { size: { type: 'string', default: '1GB' }, users: { type: 'string', default: '1000000' } },
  })
  return printTargets([await measureMemory({ bytes: parseSize(values.size), users: parseCount(values.users) })])
}

/**
 * Imports a file on a separate stack. The file is generated during the upload, and stored nowhere else.
 *
 * Returns the worker's peak memory, beside the target. Throws if the import does not end as it should.
 */
export async function measureMemory(options: { bytes: number; users: number }): Promise<Target> {
  const stack = await startStack()
  try {
    const { bytes, rows, seconds, peak } = await measure(stack, options)
    log(`${rows} rows, ${bytes} bytes in ${seconds.toFixed(1)} s`)
    const size =
      bytes > 0.9 * 1000 * megabyte
        ? `${(bytes / 1000 / megabyte).toFixed(0)} GB`
        : `${Math.round(bytes / megabyte)} MB`
    const measured = Math.ceil(peak / megabyte)
    return { name: `peak RSS of the worker, file of ${size}, MB`, measured, must: 300, stretch: 200, digits: 0 }
  } finally {
    await stack.stop()
  }
}

async function measure(stack: RunningStack, options: LargeFileOptions) {
  const app = await openApp(stack)
  log(`registering ${options.users} users`)
  const ids = Readable.from(linesOf(userIds(options.users)))
  const registered = await stack.pipeToSluice(ids, 'users', 'register', '--app', String(app.appId))
  assert.equal(registered.code, 0, registered.stderr)

  log('generating the file once for its checksum')
  const { checksum, bytes, counts } = describe(options)
  const memory = watchMemory(async () => (await stack.info()).processes.worker ?? [])
  const { importId, url, headers } = await requestImport(stack.api, app.token, { checksum, byte_size: String(bytes) })
  log(`uploading ${bytes} bytes, ${counts.rows} rows`)
  const answer = await put(url, { ...headers, 'Content-Length': bytes }, Readable.from(largeFile(options)))
  assert.equal(answer.status, 200, answer.code)

  log('importing')
  const started = performance.now()
  const { state, rows_total, rows_failed } = await endOf(stack, app, importId)
  const seconds = (performance.now() - started) / 1000
  const peak = await memory.end()
  assert.deepEqual(
    { state, rows_total, rows_failed },
    {
      state: 'completed',
      rows_total: counts.rows,
      rows_failed: counts.invalid,
    },
  )
  return { bytes, rows: counts.rows, seconds, peak }
}

/** Waits for the end of the import. Polls so rarely that polling takes no CPU time from the import. */
async function endOf({ api }: RunningStack, { token }: App, importId: string): Promise<ImportView> {
  const poll = async () => {
    await delay(pollMs)
    const view = await statusOf(api, token, importId)
    return view.finished_at !== null && view
  }
  return await until('the end of the import', poll, longestMs)
}

function describe(options: LargeFileOptions): { checksum: string; bytes: number; counts: LargeFileCounts } {
  const md5 = createHash('md5')
  const making = largeFile(options)
  let bytes = 0
  for (;;) {
    const next = making.next()
    if (next.done === true) return { checksum: md5.digest('base64'), bytes, counts: next.value }
    md5.update(next.value)
    bytes += next.value.length
  }
}

/** Returns IDs one per line, in pieces of some thousands. */
function* linesOf(ids: Iterable<string>): Generator<string> {
  let lines = ''
  for (const id of ids) {
    lines += `${id}\n`
    if (lines.length < 2 ** 16) continue
    yield lines
    lines = ''
  }
  yield lines
}

function parseSize(text: string): number {
  const [, digits = '', unit = ''] = /^(\d+)(KB|MB|GB)$/.exec(text) ?? []
  const size = Number(digits) * ({ KB: 1e3, MB: 1e6, GB: 1e9 }[unit] ?? 0)
  if (size > 0) return size
  throw new Error(`${JSON.stringify(text)} is not a size such as 100MB or 1GB`)
}

function parseCount(text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text)
  throw new Error(`${JSON.stringify(text)} is not a number of users`)
}

/** Logs progress to stderr: stdout is for the results. */
function log(text: string): void {
  console.error(text)
}
