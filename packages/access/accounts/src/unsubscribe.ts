import { isUuid } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'

/** The member to whom an unsubscribe link belongs. */
export interface Subscriber {
  email: string
  appName: string
  getsMails: boolean
}

/** Returns the member of an app whose unsubscribe link has this key; undefined if there is none. */
export async function findSubscriber(db: Database, appId: number, key: string): Promise<Subscriber | undefined> {
  if (!isUuid(key)) return undefined
  const row = await db
    .selectFrom('members as m')
    .innerJoin('apps as a', 'a.app_id', 'm.app_id')
    .select(['m.email', 'm.gets_mails', 'a.name'])
    .where('m.app_id', '=', appId)
    .where(sql<boolean>`m.unsubscribe_key = ${key}::uuid`)
    .executeTakeFirst()
  return row && { email: row.email, appName: row.name, getsMails: row.gets_mails }
}

/** Ends an app's mails to the member whose unsubscribe link has this key. Returns false if the member gets none. */
export async function unsubscribe(db: Database, appId: number, key: string): Promise<boolean> {
  if (!isUuid(key)) return false
  const { numUpdatedRows } = await db
    .updateTable('members')
    .set({ gets_mails: false })
    .where('app_id', '=', appId)
    .where(sql<boolean>`unsubscribe_key = ${key}::uuid`)
    .where('gets_mails', '=', true)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
