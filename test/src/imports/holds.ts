import { sql } from '@sluice/database'
import type { ImportFixture } from './import-fixture.ts'

/**
 * Makes transactions that update an import wait if `condition` on `old` and `new` holds, until {@link release} gets the
 * same name. They wait before the update, or in their COMMIT.
 */
export async function hold(
  { database }: ImportFixture,
  name: string,
  condition: string,
  moment: 'update' | 'commit' = 'update',
): Promise<void> {
  const [kind, timing, deferral] =
    moment === 'update' ? ['', 'before', ''] : ['constraint', 'after', 'deferrable initially deferred']
  await sql
    .raw(`
    create table if not exists holds (name text);
    insert into holds values ('${name}');
    create function hold_${name}() returns trigger language plpgsql as $$
    begin
      while exists (select from holds where name = '${name}') loop perform pg_sleep(0.01); end loop;
      return new;
    end $$;
    create ${kind} trigger hold_${name} ${timing} update on imports ${deferral} for each row
      when (${condition}) execute function hold_${name}()
  `)
    .execute(database.db)
}

/** Lets the transactions pass that wait because of {@link hold}. */
export async function release({ database }: ImportFixture, name: string): Promise<void> {
  await sql`delete from holds where name = ${name}`.execute(database.db)
}
