import { listFiles, pathOf } from '@sluice/bucket-uploads'
import { compareKeys, type ListedObject, type ListPage, type ListRequest, listPage, S3Error } from '@sluice/s3-endpoint'
import type { GatewayContext } from './context.ts'
import { listed } from './objects.ts'
import { fileOf } from './refusals.ts'

/**
 * Lists an app's path: unannounced files, and the imported files that are still kept.
 *
 * Throws NotImplemented for a delimiter other than a slash. File names contain no slash, so a slash groups no files.
 * They may contain any other delimiter, and grouping by it would need all names at once instead of one page.
 */
export async function listPath({ db, storage }: GatewayContext, request: ListRequest): Promise<ListPage> {
  if (request.delimiter !== '' && request.delimiter !== '/') {
    throw new S3Error('NotImplemented', 'The delimiter must be a slash.')
  }
  const { appId, fileName: namePrefix } = fileOf({ key: request.prefix })
  const path = pathOf(appId)
  const objects = new Map<string, ListedObject>()
  const after = request.after.startsWith(path) ? request.after.slice(path.length) : ''
  if (after !== '' || compareKeys(request.after, path) <= 0) {
    // The additional file shows that there is a next page.
    for (const file of await listFiles(db, appId, { namePrefix, after, limit: request.limit + 1 })) {
      const key = `${path}${file.fileName}`
      objects.set(key, listed({ key, ...file }))
    }
  }
  for await (const page of storage.list(request.prefix)) {
    for (const object of page) objects.set(object.key, listed(object))
  }
  const { entries, next } = listPage([...objects.keys()].sort(compareKeys), request)
  return {
    objects: entries.flatMap(({ kind, name }) => (kind === 'object' ? (objects.get(name) ?? []) : [])),
    commonPrefixes: entries.flatMap(({ kind, name }) => (kind === 'prefix' ? name : [])),
    next,
  }
}
