import { z } from 'zod'
import { isJsonObject, messagesPerAnswer, notAnObject } from './json-object.ts'
import { limits } from './limits.ts'
import { nameProblem } from './name.ts'

/** States of an export. */
const exportStates = ['queued', 'processing', 'completed', 'failed'] as const

/** Answer of `POST /v1/exports` (an extension). */
export const exportAnswer = z.object({ export_id: z.uuid(), state: z.literal('queued') })

/** An export as the API and the command line show it. */
export const exportView = z.object({
  export_id: z.uuid(),
  state: z.enum(exportStates),
  rows: z.int().nonnegative().meta({ description: 'Users in the file; 0 until the export is completed.' }),
  bytes: z.int().nonnegative().meta({ description: 'Size of the file; while the export runs, the bytes so far.' }),
  file_url: z
    .url()
    .nullable()
    .meta({ description: 'Link to the file, which is valid for 7 days; null without a file.' }),
  error: z.string().nullable(),
  requested_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
})

/**
 * Checks the body of `POST /v1/exports`. `keys` are distinct profile keys in the order of the file's columns; null
 * counts as absent.
 *
 * Accepts the parsed JSON. Returns the keys, undefined for all keys of the app, or at most 100 messages. A message
 * names the index of an invalid key.
 *
 * @example
 * ```ts
 * parseExportRequest({ keys: ['name', 'age'] }) // → {"keys": ["name", "age"]}
 * parseExportRequest({ keys: ['name', 'name'] }) // → {"messages": ["keys[1] is named twice"]}
 * ```
 */
export function parseExportRequest(body: unknown): { keys: string[] | undefined } | { messages: string[] } {
  if (!isJsonObject(body)) return { messages: [notAnObject] }
  const given = body.keys
  if (given === undefined || given === null) return { keys: undefined }
  if (!Array.isArray(given)) return { messages: ['keys must be an array of profile keys'] }
  if (given.length === 0) return { messages: ['keys must not be empty'] }
  if (given.length > limits.exportKeys)
    return { messages: [`keys must hold at most ${limits.exportKeys} profile keys`] }

  const messages: string[] = []
  const keys = new Set<string>()
  for (const [index, key] of given.entries()) {
    const problem = keyProblem(key, keys)
    if (problem === undefined) keys.add(key)
    else if (messages.push(`keys[${index}] ${problem}`) === messagesPerAnswer) break
  }
  return messages.length === 0 ? { keys: [...keys] } : { messages }
}

function keyProblem(key: unknown, preceding: ReadonlySet<string>): string | undefined {
  if (typeof key !== 'string') return 'must be a string'
  return nameProblem(key, limits.keyLength) ?? (preceding.has(key) ? 'is named twice' : undefined)
}
