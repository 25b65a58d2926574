import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { seeded } from '../../environment/random.ts'
import { until } from '../../environment/wait.ts'
import { watchMemory } from '../../memory/peak-memory.ts'
import { download, ended, put, requestImport } from '../../stack/client.ts'
import { type ClientApp, openClientApp, upload } from './client.ts'
import type { Deployment } from './deployment.ts'
import { generateSoundFile } from './generate.ts'
import type { HostileFile } from './hostile-files.ts'

export interface HostileOutcome {
  state: string
  error: string | null
  rows_total: number
  rows_failed: number
  /** Peak resident memory of a worker, bytes. */
  peakMemory: number
  /** Time from the end of the upload to the end of the import, ms. */
  tookMs: number
  messages: string[]
  mail: string
}

/** Uploads a hostile file to a new app, then a valid file, which must be applied. */
export async function runHostileFile(deployment: Deployment, file: HostileFile): Promise<HostileOutcome> {
  const app = await openClientApp(deployment)
  const memory = watchMemory(async () => deployment.workers().map(({ pid }) => pid))
  const { checksum, size } = await digest(file)
  const declared = { checksum, byte_size: String(size), content_type: file.contentType }
  const { importId, url, headers } = await requestImport(deployment.api, app.token, declared)
  const answer = await put(url, { ...headers, 'Content-Length': size }, Readable.from(file.bytes()))
  assert.equal(answer.status, 200, answer.code)
  const uploaded = performance.now()
  const view = await ended(deployment.api, app.token, importId, 300_000)
  const tookMs = performance.now() - uploaded
  const next = await ended(
    deployment.api,
    app.token,
    await upload(deployment, app, generateSoundFile(seeded(1), 1, 100)),
  )
  assert.equal(next.state, 'completed', 'the next import')
  return {
    state: view.state,
    error: view.error,
    rows_total: view.rows_total,
    rows_failed: view.rows_failed,
    peakMemory: await memory.end(),
    tookMs: Math.round(tookMs),
    messages: view.error_file_url === null ? [] : messagesOf(await download(view.error_file_url)),
    mail: await mailAbout(deployment, app, importId),
  }
}

async function digest(file: HostileFile): Promise<{ checksum: string; size: number }> {
  const md5 = createHash('md5')
  let size = 0
  for await (const chunk of file.bytes()) {
    md5.update(chunk)
    size += chunk.length
  }
  return { checksum: md5.digest('base64'), size }
}

/**
 * Returns the distinct texts in the first column of an error file. A text of several messages is quoted in the file.
 */
function messagesOf(errorFile: Buffer): string[] {
  const lines = errorFile.toString('latin1').split('\n').slice(1, -1)
  return [
    ...new Set(lines.map((line) => /^"([^"]*)"|^[^,]*/.exec(line)).map((found) => found?.[1] ?? found?.[0] ?? '')),
  ]
}

async function mailAbout({ db }: Deployment, app: ClientApp, importId: string): Promise<string> {
  return await until('the mail', async () => {
    const mail = await db
      .selectFrom('mails')
      .select('text')
      .where('app_id', '=', app.appId)
      .where('event', '=', `import:${importId}`)
      .where('state', '=', 'sent')
      .executeTakeFirst()
    return mail?.text
  })
}
