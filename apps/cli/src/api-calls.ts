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
