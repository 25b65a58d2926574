import { copyOut, type Database, sql } from '@sluice/database'
import { HashProgram, hashBytes, slotBytes } from './hash-program.ts'

/** Pages of the table of profiles that one statement reads. Its answer has 2 MB if a profile takes 250 bytes. */
const pagesAtOnce = 4_096

/** Number of statements at the same time. After a first import, Postgres has to write each page that is read. */
const readers = 2

/** Profiles on a page, if Postgres has no statistics: about as many as fit. */
const mostOnPage = 100

/** Up to so many profiles, the statistics do not matter: a table that was nearly empty may have grown since. */
const fewProfiles = 100_000

/**
 * A table of this size is read in any case. Beyond it, the rest of the file must have at least a sixth of the bytes of
 * the table. A profile takes about three times the bytes of its row, so the file then has a row for every second
 * profile.
 */
const [smallTableBytes, tableToFile] = [2 ** 23, 6]

/** Share of the slots that are in use at most. More would make each search long. */
const maxLoad = 0.75

/** For each profile, so many users can be noted as written with few of them taken for each other. */
const writtenBitsPerProfile = 4
const [minWrittenBits, maxWrittenBits] = [2 ** 16, 2 ** 27]

/** Bytes of a set at most: WebAssembly has 4 GiB for the set, and for the rows that are hashed. */
const maxSetBytes = 2 ** 32 - 2 ** 27

/** Bytes that the sets of this process take. */
let takenBytes = 0

/** What decides whether the hashes of an app's profiles are read. */
export interface KnownRowsOptions {
  db: Database
  appId: number
  /** Bytes of the file that are still to be read, uncompressed. */
  remainingBytes: number
  /** Bytes that the sets of this process may take. */
  memoryBytes: number
  /** Index of the file's column with the user's ID. */
  userIdIndex: number
  /** Ends the reading. */
  signal: AbortSignal | undefined
}

/**
 * The rows that an app's profiles held when this object was made, by their hashes (second-day.md §2, Identical rows).
 * A row among them need not be looked up, unless this run has written its user since.
 *
 * What others write after the reading counts as coming after the row, wherever the row stands in the file
 * (packages/engine/imports/README.md, Exactly once).
 */
export class KnownRows {
  /** Hashes rows, and tells which of them are known. */
  readonly program: HashProgram
  readonly #bytes: number
  readonly #maxRows: number
  #rows = 0

  /** Accepts how many profiles the app may have, about. */
  private constructor(profiles: number, userIdIndex: number) {
    const slots = slotsFor(profiles)
    const bits = 2 ** Math.ceil(Math.log2(profiles * writtenBitsPerProfile))
    const writtenBits = Math.min(Math.max(bits, minWrittenBits), maxWrittenBits)
    this.program = new HashProgram({ slots, writtenBits, userIdIndex })
    this.#maxRows = Math.floor(slots * maxLoad)
    this.#bytes = slots * slotBytes
    takenBytes += this.#bytes
  }

  /**
   * Reads the hashes of an app's profiles, page by page: looking up each row would visit a page for each. Returns
   * undefined if reading all profiles costs more than looking up the rest of the file, or if the memory is too small.
   * Throws the reason of the signal.
   */
  static async read(options: KnownRowsOptions): Promise<KnownRows | undefined> {
    const { db, appId, remainingBytes, memoryBytes, userIdIndex, signal } = options
    if (takenBytes >= memoryBytes) return undefined
    const { bytes, pages, profiles } = await sizeOfProfiles(db)
    if (bytes > Math.max(smallTableBytes, remainingBytes * tableToFile)) return undefined
    if (slotsFor(profiles) * slotBytes > Math.min(memoryBytes - takenBytes, maxSetBytes)) return undefined
    const known = new KnownRows(profiles, userIdIndex)
    let page = 0
    const readOn = async () => {
      while (page < pages) {
        signal?.throwIfAborted()
        const first = page
        page += pagesAtOnce
        known.#add(await hashesOn({ db, appId, signal }, first))
      }
    }
    try {
      await Promise.all(Array.from({ length: readers }, readOn))
      return known
    } catch (error) {
      page = pages
      known.close()
      throw error
    }
  }

  get rows(): number {
    return this.#rows
  }

  /** Leaves the memory to the other imports of this process. */
  close(): void {
    takenBytes -= this.#bytes
  }

  /** Adds hashes as long as they fit. A row whose hash is left out is looked up. */
  #add(hashes: Buffer): void {
    const room = (this.#maxRows - this.#rows) * hashBytes
    this.#rows += this.program.add(hashes.subarray(0, room))
  }
}

/** Returns how many slots a set of so many hashes has. The statistics may be a tenth too low. */
function slotsFor(profiles: number): number {
  return Math.ceil((profiles * 1.1) / maxLoad) + 8
}

/** Returns bytes and pages of the table of profiles, and about how many profiles of all apps it has. */
async function sizeOfProfiles(db: Database): Promise<{ bytes: number; pages: number; profiles: number }> {
  const { rows } = await sql<{ bytes: number; pages: number; profiles: number }>`
    select bytes, pages, greatest(
        ceil(pages * case when reltuples > 0 and relpages > 0 then reltuples / relpages else ${mostOnPage} end),
        least(pages * ${mostOnPage}, ${fewProfiles})
      ) as profiles
    from pg_class, lateral (select pg_relation_size(oid)::float8 as bytes) size,
      lateral (select bytes / current_setting('block_size')::integer as pages) counted
    where oid = 'profiles'::regclass
  `.execute(db)
  return rows[0] ?? { bytes: 0, pages: 0, profiles: 0 }
}

/** The bytes before the one value of a binary copy, and after it. */
const [beforeValue, afterValue] = [25, 2]

/**
 * Returns the hashes of the rows that an app's profiles on some pages hold. They come as a copy, in binary form: other
 * statements return text, twice as long, and a worker would take a third more memory.
 */
async function hashesOn(
  { db, appId, signal = new AbortController().signal }: Pick<KnownRowsOptions, 'db' | 'appId' | 'signal'>,
  page: number,
): Promise<Buffer> {
  // `app_id + 0` keeps the planner from looking up all profiles of the app for each range of pages.
  const statement = `copy (
    select coalesce(string_agg(uuid_send(row_hash), ''), '') from profiles
    where ctid >= '(${page},0)' and ctid < '(${page + pagesAtOnce},0)' and app_id + 0 = ${appId}
  ) to stdout (format binary)`
  const parts: Buffer[] = []
  const consume = async (bytes: AsyncIterable<Buffer>) => {
    for await (const part of bytes) parts.push(part)
  }
  await db.connection().execute(async (connection) => {
    await sql`begin`.execute(connection)
    await connection.executeQuery(copyOut({ statement, consume, signal }))
  })
  return Buffer.concat(parts).subarray(beforeValue, -afterValue)
}
