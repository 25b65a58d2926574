import type { ValueType } from '@sluice/contract'
import { type Contender, ownCpu } from './contender.ts'
import { copyFile } from './copy.ts'
import { type BenchPostgres, connectTo } from './postgres.ts'

const types: Record<ValueType, string> = {
  string: 'text',
  int: 'bigint',
  decimal: 'numeric',
  datetime: 'timestamptz',
}

// The fence `offset 0` makes Postgres compute each document once. Over 1,000,000 rows, these variants were no faster:
// jsonb_build_object instead of to_jsonb, `<>` instead of `@>`, no fence, and the default work_mem.
const merge = `
  merge into profiles p
  using (
    select s.user_id, to_jsonb(s) - 'user_id' as attributes
    from staging s join users u on u.app_id = 1 and u.user_id = s.user_id
    offset 0
  ) s
  on p.app_id = 1 and p.user_id = s.user_id
  when matched and not p.attributes @> s.attributes then
    update set attributes = p.attributes || s.attributes, updated_at = now()
  when not matched then
    insert (app_id, user_id, attributes, updated_at) values (1, s.user_id, s.attributes, now())`

/**
 * The expert's import: COPY into a typed unlogged staging table, then one MERGE that skips unchanged documents.
 *
 * It handles only this one file. A bad cell or a repeated user stops it, and it does not report unregistered users.
 */
export function expert(postgres: BenchPostgres, template: string): Contender {
  const database = 'bench_expert'
  return {
    name: 'expert',
    database,
    template,
    profiles: { table: 'profiles', tables: ['users', 'profiles'] },
    async prepare(file) {
      const client = await connectTo(postgres.urlOf(database))
      await client.query("set work_mem = '256MB'")
      return {
        async run() {
          await copyFile(client, file, 'staging', (type) => types[type])
          await client.query('analyze staging')
          await client.query(merge)
          return undefined
        },
        cpu: ownCpu,
        close: () => client.end(),
      }
    },
  }
}
