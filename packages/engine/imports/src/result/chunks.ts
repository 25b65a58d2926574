import { sql } from '@sluice/database'
import type { Run } from '../run/run.ts'

/** The files whose rows grow in chunks while an import runs. */
export type ChunkFile = 'errors' | 'changes'

/** What making a file needs of an import that ends. */
export type EndedRun = Pick<Run, 'context' | 'claim' | 'progress'>

/** The outcome of storing a file of an import. */
export interface StoredFile {
  /** Key of the file in storage; undefined if it is not stored. */
  key: string | undefined
  /** Number of the first row that the file should have and leaves out; undefined if the file has all. */
  endsBeforeRow: number | undefined
}

/** The value of `endsBeforeRow` if there were rows for a file, and there is no file. */
export const allRows = 1

/** A part of a file, with its place in the order of chunks. */
export interface Chunk {
  position: number
  content: Buffer
  starts_at: number
}

/**
 * Maximum number of bytes of chunks in one read. A longer chunk is read alone. Most chunks have about 100 KB, and only
 * those of an undo may have over 2 MiB.
 */
const maxBytesPerRead = 4 * 2 ** 20

/** Returns the chunks in file order. Reads the next few chunks while the caller processes the current ones. */
export async function* chunksOf(run: EndedRun, file: ChunkFile, longestChunkBytes: number): AsyncGenerator<Chunk> {
  const perRead = Math.max(1, Math.floor(maxBytesPerRead / Math.max(1, longestChunkBytes)))
  let chunks = await chunksAfter([run, file], -1, perRead)
  for (let last = chunks.at(-1); last !== undefined; last = chunks.at(-1)) {
    const next = chunksAfter([run, file], last.position, perRead)
    next.catch(() => {}) // Thrown below, unless the caller has stopped reading.
    yield* chunks
    chunks = await next
  }
}

async function chunksAfter(of: [EndedRun, ChunkFile], position: number, most: number): Promise<Chunk[]> {
  const chunks = await selectChunks(...of)
    .where('position', '>', position)
    .limit(most)
    .execute()
  return chunks.map(toChunk)
}

export function selectChunks({ context, claim: { appId, importId } }: EndedRun, file: ChunkFile) {
  return (
    context.db
      .selectFrom('import_chunks')
      // `bytea` arrives in hex, which is 50 % longer than base64 and takes eight times as long to decode.
      .select(['position', 'starts_at', sql<string>`encode(content, 'base64')`.as('content')])
      .where('app_id', '=', appId)
      .where('import_id', '=', importId)
      .where('file', '=', file)
      .orderBy('position')
  )
}

export function toChunk({ content, ...place }: Omit<Chunk, 'content'> & { content: string }): Chunk {
  return { ...place, content: Buffer.from(content, 'base64') }
}
