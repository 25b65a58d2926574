import { readFile } from 'node:fs/promises'
import { type Kysely, sql } from 'kysely'

/** The modules of the schema, in the order of their foreign keys. */
const modules = [
  'clock',
  'accounts',
  'profiles',
  'imports',
  'bucket-uploads',
  'deletions',
  'exports',
  'idempotency',
  'mails',
  'webhooks',
  'rate-limits',
  'dashboard',
  'maintenance',
  'moves',
  'audit-log',
]

/** Creates the whole schema (design.md §5, Primary keys). Each module's statements are in the SQL file of its name. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const name of modules) {
    const statements = await readFile(new URL(`0001-initial/${name}.sql`, import.meta.url), 'utf8')
    await sql.raw(statements).execute(db)
  }
}
