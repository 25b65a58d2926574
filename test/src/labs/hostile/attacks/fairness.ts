import { sql } from '@sluice/database'
import { send } from '@sluice/s3-endpoint/testing'
import { stackBucket } from '../../../s3-gateway/bucket-owner.ts'
import { upload } from '../../../stack/client.ts'
import { type Attack, type AttackContext, atLeast, atMost, type Figures } from '../attack.ts'
import { bomb, countStatuses, pauseFor, signIn, unfinishedImports, uploadBomb } from '../attackers.ts'

/** Number of rows that keep a worker busy for longer than any attack lasts. */
const largeRows = 20_000_000
/** How long other tenants are measured during large imports, ms. */
const largeImportsMs = 30_000

export const fairnessAttacks: Attack[] = [
  ...[1, 10, 100].map(
    (apps): Attack => ({
      title: `a small import during large imports of ${apps} other app${apps === 1 ? ', which also runs a dry run' : 's'}`,
      attack: (context) => runLarge(context, apps),
    }),
  ),
  {
    title: '700 files into the bucket, as fast as it accepts them',
    async attack(context) {
      const { urls, signal } = context
      const { path, accessKeyId, secretAccessKey } = await context.openAttacker()
      const statuses: { status: number }[] = []
      let next = 0
      const client = async () => {
        while (next < 700 && !signal.aborted) {
          const key = `/${stackBucket}/${path}file-${next++}.csv`
          const request = { method: 'PUT', path: key, body: 'user_id,a\nu1,1\n', accessKeyId, secretAccessKey }
          statuses.push(await send(urls.s3Gateway, request).catch(() => ({ status: 0 })))
        }
      }
      await Promise.all(Array.from({ length: 20 }, client))
      return { accepted: statuses.filter(({ status }) => status === 200).length, ...countStatuses(statuses) }
    },
    expect: (figures) => someButAtMost(figures, 'accepted', 600),
  },
  {
    title: '70 files in the dashboard, as fast as it accepts them',
    async attack(context) {
      const { appId, email } = await context.openAttacker()
      const visitor = await signIn(context, email)
      const statuses: { status: number }[] = []
      for (let index = 0; index < 70 && !context.signal.aborted; index++) {
        statuses.push(await visitor.postFile(`/apps/${appId}/data-import`, 'a.csv', new Blob(['user_id,a\nu1,1\n'])))
      }
      return { accepted: statuses.filter(({ status }) => status === 303).length, ...countStatuses(statuses) }
    },
    expect: (figures) => someButAtMost(figures, 'accepted', 60),
  },
  {
    title: '120,000 queued imports of one app',
    async attack({ stack, signal, openAttacker }) {
      const { appId } = await openAttacker()
      await sql`
        insert into imports (import_id, app_id, source, state, content_type, object_key, byte_size)
        select gen_random_uuid(), ${appId}, 'bucket', 'queued', 'text/csv', 'none/' || n, 10
        from generate_series(1, 120000) as n
      `.execute(stack.db)
      await pauseFor(signal, 20_000)
      return { 'still queued': await unfinishedImports(stack, appId) }
    },
    // The other tenant's small imports show whether the queue delays them: see `requestViolations`.
    expect: (figures) => atLeast(figures, 'still queued', 100_000),
  },
  {
    title: 'an upload in parts of 1.2 GB',
    async attack({ urls, signal, openAttacker }) {
      const { path, accessKeyId, secretAccessKey } = await openAttacker()
      const key = `/${stackBucket}/${path}large.csv`
      const signed = { accessKeyId, secretAccessKey }
      const { text } = await send(urls.s3Gateway, { ...signed, method: 'POST', path: `${key}?uploads=` })
      const uploadId = /<UploadId>([^<]+)</.exec(text)?.[1] ?? ''
      const part = Buffer.alloc(120_000_000, 'x')
      let accepted = 0
      for (let number = 1; number <= 10 && !signal.aborted; number++) {
        const partPath = `${key}?partNumber=${number}&uploadId=${encodeURIComponent(uploadId)}`
        const request = { ...signed, method: 'PUT', path: partPath, body: part, payloadHash: 'UNSIGNED-PAYLOAD' }
        const { status } = await send(urls.s3Gateway, request).catch(() => ({ status: 0 }))
        if (status === 200) accepted += part.length
      }
      await send(urls.s3Gateway, {
        ...signed,
        method: 'DELETE',
        path: `${key}?uploadId=${encodeURIComponent(uploadId)}`,
      })
      return { 'accepted, MB': accepted / 1e6 }
    },
    expect: (figures) => someButAtMost(figures, 'accepted, MB', 2 ** 30 / 1e6),
  },
]

/** Returns a violation if a limit was exceeded, or if nothing was accepted at all. */
function someButAtMost(figures: Figures, name: string, limit: number): string[] {
  return [...atLeast(figures, name, 1), ...atMost(figures, name, limit)]
}

/**
 * Starts large imports of `apps` apps, and leaves them running for {@link largeImportsMs}. A single app adds a dry run.
 * The other tenant's small imports show whether they wait.
 */
async function runLarge(context: AttackContext, apps: number): Promise<Figures> {
  const file = await bomb('user_id,a\n', 'u1,1\n', largeRows)
  const attackers = []
  for (let index = 0; index < apps; index++) attackers.push(await context.openAttacker())
  for (const { token } of attackers) {
    await uploadBomb(context, token, file)
    if (apps === 1) await upload(context.urls.api, token, file, 'application/gzip', { dry_run: true })
  }
  await pauseFor(context.signal, largeImportsMs)
  return { 'bytes sent': file.length * apps }
}
