import type { Database } from '@sluice/database'
import { registerUsers, userIdProblem } from '@sluice/profiles'
import { Failure } from './failure.ts'

/** User IDs in one statement. */
const idsAtATime = 20_000

/** A line cannot be longer than a user ID may be, with room for a line break; more is no list of IDs, bytes. */
const longestLine = 4096

/**
 * Registers the user IDs of a stream, one a line, with flat memory: the next lines are read while the last are written.
 *
 * Empty lines are skipped, everything else is taken as it stands. Throws {@link Failure}, which names the line, for an ID
 * that cannot be registered; the IDs before it may be registered then, and doing it again is harmless.
 */
export async function registerFrom(
  db: Database,
  appId: number,
  input: AsyncIterable<Buffer>,
): Promise<{ registered: number; already_registered: number }> {
  let given = 0
  let registered = 0
  let writing: Promise<void> = Promise.resolve()
  try {
    for await (const ids of blocksOfIds(input)) {
      await writing
      given += ids.length
      writing = registerUsers(db, appId, ids).then((added) => {
        registered += added
      })
      writing.catch(() => {}) // awaited below
    }
  } finally {
    await writing
  }
  return { registered, already_registered: given - registered }
}

async function* blocksOfIds(input: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let block: string[] = []
  let rest = ''
  let line = 0
  const take = (text: string) => {
    line++
    const id = text.endsWith('\r') ? text.slice(0, -1) : text
    if (id === '') return
    const problem = userIdProblem(id)
    if (problem !== undefined) throw new Failure(`line ${line}: a user ID ${problem}`)
    block.push(id)
  }
  for await (const chunk of input) {
    const lines = (rest + decode(decoder, chunk, line)).split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) take(text)
    if (rest.length > longestLine) throw new Failure(`line ${line + 1}: a user ID should be at most 255 characters`)
    if (block.length >= idsAtATime) {
      yield block
      block = []
    }
  }
  take(rest + decode(decoder, undefined, line))
  if (block.length > 0) yield block
}

function decode(decoder: InstanceType<typeof TextDecoder>, chunk: Buffer | undefined, line: number): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true })
  } catch {
    throw new Failure(`the user IDs after line ${line} are not UTF-8`)
  }
}
