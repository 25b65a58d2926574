import type { FastifyReply, FastifyRequest } from 'fastify'
import { visitedApp } from '../access/guard.ts'
import type { DashboardContext } from '../context.ts'
import { importRules, sendDataImport } from './data-import-page.ts'

/** The answer to a file that is refused. */
export interface Refusal {
  status: 400 | 413 | 429 | 503
  problem: string
  /** The seconds after which the client may try again. */
  retryAfter?: number
}

/** Answers with the data import page and the reason why the file was refused. */
export async function refuseFile(
  { db }: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { status, problem, retryAfter }: Refusal,
): Promise<FastifyReply> {
  const { appId } = visitedApp(request)
  const rules = await importRules(db, appId)
  if (retryAfter !== undefined) reply.header('Retry-After', retryAfter)
  return sendDataImport(reply.code(status), appId, rules, problem)
}

/** Reads and drops the rest of a file, because browsers read the answer only after they have sent everything. */
export function dropRest({ raw }: FastifyRequest): void {
  raw.unpipe()
  raw.resume()
}
