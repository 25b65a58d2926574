import { type RawBuilder, sql } from 'kysely'

/**
 * Builds the condition that the imports of an app are paused, or those of all apps. Accepts the app's ID as an
 * expression.
 */
export function isPaused(appId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`exists (select from paused_apps p where p.app_id = ${appId})`
}
