import { createWriteStream, openAsBlob } from 'node:fs'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { json } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import {
  ApiError,
  ExportFailedError,
  ImportFailedError,
  type ImportOptions,
  NetworkError,
  type ProfileEntry,
  Sluice,
  SluiceError,
  UploadError,
} from '@sluice/client'
import type { Outcome } from './case.ts'

// The driver of the JavaScript client: reads a call as JSON from stdin, and prints the outcome as JSON.

interface Input {
  api: string
  token: string
  patience: number
  outage_patience: number
  call: string
  file: string
  options: Record<string, unknown>
  import_id: string
  keys: string[]
  target: string
  user_id: string
  entries: ProfileEntry[]
  user_ids: string[]
  secret: string
  headers: Record<string, string>
  body: string
}

const input = (await json(process.stdin)) as Input
const sluice = new Sluice({
  api: input.api,
  token: input.token,
  patienceMs: input.patience * 1000,
  outagePatienceMs: input.outage_patience * 1000,
})

const calls: Record<string, () => unknown> = {
  import_file: async () => await sluice.import(await openAsBlob(input.file), options()),
  upload: async () => await sluice.upload(await openAsBlob(input.file), options()),
  wait_for_import: () => sluice.waitForImport(input.import_id),
  export: async () => {
    const { view, stream } = await sluice.export({ keys: input.keys })
    await pipeline(Readable.fromWeb(stream), createWriteStream(input.target))
    return view
  },
  update_profile: () => sluice.updateProfile(input.user_id, input.entries),
  register_users: () => sluice.registerUsers(input.user_ids),
  request_deletion: () => sluice.deleteUsers(input.user_ids),
  verify_webhook: async () => {
    const { Webhook } = await import('standardwebhooks') // only here, because each case loads this program
    return new Webhook(input.secret).verify(input.body, input.headers)
  },
}

/** Returns the options of an import by their names in JavaScript. */
function options(): ImportOptions {
  const named = Object.entries(input.options).map(([name, value]) => [
    name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ])
  return { fileName: basename(input.file), ...Object.fromEntries(named) }
}

function errorOf(error: unknown): Outcome {
  const common = { messages: [String((error as Error).message)], retry_after: null }
  if (error instanceof Error && error.name === 'WebhookVerificationError')
    return { error: { kind: 'other', ...common } }
  if (!(error instanceof SluiceError)) throw error
  const shared = { ...common, retry_after: error.retryAfterMs === undefined ? null : error.retryAfterMs / 1000 }
  if (error instanceof ApiError) {
    const { status, code = null, messages } = error
    return { error: { kind: 'api', ...shared, status, code, messages } }
  }
  if (error instanceof UploadError) {
    return { error: { kind: 'upload', ...shared, status: error.status, code: error.code ?? null } }
  }
  if (error instanceof ImportFailedError)
    return { error: { kind: 'import_failed', ...shared, state: error.view.state } }
  if (error instanceof ExportFailedError)
    return { error: { kind: 'export_failed', ...shared, state: error.view.state } }
  return { error: { kind: error instanceof NetworkError ? 'network' : 'other', ...shared } }
}

const call = calls[input.call]
if (call === undefined) throw new Error(`no such call: ${input.call}`)
const outcome: Outcome = await Promise.resolve()
  .then(call)
  .then((result) => ({ result: result ?? null }), errorOf)
console.log(JSON.stringify(outcome))
