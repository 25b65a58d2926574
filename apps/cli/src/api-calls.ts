import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from './failure.ts'

/** The API could not be reached, or closed the connection early. */
export class Unanswered extends Failure {}

/** The API answered with an error. */
export class Refused extends Failure {
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
      const mayPass = error instanceof Unanswered || (error instanceof Refused && [409, 503].includes(error.status))
      if (!mayPass) throw error
    }
    await delay(pauseMs)
  }
  return await call(url, init)
}
