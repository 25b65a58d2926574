import { Failure } from '@sluice/client-cli/failure'
import { fileMessages } from '@sluice/contract'
import type { Database } from '@sluice/database'
import { registerUsers, userIdProblem } from '@sluice/profiles'

/** Number of user IDs of a block. */
const idsAtATime = 10_000

/** Number of blocks that are written at the same time. Postgres needs a core for each, and reading takes little. */
const blocksAtOnce = 2

/**
 * A line with more characters cannot be a user ID. The limit keeps a file without line breaks from filling the memory.
 */
const longestLine = 4096

/**
 * Registers the user IDs of a stream, one per line (design.md §2, Registering users). Reads the next lines while the
 * preceding blocks are written, with constant memory.
 *
 * Empty lines are skipped; all other lines are used unchanged. CRs directly before LF, or at the end, belong to the
 * line break. Throws {@link Failure} with the number of the line if an ID cannot be registered, or if the line has
 * another CR: its IDs may be separated by CR alone. Preceding IDs may then be registered already, and registering them
 * again is harmless.
 */
export async function registerFrom(
  db: Database,
  appId: number,
  input: AsyncIterable<Buffer>,
): Promise<{ registered: number; already_registered: number }> {
  let received = 0
  let registered = 0
  const writing = new Set<Promise<void>>()
  try {
    for await (const ids of blocksOfIds(input)) {
      if (writing.size === blocksAtOnce) await Promise.race(writing)
      received += ids.length
      const write = registerUsers(db, appId, ids).then((added) => {
        registered += added
        writing.delete(write)
      })
      write.catch(() => {}) // awaited with the next block or below
      writing.add(write)
    }
  } finally {
    await Promise.all(writing)
  }
  return { registered, already_registered: received - registered }
}

async function* blocksOfIds(input: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let block: string[] = []
  let rest = ''
  let line = 0
  const addLine = (text: string) => {
    line++
    const id = text.replace(/\r+$/, '')
    if (id === '') return
    if (id.includes('\r')) throw new Failure(`line ${line}: ${fileMessages.noLineBreak}`)
    const problem = userIdProblem(id)
    if (problem !== undefined) throw new Failure(`line ${line}: a user ID ${problem}`)
    block.push(id)
  }
  for await (const chunk of input) {
    const lines = (rest + decode(decoder, chunk, line)).split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) addLine(text)
    if (rest.length > longestLine) throw new Failure(`line ${line + 1}: a user ID should be at most 255 characters`)
    while (block.length >= idsAtATime) {
      yield block.slice(0, idsAtATime)
      block = block.slice(idsAtATime)
    }
  }
  addLine(rest + decode(decoder, undefined, line))
  if (block.length > 0) yield block
}

function decode(decoder: InstanceType<typeof TextDecoder>, chunk: Buffer | undefined, line: number): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true })
  } catch {
    throw new Failure(`the user IDs after line ${line} are not UTF-8`)
  }
}
