import { queueNames } from '@sluice/config'
import { cutText, MessageReader } from '../../../infra/postgres-messages.ts'
import { type Unit, type UnitReader, withoutIds } from './unit.ts'

/** Length of a message's type and size, bytes. */
const prefixBytes = 5

/** Messages after which Postgres answers: Sync, a simple query, a password, the end of the connection. */
const lastTypes = ['S', 'Q', 'p', 'X']

/** Longest label of one statement, characters. */
const longestLabel = 100

/**
 * Patterns of statements: calls of functions that only read, calls of functions that change something, and changing
 * words.
 */
const readingCall = /\b(?:get|is|has|next|read)_\w+\s*\(|\bexists\s*\(|\bset_config\s*\(/
const changingCall = /\b(?:add|move|promote|update|extend|remove|set|pause|drain|retry|change|delete)_?\w*\s*\(/
const changingWord =
  /\b(?:insert into|update ["\w]|delete from|copy \w+ ?\(|commit|truncate|(?:create|alter|drop) (?:publication|subscription)|setval|pg_(?:create_logical|drop)_replication_slot)/

/**
 * Reads the messages of a Postgres client. A unit ends where Postgres answers, so a pipeline of statements is one unit.
 * Units of statements that only read, or only begin or roll back a transaction, have no label.
 */
export function readPostgresUnits(): UnitReader {
  const texts = new Map<string, string>()
  let rest: Buffer = Buffer.alloc(0)
  let statements: string[] = []
  /** Offset at which the first unread message begins. */
  let next = 0
  let isStarted = false

  function read(type: string, body: Buffer): void {
    const [first, rest] = cutText(body)
    if (type === 'P') texts.set(first, cutText(rest)[0])
    else if (type === 'Q') statements.push(labelOf(first, ''))
    else if (type === 'B') {
      const [name, parameters] = cutText(rest)
      statements.push(labelOf(texts.get(name) ?? '', firstParameter(parameters)))
    }
  }

  function take(end: number): Unit {
    // What a batch writes first depends on what the preceding batches found. Its last statements are always the same.
    const label = statements
      .filter((text) => text !== '')
      .slice(-2)
      .join('; ')
    const unit = { bytes: rest.subarray(0, end), label: label === '' ? undefined : label, answered: true }
    rest = rest.subarray(end)
    statements = []
    next = 0
    return unit
  }

  return {
    push(chunk) {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      const units: Unit[] = []
      if (!isStarted) {
        // The first message has no type. The connections of the tests have no TLS.
        if (rest.length < 4 || rest.length < rest.readUInt32BE(0)) return []
        isStarted = true
        units.push(take(rest.readUInt32BE(0)))
      }
      while (rest.length >= next + prefixBytes) {
        const end = next + 1 + rest.readUInt32BE(next + 1)
        if (rest.length < end) break
        const type = String.fromCharCode(rest[next] ?? 0)
        read(type, rest.subarray(next + prefixBytes, end))
        next = end
        if (lastTypes.includes(type)) units.push(take(end))
      }
      return units
    },
    awaitAnswer: awaitReadyForQuery,
  }
}

/** Returns the first parameter of a Bind message, if it is short; otherwise an empty text. */
function firstParameter(body: Buffer): string {
  const afterFormats = 2 + 2 * body.readUInt16BE(0)
  if (body.readUInt16BE(afterFormats) === 0) return ''
  const length = body.readInt32BE(afterFormats + 2)
  const from = afterFormats + 6
  return length > 0 && length < 20 ? body.toString('utf8', from, from + length) : ''
}

/**
 * Statements that timers repeat, so that their number depends on the speed of the machine: checks for stalled jobs,
 * renewals of jobs and leases, heartbeats.
 */
const timed =
  /move_stalled_jobs|extend_lock|^with input as|insert into workers|^update "imports" set "lease_until" = now/

/**
 * Returns the beginning of a statement that changes something, or an empty text. Statements of the queue have the name
 * of their queue, which is their first parameter.
 */
function labelOf(text: string, parameter: string): string {
  const plain = text
    .replace(/--[^\n]*/g, '')
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase()
  const changes = changingWord.test(plain) || (changingCall.test(plain) && !readingCall.test(plain))
  if (!changes || timed.test(plain)) return ''
  const queue = queueNames.find((name) => name === parameter)
  const label = withoutIds(plain).slice(0, longestLabel)
  return queue === undefined ? label : `${queue}: ${label}`
}

/** Returns a function that tells when Postgres is ready for another query. */
function awaitReadyForQuery(): (chunk: Buffer) => boolean {
  const reader = new MessageReader()
  return (chunk) => reader.read(chunk).at(-1)?.type === 'Z'
}
