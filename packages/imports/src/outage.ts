import { isOutOfRoom } from '@sluice/database'
import { StorageFull } from '@sluice/storage'
import type { ImportContext } from './context.ts'

/** Storage or Postgres has no room, or storage is away: then every other import would fare the same. */
export async function isOutage(error: unknown, { storage }: Pick<ImportContext, 'storage'>): Promise<boolean> {
  if (error instanceof StorageFull || isOutOfRoom(error)) return true
  return await storage.check().then(
    () => false,
    () => true,
  )
}
