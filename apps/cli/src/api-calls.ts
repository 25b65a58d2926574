import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from './failure.ts'

/** The API could not be reached, or closed the connection early. */
class Unanswered extends Failure {}

/** The API answered with an error. */
class Refused extends Failure {
  readonly status: number

  constructor(message: string, status: number) {
    super(`${message} (${status})`)
    this.status = status
  }
}

/** Sends a request to the API. Throws {@link Unanswered} and {@link Refused}. */
export async function call(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init).catch((error: Error) => {
    const cause = error.cause instanceof Error ? error.cause.message : error.message
    throw new Unanswered(`${new URL(url).origin} cannot be reached: ${cause}`)
  })
  if (response.ok) return response
  const body = (await response.json().catch(() => undefined)) as { error?: { messages?: string[] } } | undefined
  throw new Refused(body?.error?.messages?.join(', ') ?? 'the API answered', response.status)
}

/** Whether a later repetition may succeed: the API did not answer, is not ready, or had too many requests. */
export function mayPass(error: unknown): boolean {
  return error instanceof Unanswered || (error instanceof Refused && (error.status >= 500 || error.status === 429))
}

/** Pauses before the repetitions of a request that was not answered, ms. */
const pausesMs = [200, 1_000, 3_000, 5_000]

/**
 * Sends a request with an idempotency key. Repeats it if the answer was lost, if the API is not ready, or while the
 * original request is in flight. Throws like {@link call}.
 */
export async function callUntilAnswered(url: string, init: RequestInit): Promise<Response> {
  for (const pauseMs of pausesMs) {
    try {
      return await call(url, init)
    } catch (error) {
      if (!mayPass(error) && !(error instanceof Refused && error.status === 409)) throw error
    }
    await delay(pauseMs)
  }
  return await call(url, init)
}
