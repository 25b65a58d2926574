import { z } from 'zod'
import { importSource, importState } from './answers.ts'
import { member } from './check.ts'
import { limits } from './limits.ts'

/** Bytes of a cursor: a sequence number of 8 bytes. */
const cursorBytes = 8

/**
 * Returns the cursor of the page that follows the import with this number in the import order. Imports that are added
 * later do not move the page.
 *
 * @example
 * ```ts
 * importCursor(258) // → "AAAAAAAAAQI"
 * ```
 */
export function importCursor(sequenceNumber: number): string {
  const bytes = Buffer.alloc(cursorBytes)
  bytes.writeBigUInt64BE(BigInt(sequenceNumber))
  return bytes.toString('base64url')
}

function parseCursor(text: string): number | undefined {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length !== cursorBytes || bytes.toString('base64url') !== text) return undefined
  const number = Number(bytes.readBigUInt64BE())
  return Number.isSafeInteger(number) ? number : undefined
}

/** Returns the parser of a whole number from 1 to `most`, in no more digits than `most` has. */
function upTo(most: number) {
  return (text: string): number | undefined => {
    const number = /^\d+$/.test(text) && text.length <= String(most).length ? Number(text) : 0
    return number >= 1 && number <= most ? number : undefined
  }
}

/** Returns the schema of a parameter of the query. An empty parameter counts as absent. */
function parameter<Value>(
  name: string,
  parse: (text: string) => Value | undefined,
  rule: string,
  described: z.core.JSONSchema.BaseSchema,
) {
  return member<Value | undefined>((given) => {
    if (given === undefined || given === '') return { value: undefined }
    const value = typeof given === 'string' || typeof given === 'number' ? parse(String(given)) : undefined
    return value === undefined ? { messages: [`${name} ${rule}`] } : { value }
  }, described)
}

const among = (values: readonly string[]) => `must be one of ${values.join(', ')}`

const state = (described: { description: string; example: string }) =>
  parameter('state', (text) => importState.safeParse(text).data, among(importState.options), {
    enum: importState.options,
    ...described,
  })

/** Query of `GET /v3/user_profiles/bulk_import` (second-day.md §3, List of imports). Unknown parameters are ignored. */
export const importListQuery = z.object({
  // changes.md §2, The decision.
  state: state({ description: 'Only imports in this state.', example: 'completed' }),
  source: parameter('source', (text) => importSource.safeParse(text).data, among(importSource.options), {
    enum: importSource.options,
    description: 'Only imports of this upload route.',
    example: 'v3',
  }),
  limit: parameter('limit', upTo(limits.importsPerPage), `must be a whole number from 1 to ${limits.importsPerPage}`, {
    type: 'integer',
    minimum: 1,
    maximum: limits.importsPerPage,
    description: 'Maximum number of imports of a page.',
    example: 50,
  })
    .transform((limit) => limit ?? limits.importsPerPageByDefault)
    .prefault(limits.importsPerPageByDefault),
  cursor: parameter('cursor', parseCursor, 'is not a cursor of this list', {
    type: 'string',
    description: '`next_cursor` of the preceding page.',
    example: importCursor(1024),
  }),
})

/**
 * Query of `GET /v3/user_profiles/bulk_import/{import_id}` (changes.md §5): answer at the next change of state, or
 * after so many seconds. With the state that the client knows, answer at once if it is another one already.
 */
export const importWaitQuery = z.object({
  wait: parameter('wait', upTo(limits.waitSeconds), `must be a whole number from 1 to ${limits.waitSeconds}`, {
    type: 'integer',
    minimum: 1,
    maximum: limits.waitSeconds,
    description: 'Seconds for which the answer waits for another state. It may come earlier: ask again.',
    example: limits.waitSeconds,
  }),
  state: state({
    description: 'The state that the client knows. If it is another one already, the answer does not wait.',
    example: 'queued',
  }),
})

/** A checked request for a page of an app's imports. `cursor` is a number in the import order. */
export type ImportListRequest = Partial<z.output<typeof importListQuery>> & { limit: number }
