import pg from 'pg'

/** Deleting the rows of a larger table takes longer than another database. */
const largeTableBytes = 2 ** 22

export interface ReusableDatabase {
  /** Ends connections and deletes all rows. Returns false if the database cannot be as good as new. */
  empty(): Promise<boolean>
  close(): Promise<void>
}

/**
 * Prepares a new database for its reuse: emptying it costs a twentieth of creating another one. The database has all
 * tables, and the rows that migrations insert.
 *
 * A test may change the schema, or the rows of the migrations. The database is then not reusable. `ends` says which
 * connections are ended: all, or only connections that have work in flight. The statement `undo` removes what each test
 * adds to the schema.
 */
export async function makeReusable(
  url: string,
  { ends, undo = '' }: { ends: 'busy' | 'all'; undo?: string },
): Promise<ReusableDatabase> {
  const client = new pg.Client(url)
  client.on('error', () => {}) // the server may end before this process
  await client.connect()
  const { rows } = await client.query<{ name: string; filled: boolean }>(`
    select format('%I.%I', schemaname, relname) as name,
      xpath_exists('/table/row', query_to_xml(format('select from %I.%I limit 1', schemaname, relname), true, false, ''))
        as filled
    from pg_stat_user_tables
  `)
  const named = (filled: boolean) => rows.filter((row) => row.filled === filled).map(({ name }) => name)
  const emptying = `${endingOf(ends)}; ${undo}; ${emptyingOf(named(false))}`
  const large = `select bool_or(pg_relation_size(relid) > ${largeTableBytes}) as found from pg_stat_user_tables`
  const fingerprint = fingerprintOf(named(true))
  const whole = async () => (await client.query<{ text: string }>(fingerprint)).rows[0]?.text
  const original = await whole()
  return {
    async empty() {
      if ((await client.query<{ found: boolean }>(large)).rows[0]?.found) return false
      await client.query(emptying)
      await client.query('select pg_stat_reset()')
      return (await whole()) === original
    },
    close: () => client.end(),
  }
}

/** Marks each database that is copied from the template as soon as a statement changes its schema. */
export const markChangedSchemas = `
  create function pg_catalog.mark_changed_schema() returns event_trigger language plpgsql security definer as $$
  begin
    if shobj_description(oid, 'pg_database') is null from pg_database where datname = current_database() then
      execute format('comment on database %I is %L', current_database(), 'changed');
    end if;
  end $$;
  create event trigger mark_changed_schema on ddl_command_end execute function pg_catalog.mark_changed_schema();
`

function endingOf(ends: 'busy' | 'all'): string {
  const others = 'datname = current_database() and pid <> pg_backend_pid()'
  const chosen = ends === 'all' ? others : `${others} and state <> 'idle'`
  return `select pg_terminate_backend(pid, 5000) from pg_stat_activity where ${chosen}`
}

function emptyingOf(tables: readonly string[]): string {
  return `
    set session_replication_role = replica;
    ${tables.map((name) => `delete from ${name};`).join('\n')}
    select setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false) from pg_sequences
    where last_value is not null;
    select pg_stat_force_next_flush();
  `
}

/** Returns a query for what a test may have changed besides its own rows: schema, settings, rows of the migrations. */
function fingerprintOf(filled: readonly string[]): string {
  const rowsOf = (name: string) => `(select format('%s %s', count(*), max(xmin::text::bigint)) from ${name})`
  return `
    select concat_ws(', ', shobj_description(oid, 'pg_database'),
      (select count(*) from pg_db_role_setting where setdatabase = oid), ${filled.map(rowsOf).join(', ')}) as text
    from pg_database where datname = current_database()
  `
}
