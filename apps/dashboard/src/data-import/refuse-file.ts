import type { FastifyReply, FastifyRequest } from 'fastify'
import { visitedApp } from '../access/guard.ts'
import type { DashboardContext } from '../context.ts'
import { importRules, sendDataImport } from './data-import-page.ts'
import { FileForm } from './file-form.ts'

/** The answer to a file that is refused. */
export interface Refusal {
  status: 400 | 413 | 429 | 503
  problem: string
  /** The address of the held import that is to blame. */
  held?: string | undefined
  /** The seconds after which the client may try again. */
  retryAfter?: number
}

/**
 * Returns whether the page's script sent the file. It gets JSON, and opens the page of the import itself: a script
 * cannot follow a redirect to a page that asks for a sign-in, and the session may end during an upload.
 */
export function isOfScript({ headers }: FastifyRequest): boolean {
  return headers.accept === 'application/json'
}

/** Answers with the reason why the file was refused: the data import page with the reason, or JSON for the script. */
export async function refuseFile(
  { db }: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { status, problem, held, retryAfter }: Refusal,
): Promise<FastifyReply> {
  if (retryAfter !== undefined) reply.header('Retry-After', retryAfter)
  reply.code(status)
  if (isOfScript(request)) return reply.send({ status: 'refused', error: { messages: [problem] }, held })
  const { appId } = visitedApp(request)
  const rules = await importRules(db, appId)
  const typed = request.body instanceof FileForm ? request.body : undefined
  return sendDataImport(reply, appId, rules, { problem, held, typed })
}

/** Reads and drops the rest of a file, because browsers read the answer only after they have sent everything. */
export function dropRest({ raw }: FastifyRequest): void {
  raw.unpipe()
  raw.resume()
}
