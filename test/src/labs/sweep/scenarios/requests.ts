import { retry } from '../../../faults/harness/client.ts'
import type { GeneratedFile } from '../../../faults/harness/generate.ts'
import type { Prepared } from '../scenario.ts'

/** How long a client waits for an answer, ms. */
const answerTimeoutMs = 5_000

/** A request of a client, which it repeats with one idempotency key until it is answered. */
interface ClientRequest {
  path: string
  contentType: string
  body: string | Uint8Array<ArrayBuffer>
}

/** Sends a request until it succeeds. All repetitions have the same idempotency key. */
export function post({ system, app }: Prepared, { path, contentType, body }: ClientRequest): Promise<Response> {
  const key = crypto.randomUUID()
  return retry(`POST ${path}`, async () => {
    const response = await fetch(system.api + path, {
      method: 'POST',
      headers: { 'Content-Type': contentType, 'X-Service-Token': app.token, 'Idempotency-Key': `"${key}"` },
      body,
      signal: AbortSignal.timeout(answerTimeoutMs),
    })
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
    return response
  })
}

/** Notes the file of each import that a client began in another way than by a first request. */
export async function noteImports({ system, app }: Prepared, file: GeneratedFile): Promise<number> {
  const rows = await system.db
    .selectFrom('imports')
    .select(['import_id', 'state'])
    .where('app_id', '=', app.appId)
    .where('state', 'not in', ['awaiting_upload', 'expired'])
    .execute()
  for (const row of rows) app.files.set(row.import_id, file)
  return rows.length
}
