import { retry } from '../../../faults/harness/client.ts'
import type { Prepared } from '../scenario.ts'

/** How long a client waits for an answer, ms. */
const answerTimeoutMs = 5_000

/** A request of a client, which it repeats with one idempotency key until it is answered. */
interface ClientRequest {
  path: string
  contentType: string
  body: string | Uint8Array<ArrayBuffer>
  /** A refusal of repetitions, which says that the request had its effect. */
  refusedAgain?: number
}

/** Sends a request until it succeeds. All repetitions have the same idempotency key. */
export function post({ system, app }: Prepared, request: ClientRequest): Promise<Response> {
  const { path, contentType, body, refusedAgain } = request
  const key = crypto.randomUUID()
  return retry(`POST ${path}`, async () => {
    const response = await fetch(system.api + path, {
      method: 'POST',
      headers: { 'Content-Type': contentType, 'X-Service-Token': app.token, 'Idempotency-Key': `"${key}"` },
      body,
      signal: AbortSignal.timeout(answerTimeoutMs),
    })
    if (!response.ok && response.status !== refusedAgain)
      throw new Error(`${response.status}: ${await response.text()}`)
    return response
  })
}
