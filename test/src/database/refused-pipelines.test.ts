import { type CompiledQuery, connect, NothingFound, prepared, sql, writeTogether } from '@sluice/database'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../environment/database.ts'

// After Postgres refuses a pipeline, the client still knows the connection's prepared statements.
let database: TestDatabase
/** A pool of one connection, so that each statement finds the state that the preceding pipeline left. */
let single: ReturnType<typeof connect>

beforeAll(async () => {
  database = await openTestDatabase()
})
beforeEach(async () => {
  single = connect(database.url, { connections: 1 })
  return async () => {
    await single.close()
    await sql`drop table if exists later`.execute(database.db)
  }
})
afterAll(() => database.close())

const positions = [0, 1, 2, 3]

/** A prepared statement; each position has a different text. */
const quotient = (position: number, divisor: string): CompiledQuery =>
  prepared`select ${sql.lit(position)} + 12 / ${divisor}::integer as value`.compile(database.db)

const fromTable = (position: number): CompiledQuery =>
  prepared`select ${sql.lit(position)} + 12 / count(*) as value from later`.compile(database.db)

/** Ways in which Postgres refuses a statement, by the phase of the statement in which the pipeline ends. */
const refusals = {
  Parse: { refused: fromTable, error: { code: '42P01' } },
  Bind: { refused: (position: number) => quotient(position, 'many'), error: { code: '22P02' } },
  Execute: { refused: (position: number) => quotient(position, '0'), error: { name: 'NothingFound' } },
}

const cases = Object.entries(refusals).flatMap(([phase, refusal]) =>
  positions.flatMap((position) => [false, true].map((known) => ({ phase, position, known, ...refusal }))),
)

const write = (writes: readonly CompiledQuery[]) =>
  writeTogether(single.db, [], async () => ({ writes, result: 'done' }))

/** Runs each statement as an ordinary query. */
async function runAlone(statements: readonly CompiledQuery[]): Promise<unknown[]> {
  const values: unknown[] = []
  for (const statement of statements) values.push((await single.db.executeQuery(statement)).rows[0])
  return values
}

test.each(cases)(
  'a pipeline refused at the $phase of statement $position (known before: $known) leaves every statement usable',
  async ({ position, known, refused, error }) => {
    const good = positions.map((each) => quotient(each, '1'))
    if (known) await runAlone(good.filter((_, each) => each % 2 === 0))
    const statements = good.map((statement, each) => (each === position ? refused(each) : statement))
    await expect(write(statements)).rejects.toMatchObject(error)

    await sql`create table later as select 1 as one`.execute(database.db)
    const all = [...good, fromTable(position)]
    const values = [...positions, position].map((each) => ({
      value: expect.toSatisfy((value) => Number(value) === each + 12),
    }))
    expect(await runAlone(all)).toEqual(values)
    expect(await write(all)).toBe('done')
    expect(await runAlone(all)).toEqual(values)
  },
)

test('a statement that occurs twice in a refused pipeline is usable afterwards', async () => {
  const twice = [quotient(1, '1'), quotient(1, '2'), quotient(1, '0')]
  await expect(write(twice)).rejects.toThrow(NothingFound)
  expect(await runAlone([quotient(1, '3')])).toEqual([{ value: 5 }])
  expect(await write(twice.slice(0, 2))).toBe('done')
})
