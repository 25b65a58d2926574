import { ListObjectsV2Command } from '@aws-sdk/client-s3'
import { forgetUpload, type MaintenanceContext } from '@sluice/bucket-uploads'
import type { Storage } from '@sluice/storage'
import type { Owner, TestGateway } from './test-gateway.ts'

/** A file that tests upload if its content does not matter. */
export const smallFile = 'user_id,name\nalice,Alice\n'

/** Removes all files from the bucket's paths. */
export async function clearPaths({ maintenance: { storage } }: TestGateway): Promise<void> {
  for await (const page of storage.list('uploads/')) for (const { key } of page) await storage.remove(key)
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
    .select('requested_by')
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
  await maintenance.storage.write(`${path}${name}`, Buffer.from(content), 'text/csv')
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

/** Returns a storage whose copies of some keys fail. */
export function failingCopies(storage: Storage, fails: (key: string) => boolean): Storage {
  return {
    ...storage,
    copy: (key, ...rest) =>
      fails(key) ? Promise.reject(new Error('storage did not copy the object')) : storage.copy(key, ...rest),
  }
}

/** Returns a storage whose copies are all swept as abandoned uploads before they become imports. */
export function sweptCopies(context: MaintenanceContext): Storage {
  const { db, storage } = context
  return {
    ...storage,
    async copy(key, etag, target) {
      await storage.copy(key, etag, target)
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
 * Returns a storage that lists in two pages: keys below `end`, then the other keys. Listing `number` calls `between`
 * after the first page.
 */
export function changingList(storage: Storage, end: string, number: number, between: () => Promise<void>): Storage {
  let listings = 0
  return {
    ...storage,
    async *list(prefix) {
      yield (await listed(storage, prefix)).filter(({ key }) => key < end)
      if (++listings === number) await between()
      yield (await listed(storage, prefix)).filter(({ key }) => key >= end)
    },
  }
}

async function listed(storage: Storage, prefix: string) {
  return (await Array.fromAsync(storage.list(prefix))).flat()
}
