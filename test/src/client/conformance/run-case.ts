import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { makeSigningSecret, signedHeaders } from '../../../../packages/notifications/webhooks/src/signature.ts'
import { runProgram } from '../../environment/program.ts'
import { openScratch } from '../../environment/scratch.ts'
import { bulkImport } from '../../stack/client.ts'
import type { CallOfCase, Case, FileOfCase, Outcome, Route } from './case.ts'
import { differences } from './differences.ts'
import { type FaultServer, startFaultServer } from './fault-server.ts'

/** A program that reads a call as JSON, and prints the outcome as JSON. */
export interface Driver {
  command: readonly [program: string, ...args: string[]]
  env: Record<string, string>
}

/** An app of a running Sluice, which the case uses. */
export interface Target {
  api: string
  token: string
}

/** Patience of every case for outages, s. */
const outagePatience = 60

/** Runs a case with a driver. Returns how the client differs from what the case says; nothing if it conforms. */
export async function runCase(each: Case, driver: Driver, target: Target): Promise<string[]> {
  await using parts = new AsyncDisposableStack()
  const { path: folder } = parts.use(await openScratch('sluice-conformance-'))
  const quiet = parts.use(await startFaultServer(target.api, each.serverBefore ?? {}))
  const server = parts.use(await startFaultServer(target.api, each.server ?? {}))
  const imports = () => new Set([...quiet.imports, ...server.imports])
  // Imports of an app are applied in request order, so the next case of this app would wait for those left over.
  parts.defer(() => cancelAll(target, imports()))
  await register(target, each.users ?? ['alice'])
  const own = crypto.randomUUID()
  const run = async (call: CallOfCase, api: string) => {
    const input = {
      api,
      token: each.token ?? target.token,
      patience: each.patience ?? 30,
      outage_patience: outagePatience,
      ...(await callFor(call, { folder, own, precedingId: [...quiet.imports][0] })),
    }
    return await outcomeOf(driver, input)
  }
  if (each.before !== undefined) await run(each.before, quiet.url)
  const began = performance.now()
  const outcome = await run(each.call, server.url)
  const tookMs = performance.now() - began
  const wrong = [
    ...differences(outcome, each.outcome, 'outcome'),
    ...differencesOfRequests(each, server),
    ...differencesOfBatches(each, server),
    ...(each.imports === undefined ? [] : differences(imports().size, each.imports, 'imports')),
    ...(each.exported === undefined ? [] : differences(await exportedTo(folder), each.exported, 'file')),
  ]
  if (tookMs < (each.tookMs ?? 0)) wrong.push(`the call took ${Math.round(tookMs)} ms, less than ${each.tookMs}`)
  return wrong
}

async function outcomeOf({ command: [program, ...args], env }: Driver, input: unknown): Promise<Outcome | string> {
  const { output } = await runProgram(program, args, { env, input: JSON.stringify(input) })
  try {
    return JSON.parse(output)
  } catch {
    return output
  }
}

interface Places {
  folder: string
  own: string
  precedingId: string | undefined
}

/** Returns the members of a call as a driver reads them. */
async function callFor(call: CallOfCase, { folder, own, precedingId }: Places): Promise<object> {
  switch (call.call) {
    case 'import_file':
    case 'upload': {
      const { idempotency_key: key, ...options } = call.options ?? {}
      const file = join(folder, call.file.name)
      await writeFile(file, bytesOf(call.file))
      return { ...call, file, options: { ...options, ...(key !== undefined && { idempotency_key: own }) } }
    }
    case 'wait_for_import':
      return { import_id: precedingId, ...call }
    case 'export':
      return { ...call, target: join(folder, exportName) }
    case 'verify_webhook': {
      const secret = makeSigningSecret()
      const sentAt = Math.floor(Date.now() / 1000) - call.age
      // The endpoint's secret was replaced, so the old one signs as well.
      const headers = signedHeaders([makeSigningSecret(), secret], own, sentAt, call.signedBody)
      return { call: call.call, secret, headers, body: call.body }
    }
    default:
      return call
  }
}

const exportName = 'export.csv.gz'

async function exportedTo(folder: string): Promise<string | undefined> {
  const path = join(folder, exportName)
  return existsSync(path) ? gunzipSync(await readFile(path)).toString() : undefined
}

function bytesOf(file: FileOfCase): Buffer {
  if ('text' in file) return Buffer.from(file.text)
  if ('gzip' in file) return gzipSync(file.gzip)
  const rows = Array.from({ length: file.rows }, (_, index) => `user-${index},${'x'.repeat(250)}\n`)
  return Buffer.from(`user_id,text\n${rows.join('')}`)
}

function differencesOfRequests({ requests = {}, keys = {}, announced }: Case, { seen }: FaultServer): string[] {
  const of = (route: string) => seen.filter((each) => each.route === route)
  const counts = Object.entries(requests).flatMap(([route, count]) =>
    differences(of(route).length, count, `requests to ${route}`),
  )
  const kept = Object.entries(keys).flatMap(([route, count]) => {
    const found = new Set(of(route).map(({ key }) => key))
    const valid = [...found].every((key) => key !== undefined && /^[\x21-\x7e]{1,255}$/.test(key))
    return [...differences(found.size, count, `keys of ${route}`), ...(valid ? [] : [`a key of ${route} is invalid`])]
  })
  const first =
    announced &&
    of('announce' satisfies Route)
      .at(-1)
      ?.body.toString()
  return [...counts, ...kept, ...(first ? differences(JSON.parse(first), announced, 'first request') : [])]
}

/** Returns how the user IDs of the requests differ from those of the call, in their order. */
function differencesOfBatches({ call, batches }: Case, { seen }: FaultServer): string[] {
  if (batches === undefined || !('user_ids' in call)) return []
  const lists = [...new Map(seen.map(({ key, body }) => [key, body.toString()])).values()].map((body) => {
    const { user_ids: users, identity_value: values } = JSON.parse(body)
    return (users ?? values) as string[]
  })
  const sizes = lists.map((list) => list.length)
  const isComplete = lists.flat().join() === call.user_ids.join()
  return [...differences(sizes, batches, 'batches'), ...(isComplete ? [] : ['the user IDs are not those of the call'])]
}

async function register({ api, token }: Target, users: readonly string[] | number): Promise<void> {
  const ids = typeof users === 'number' ? Array.from({ length: users }, (_, index) => `user-${index}`) : users
  if (ids.length === 0) return
  const headers = { 'X-Service-Token': token, 'Content-Type': 'application/json' }
  const body = JSON.stringify({ user_ids: ids })
  const answer = await fetch(`${api}/v1/users`, { method: 'POST', headers, body })
  if (!answer.ok) throw new Error(`users cannot be registered: ${await answer.text()}`)
}

/** Cancels the imports that have not ended. */
async function cancelAll({ api, token }: Target, imports: ReadonlySet<string>): Promise<void> {
  const headers = { 'X-Service-Token': token }
  for (const id of imports) await fetch(`${api}${bulkImport}/${id}`, { method: 'DELETE', headers })
}
