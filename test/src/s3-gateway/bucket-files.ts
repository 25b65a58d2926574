import { ListObjectsV2Command } from '@aws-sdk/client-s3'
import { forgetUpload, type MaintenanceContext } from '@sluice/bucket-uploads'
import type { Owner, TestGateway } from './test-gateway.ts'

type Relay = MaintenanceContext['relay']

/** A file that tests upload if its content does not matter. */
export const smallFile = 'user_id,name\nalice,Alice\n'

/** Removes all files from the bucket's paths. */
export async function clearPaths({ maintenance: { relay } }: TestGateway): Promise<void> {
  for await (const page of relay.list('uploads/')) for (const { key } of page) await relay.remove(key)
}

/** Returns the names in the app's path as the S3 gateway lists them. */
export async function listedNames(gateway: TestGateway, owner: Owner): Promise<string[]> {
  const list = new ListObjectsV2Command({ Bucket: gateway.bucket, Prefix: owner.path })
  const { Contents = [] } = await gateway.clientOf(owner).send(list)
  return Contents.map(({ Key = '' }) => Key.slice(owner.path.length))
}

/** Returns an app's imports in import order, with columns that the import's page does not show. */
export async function importRows({ db }: TestGateway, { appId }: Owner) {
  return await db
    .selectFrom('imports')
    .select(['import_id', 'source', 'state', 'file_name', 'content_type', 'byte_size', 'object_key', 'etag'])
    .where('app_id', '=', appId)
    .orderBy('sequence_number')
    .execute()
}

/** Puts a file into an app's path in the bucket without the S3 gateway, as an operator's tools do. */
export async function putPast(
  { maintenance }: TestGateway,
  { path }: Owner,
  name: string,
  content: string | Buffer = smallFile,
): Promise<void> {
  const bytes = Buffer.from(content)
  async function* chunks() {
    if (bytes.length > 0) yield bytes
  }
  const body = { byteSize: bytes.length, chunks: chunks() }
  await maintenance.relay.put(`${path}${name}`, body, { contentType: 'text/csv', user: {} })
}

/** Returns the contents of an app's imports in import order. */
export async function importedContents({ db, maintenance }: TestGateway, { appId }: Owner): Promise<string[]> {
  const rows = await db
    .selectFrom('imports')
    .select('object_key')
    .where('app_id', '=', appId)
    .orderBy('sequence_number')
    .execute()
  const contents = rows.map(async (row) => await (await maintenance.storage.read(row.object_key)).toArray())
  return (await Promise.all(contents)).map((chunks) => Buffer.concat(chunks).toString())
}

/** Returns the file names of an app's imports in import order. */
export async function importedNames({ db }: TestGateway, { appId }: Owner): Promise<(string | null)[]> {
  const rows = await db
    .selectFrom('imports')
    .select('file_name')
    .where('app_id', '=', appId)
    .orderBy('sequence_number')
    .execute()
  return rows.map((row) => row.file_name)
}

/** Returns a relay whose copies of some keys fail. */
export function failingCopies(relay: Relay, fails: (key: string) => boolean): Relay {
  return {
    ...relay,
    copy: (key, ...rest) =>
      fails(key) ? Promise.reject(new Error('storage did not copy the object')) : relay.copy(key, ...rest),
  }
}

/** Returns a relay whose copies are all swept as abandoned uploads before they become imports. */
export function sweptCopies(context: MaintenanceContext): Relay {
  const { db, relay } = context
  return {
    ...relay,
    async copy(key, etag, target) {
      await relay.copy(key, etag, target)
      for (const row of await db.selectFrom('bucket_uploads').selectAll().execute()) {
        const upload = {
          appId: row.app_id,
          importId: row.import_id,
          fileName: row.file_name,
          objectKey: target,
          storageUploadId: null,
          checksum: null,
          startedAt: row.started_at,
        }
        if (target.includes(row.import_id)) await forgetUpload(context, upload)
      }
    },
  }
}

/**
 * Returns a relay that lists in two pages: keys below `end`, then the other keys. Listing `number` calls `between`
 * after the first page.
 */
export function changingList(relay: Relay, end: string, number: number, between: () => Promise<void>): Relay {
  let listings = 0
  return {
    ...relay,
    async *list(prefix) {
      yield (await listed(relay, prefix)).filter(({ key }) => key < end)
      if (++listings === number) await between()
      yield (await listed(relay, prefix)).filter(({ key }) => key >= end)
    },
  }
}

async function listed(relay: Relay, prefix: string) {
  return (await Array.fromAsync(relay.list(prefix))).flat()
}
