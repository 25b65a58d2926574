import { hasOutsideCause, isOutOfRoom } from '@sluice/database'
import { StorageFull } from '@sluice/storage'
import type { ImportContext } from '../context.ts'

/**
 * Whether an error is not the file's fault, so that the try does not count: storage or Postgres has no room, storage is away,
 * or Postgres ended the work for an outside cause.
 */
export async function isOutage(error: unknown, { storage }: Pick<ImportContext, 'storage'>): Promise<boolean> {
  if (error instanceof StorageFull || isOutOfRoom(error) || hasOutsideCause(error)) return true
  return await storage.check().then(
    () => false,
    () => true,
  )
}
