import type { Contender } from './contender.ts'
import type { MadeFile } from './file.ts'
import type { BenchPostgres } from './postgres.ts'

/** The profiles that a contender has written. */
export interface EndState {
  profiles: number
  /** Hash of all users and their documents. Equal documents have equal hashes, however a contender stores them. */
  hash: string
}

/**
 * Reads the profiles that a contender has written. Numbers are compared as numbers (by jsonb's own hash) and times as
 * instants, whatever their text.
 */
export async function endState(
  postgres: BenchPostgres,
  contender: Contender,
  { columns }: MadeFile,
): Promise<EndState> {
  const times = columns.filter(({ type }) => type === 'datetime').map(({ name }) => name)
  const moments = times.map((name) => `'${name}', (attributes ->> '${name}')::timestamptz`)
  const document = `attributes || jsonb_build_object(${moments.join(', ')})`
  const { rows } = await postgres.run(
    contender.database,
    `select count(*)::int as profiles, sum(hashtextextended(user_id, jsonb_hash_extended(${document}, 0))::numeric)::text as hash
    from ${contender.profiles?.table} where attributes <> '{}'`,
  )
  return rows[0]
}

/** Returns the disk space of users and profiles with their indexes, after a vacuum, bytes. */
export async function sizeOnDisk(postgres: BenchPostgres, contender: Contender): Promise<number> {
  const sizes = contender.profiles?.tables.map((table) => `pg_total_relation_size('${table}')`) ?? []
  const { rows } = await postgres.run(contender.database, `select (${sizes.join(' + ')})::float8 as bytes`)
  return rows[0].bytes
}
