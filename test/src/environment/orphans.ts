import { ListMultipartUploadsCommand, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3'
import { type Database, sql } from '@sluice/database'
import type { StorageSettings } from '@sluice/storage'

/**
 * Lists the objects below `apps/` in the bucket. Returns the keys that nothing will ever remove: no import, upload or
 * export refers to the object, and no sweep of its key is due. Parts of unfinished uploads count as objects.
 */
export async function findOrphans(db: Database, settings: StorageSettings): Promise<string[]> {
  const orphans: string[] = []
  // The keys are listed first: the row of an object is always inserted before the object is stored.
  for (const key of await keysIn(settings)) {
    const [, appId, kind, id] = /^apps\/(\d+)\/(imports|exports)\/([0-9a-f-]{36})\/./.exec(key) ?? []
    const isKnown = kind === 'exports' ? isKnownExport : isKnownImport
    if (appId === undefined || id === undefined || !(await isKnown(db, Number(appId), id))) orphans.push(key)
  }
  return orphans
}

async function isKnownImport(db: Database, appId: number, importId: string): Promise<boolean> {
  const { rows } = await sql`
    select from imports where app_id = ${appId} and import_id = ${importId} and files_removed_at is null
    union all
    select from bucket_uploads where app_id = ${appId} and import_id = ${importId}
    union all
    select from file_sweeps where app_id = ${appId} and import_id = ${importId}
  `.execute(db)
  return rows.length > 0
}

async function isKnownExport(db: Database, appId: number, exportId: string): Promise<boolean> {
  const { rows } = await sql`
    select from exports
    where app_id = ${appId} and export_id = ${exportId} and (files_removed_at is null or sweep_at is not null)
  `.execute(db)
  return rows.length > 0
}

async function keysIn(settings: StorageSettings): Promise<string[]> {
  const client = new S3Client({
    endpoint: settings.S3_ENDPOINT,
    region: settings.S3_REGION,
    credentials: {
      accessKeyId: settings.S3_ACCESS_KEY_ID ?? '',
      secretAccessKey: settings.S3_SECRET_ACCESS_KEY ?? '',
    },
    forcePathStyle: true,
  })
  const target = { Bucket: settings.S3_BUCKET, Prefix: 'apps/' }
  try {
    const keys: string[] = []
    for await (const page of paginateListObjectsV2({ client }, target)) {
      for (const { Key = '' } of page.Contents ?? []) keys.push(Key)
    }
    const { Uploads: uploads = [], IsTruncated: isTruncated } = await client.send(
      new ListMultipartUploadsCommand(target),
    )
    if (isTruncated) throw new Error('more unfinished uploads than one listing holds')
    return [...keys, ...uploads.map(({ Key = '' }) => Key)]
  } finally {
    client.destroy()
  }
}
