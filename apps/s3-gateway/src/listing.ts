import { listFiles, pathOf } from '@sluice/bucket-uploads'
import { compareKeys, type ListedObject, type ListPage, type ListRequest, listPage, S3Error } from '@sluice/s3-endpoint'
import type { RelayContext } from './context.ts'
import { listed } from './objects.ts'
import { fileOf } from './refusals.ts'

/**
 * Lists an app's path: the files that have become imports, as long as they are kept, and those that maintenance has yet to find.
 *
 * Throws NotImplemented for a delimiter that file names may contain: only pages of all names could be rolled up by it.
 */
export async function listPath({ db, relay }: RelayContext, request: ListRequest): Promise<ListPage> {
  if (request.delimiter !== '' && request.delimiter !== '/') {
    throw new S3Error('NotImplemented', 'The delimiter must be a slash.')
  }
  const { appId, fileName: namesBeginWith } = fileOf({ key: request.prefix })
  const path = pathOf(appId)
  const objects = new Map<string, ListedObject>()
  const after = request.after.startsWith(path) ? request.after.slice(path.length) : ''
  if (after !== '' || compareKeys(request.after, path) <= 0) {
    // One more than asked for: whether there is a next page shows in it.
    for (const file of await listFiles(db, appId, { namesBeginWith, after, limit: request.limit + 1 })) {
      const key = `${path}${file.fileName}`
      objects.set(key, listed({ key, ...file }))
    }
  }
  for await (const page of relay.list(request.prefix)) {
    for (const object of page) objects.set(object.key, listed(object))
  }
  const { entries, next } = listPage([...objects.keys()].sort(compareKeys), request)
  return {
    objects: entries.flatMap(({ kind, name }) => (kind === 'object' ? (objects.get(name) ?? []) : [])),
    commonPrefixes: entries.flatMap(({ kind, name }) => (kind === 'prefix' ? name : [])),
    next,
  }
}
