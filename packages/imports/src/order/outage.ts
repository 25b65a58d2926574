import { hasOutsideCause, isOutOfRoom } from '@sluice/database'
import { StorageFull } from '@sluice/storage'
import type { ImportContext } from '../context.ts'

/**
 * Returns whether an error is an outage, so that the try does not count: storage or Postgres has no room, storage
 * cannot be reached, or Postgres ended the statement for a cause outside the import.
 */
export async function isOutage(error: unknown, { storage }: Pick<ImportContext, 'storage'>): Promise<boolean> {
  if (error instanceof StorageFull || isOutOfRoom(error) || hasOutsideCause(error)) return true
  return await storage.check().then(
    () => false,
    () => true,
  )
}
