import { sql } from '@sluice/database'
import { onTestFinished, test } from 'vitest'
import { seeded } from '../environment/random.ts'
import { until } from '../environment/wait.ts'
import { largeChunkOf } from '../imports/error-chunk.ts'
import { openClientApp, request, send } from './harness/client.ts'
import { startDeployment } from './harness/deployment.ts'
import { generateSoundFile } from './harness/generate.ts'
import { untilState } from './harness/import-states.ts'

test('a worker that finds the disk full when it claims an import frees space, and the import completes', async () => {
  const deployment = await startDeployment({ workers: 1 })
  onTestFinished(() => deployment.close())
  const { db } = deployment
  const [other, app] = [await openClientApp(deployment), await openClientApp(deployment)]
  const { importId } = await request(deployment, other, generateSoundFile(seeded(1), 0, 10))
  await db.insertInto('import_chunks').values(largeChunkOf(other.appId, importId)).execute()
  // Simulates a full disk: claims succeed as soon as these rows are deleted.
  await sql
    .raw(`
      create function refuse() returns trigger language plpgsql as $$
      begin
        if exists (select from import_chunks) then
          raise exception 'No space left on device' using errcode = 'disk_full';
        end if;
        return new;
      end $$;
      create trigger refuse before update on imports for each row
        when (new.state = 'processing' and old.state = 'queued') execute function refuse()
    `)
    .execute(db)
  const file = generateSoundFile(seeded(2), 0, 100)
  const requested = await request(deployment, app, file)
  await send(app, requested, file)
  const errorChunks = db.selectFrom('import_chunks').select('position').where('import_id', '=', importId)
  await until('the deletion of the error chunks', async () => (await errorChunks.execute()).length === 0)
  // Without this, maintenance would dispatch the import again only after half a minute.
  await db.updateTable('imports').set({ dispatched_at: null }).where('import_id', '=', requested.importId).execute()
  await untilState(deployment, requested.importId, 'completed')
})
