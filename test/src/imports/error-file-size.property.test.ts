import { sql } from '@sluice/database'
import { type ClaimedImport, claimImport, runImport } from '@sluice/imports'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { propertyRuns } from '../environment/property-runs.ts'
import {
  claim,
  type ImportFixture,
  importFile,
  openAppWithIntegers,
  openImportFixture,
  queueFile,
  resultOf,
} from './import-fixture.ts'
import { slowReads } from './slow-storage.ts'

const fixture = openBeforeAll(openImportFixture)
const noShutdown = new AbortController().signal

// service.md, Error CSV file; design.md §3, Error file's size.
describe('an error file ends with the last row that fits into ERROR_FILE_LIMIT', () => {
  const users = Array.from({ length: 90 }, (_, index) => `u${index}`)
  /**
   * Rows of the file. Some have an `n` that is no integer, an unregistered user, values beyond the columns, or several
   * of these.
   */
  const rows = users.map((user, index) => {
    const isStranger = index % 11 === 4
    const isLong = index % 13 === 6
    return `${isStranger ? `stranger ${index}` : user},${index % 7 === 3 ? '"x,\n!"' : index}${isLong ? ',more,"and more"' : ''}\n`
  })
  const file = `user_id,n\n${rows.join('')}`
  const isInvalid = (index: number) => index % 7 === 3 || index % 11 === 4 || index % 13 === 6
  const header = 'SERVICE_ERRORS,user_id,n\n'
  let whole: { number: number; line: string }[]

  beforeAll(async () => {
    const { view, errorFile } = await importFile(fixture, await openAppWithIntegers(fixture, ['n'], users), file)
    expect(view).not.toHaveProperty('error_file_ends_before_row')
    // Only a line break within a value is followed by an exclamation mark.
    const lines = (errorFile?.toString() ?? '').slice(header.length).split(/(?<=\n)(?!!)/)
    const numbers = users.flatMap((_, index) => (isInvalid(index) ? [index + 1] : []))
    expect(lines).toHaveLength(numbers.length)
    whole = lines.map((line, index) => ({ line, number: numbers[index] ?? 0 }))
  })

  /** Returns the file that is expected with this limit, derived from `whole`, the lines of the file without a limit. */
  function expected(limit: number): { errorFile: string | undefined; endsBeforeRow: number | undefined } {
    let errorFile = header
    for (const { number, line } of whole) {
      if (errorFile.length + line.length > limit) {
        return errorFile === header
          ? { errorFile: undefined, endsBeforeRow: limit < header.length ? 1 : number }
          : { errorFile, endsBeforeRow: number }
      }
      errorFile += line
    }
    return { errorFile, endsBeforeRow: undefined }
  }

  /**
   * Values for ERROR_FILE_LIMIT: any number of bytes, or the length of the error file up to one of its lines ± 1 byte.
   */
  const limits = fc.oneof(
    fc.nat({ max: 2_500 }).map((limit) => () => limit),
    fc.record({ lines: fc.nat({ max: 30 }), more: fc.integer({ min: -1, max: 1 }) }).map(({ lines, more }) => () => {
      const text =
        header +
        whole
          .slice(0, lines)
          .map(({ line }) => line)
          .join('')
      return text.length + more
    }),
  )
  const batchRows = fc.integer({ min: 1, max: 20 })

  function limited(limit: number, rowsOfBatch: number): ImportFixture {
    const settings = { ...fixture.context.settings, ERROR_FILE_LIMIT: limit, BATCH_ROWS: rowsOfBatch }
    return { ...fixture, context: { ...fixture.context, settings } }
  }

  async function expectFile(importId: string, appId: number, limit: number): Promise<void> {
    const { view, errorFile } = await resultOf(fixture, appId, importId)
    const { errorFile: expectedFile, endsBeforeRow } = expected(limit)
    expect(errorFile?.toString()).toBe(expectedFile)
    expect(view.error_file_ends_before_row).toBe(endsBeforeRow)
    const failed = users.filter((_, index) => isInvalid(index)).length
    expect(view).toMatchObject({ state: 'completed', rows_total: 90, rows_failed: failed, rows_applied: 90 - failed })
    const { error_counts: counts } = await fixture.database.db
      .selectFrom('imports')
      .select('error_counts')
      .where('import_id', '=', importId)
      .executeTakeFirstOrThrow()
    expect(counts).toEqual({
      'n should be integer': users.filter((_, index) => index % 7 === 3).length,
      'user_id is unregistered user': users.filter((_, index) => index % 11 === 4).length,
      'too many values': users.filter((_, index) => index % 13 === 6).length,
    })
    const chunks = await sql`select from import_chunks where import_id = ${importId}`.execute(fixture.database.db)
    expect(chunks.rows).toEqual([])
  }

  test('whatever the limit and wherever batches end; rows beyond it are counted', async () => {
    expect(header.length + whole.reduce((sum, { line }) => sum + line.length, 0)).toBeLessThan(2_500)
    await fc.assert(
      fc.asyncProperty(limits, batchRows, async (limitOf, rowsOfBatch) => {
        const limit = limitOf()
        const appId = await openAppWithIntegers(fixture, ['n'], users)
        const { view } = await importFile(limited(limit, rowsOfBatch), appId, file)
        await expectFile(view.import_id, appId, limit)
      }),
      { numRuns: propertyRuns(60) },
    )
  })

  test('even if workers fail, release the import, or lose it to another worker', async () => {
    const events = fc.array(fc.tuple(fc.nat({ max: 60 }), fc.constantFrom('error', 'shutdown', 'lost')), {
      maxLength: 4,
    })
    await fc.assert(
      fc.asyncProperty(limits, batchRows, events, async (limitOf, rowsOfBatch, disturbances) => {
        const limit = limitOf()
        const here = limited(limit, rowsOfBatch)
        const appId = await openAppWithIntegers(fixture, ['n'], users)
        const importId = await queueFile(here, appId, file)
        await runDisturbed(here, await claim(here, appId, importId), disturbances)
        await expectFile(importId, appId, limit)
      }),
      { numRuns: propertyRuns(40) },
    )
  })

  /** Runs a claimed import to its end. Each disturbance happens at a piece of the file that a worker reads. */
  async function runDisturbed(
    here: ImportFixture,
    claimed: ClaimedImport,
    [next, ...others]: readonly (readonly [number, string])[],
  ): Promise<void> {
    const shutdown = new AbortController()
    let pieces = 0
    let successor: Promise<void> | undefined
    const storage = slowReads(here.storage, 16, async () => {
      if (next === undefined || pieces++ !== next[0]) return
      if (next[1] === 'error') throw new Error('connection reset')
      if (next[1] === 'shutdown') return shutdown.abort()
      successor = takeOver(here, claimed).then((taken) => runDisturbed(here, taken, others))
      await successor
    })
    const context = { ...here.context, storage, shutdown: shutdown.signal }
    const { outcome } = await runImport(context, claimed, shutdown.signal)
    await successor
    if (outcome !== 'postponed' && outcome !== 'interrupted') return
    await setImport(claimed.importId, { retry_at: null })
    await runDisturbed(here, await claim(here, claimed.appId, claimed.importId), others)
  }

  /** Claims an import that another worker still holds. Nothing renews its lease between the two statements. */
  async function takeOver({ context }: ImportFixture, { appId, importId }: ClaimedImport): Promise<ClaimedImport> {
    const taken = await context.db.transaction().execute(async (db) => {
      await setImport(importId, { lease_until: new Date(0) }, db)
      return await claimImport({ ...context, db }, { appId, importId })
    })
    if (taken === undefined) throw new Error('an import without a lease could not be claimed')
    return taken
  }

  async function setImport(
    importId: string,
    values: { lease_until: Date } | { retry_at: null },
    db: ImportFixture['database']['db'] = fixture.database.db,
  ): Promise<void> {
    await db.updateTable('imports').set(values).where('import_id', '=', importId).execute()
  }

  test('as it was when the import began, although operators raise or lower it meanwhile', async () => {
    await fc.assert(
      fc.asyncProperty(limits, limits, async (limitOf, laterLimitOf) => {
        const [limit, later] = [limitOf(), laterLimitOf()]
        const appId = await openAppWithIntegers(fixture, ['n'], users)
        const importId = await queueFile(fixture, appId, file)
        const shutdown = new AbortController()
        const storage = slowReads(fixture.storage, 16, (at) => {
          if (at >= file.length / 2) shutdown.abort()
        })
        const context = { ...limited(limit, 10).context, storage, shutdown: shutdown.signal }
        await runImport(context, await claim(fixture, appId, importId), shutdown.signal)
        expect((await resultOf(fixture, appId, importId)).view.rows_total).toBeGreaterThan(0)
        await runImport(limited(later, 10).context, await claim(fixture, appId, importId), noShutdown)
        await expectFile(importId, appId, limit)
      }),
      { numRuns: propertyRuns(20) },
    )
  })
})
